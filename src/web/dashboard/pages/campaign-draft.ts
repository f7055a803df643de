/** A web campaign being edited: its input, the validation of it, and the request. */
import { DEFAULT_MAX_CALL_MINUTES, MAX_CALL_MINUTES } from "../../../platform/call-length.ts"
import type { Campaign, CampaignInput } from "../../../platform/http/dashboard/shapes.ts"

export interface HeaderDraft {
  /** identifies the row on the page */
  readonly id: number
  readonly name: string
  /** undefined keeps the stored value */
  readonly value: string | undefined
}

export interface Draft {
  readonly name: string
  /** the maximum call length in minutes, as typed */
  readonly minutes: string
  readonly hooked: boolean
  readonly url: string
  readonly headers: ReadonlyArray<HeaderDraft>
  readonly signing: "none" | "keep" | "set"
  readonly secret: string
}

export interface Errors {
  readonly name?: string
  readonly minutes?: string
  readonly url?: string
  readonly headers?: string
  readonly secret?: string
}

/** A Standard Webhooks secret: 32 random bytes. */
export const newSecret = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return `whsec_${btoa(String.fromCharCode(...bytes))}`
}

export const draftOf = (campaign: Campaign | undefined): Draft => {
  const webhook = campaign?.webhook ?? null
  return {
    name: campaign?.name ?? "",
    minutes: String(campaign?.maxCallMinutes ?? DEFAULT_MAX_CALL_MINUTES),
    hooked: webhook !== null,
    url: webhook?.url ?? "",
    headers: (webhook?.headerNames ?? []).map((name, id) => ({ id, name, value: undefined })),
    signing: webhook?.signed === true ? "keep" : "none",
    secret: "",
  }
}

/** RFC 9110, 5.6.2: token */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/

export const problemsOf = ({ name, minutes, hooked, url, headers, signing, secret }: Draft): Errors => {
  const badHeader = headers.find((header) => !HEADER_NAME.test(header.name.trim()))
  return {
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(isMinutes(minutes) ? {} : { minutes: `Enter a whole number of minutes from 1 to ${MAX_CALL_MINUTES}.` }),
    ...(hooked && !isHttp(url) ? { url: "Enter an address that begins with https:// or http://." } : {}),
    ...(hooked && badHeader !== undefined
      ? { headers: "A header needs a name of letters, digits and dashes, such as X-Api-Token." }
      : {}),
    ...(hooked && signing === "set" && !SECRET.test(secret.trim())
      ? { secret: "A signing secret is whsec_ and at least 24 bytes in base64." }
      : {}),
  }
}

const isMinutes = (text: string): boolean => {
  const typed = text.trim()
  return /^\d{1,4}$/.test(typed) && Number(typed) >= 1 && Number(typed) <= MAX_CALL_MINUTES
}

const isHttp = (text: string): boolean => {
  const url = URL.parse(text.trim())
  return url?.protocol === "https:" || url?.protocol === "http:"
}

export const payloadOf = (draft: Draft): CampaignInput => ({
  name: draft.name.trim(),
  maxCallMinutes: Number(draft.minutes.trim()),
  webhook: draft.hooked
    ? {
        url: draft.url.trim(),
        headers: draft.headers.map(({ name, value }) => ({ name: name.trim(), value: value ?? null })),
        signing: draft.signing === "set" ? { type: "set", secret: draft.secret.trim() } : { type: draft.signing },
      }
    : null,
})
