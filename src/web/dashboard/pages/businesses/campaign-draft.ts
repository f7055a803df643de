/** A web campaign being edited: its input, the validation of it, and the request. */
import { DEFAULT_MAX_CALL_MINUTES, MAX_CALL_MINUTES } from "../../../../platform/defaults.ts"
import type { Campaign, CampaignInput, Webhook, WebhookInput } from "../../../../platform/http/dashboard/shapes.ts"

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

/** A token for the header that a gate's webhook asks for: 32 random bytes in base64url. */
export const newToken = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
}

/** The header that a gate's session-ended webhook expects. */
export const TOKEN_HEADER = "X-Api-Token"

/** Whether a gate would accept the webhook: it has the token's header, or a signature. */
export const isAuthenticated = ({ headerNames, signed }: Webhook): boolean => signed || headerNames.some(isTokenHeader)

const isTokenHeader = (name: string): boolean => name.trim().toLowerCase() === TOKEN_HEADER.toLowerCase()

/** The stored webhook with this token; everything else of it stays. */
export const withToken = ({ headerNames, signed, url }: Webhook, token: string): WebhookInput => ({
  url,
  headers: [
    ...headerNames.filter((name) => !isTokenHeader(name)).map((name) => ({ name, value: null })),
    { name: TOKEN_HEADER, value: token },
  ],
  signing: { type: signed ? "keep" : "none" },
})

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

export const addToken = (draft: Draft): Draft => {
  const others = draft.headers.filter(({ name }) => name.trim() !== "" && !isTokenHeader(name))
  const id = Math.max(-1, ...others.map((header) => header.id)) + 1
  return { ...draft, headers: [...others, { id, name: TOKEN_HEADER, value: newToken() }] }
}

/** Whether a gate would accept the webhook of the draft. */
export const draftIsAuthenticated = ({ headers, signing }: Draft): boolean =>
  signing !== "none" || headers.some(({ name, value }) => isTokenHeader(name) && value !== "")

/** The token that the draft would set; undefined when it keeps the stored one or has none. */
export const typedToken = ({ headers, hooked }: Draft): string | undefined =>
  hooked
    ? headers.find(({ name, value }) => isTokenHeader(name) && value !== undefined && value !== "")?.value
    : undefined

/** RFC 9110, 5.6.2: token */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/

export const problemsOf = ({ name, minutes, hooked, url, headers, signing, secret }: Draft): Errors => {
  const badHeader = headers.find((header) => !HEADER_NAME.test(header.name.trim()))
  return {
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(isMinutes(minutes) ? {} : { minutes: `Enter a whole number from 1 to ${MAX_CALL_MINUTES}.` }),
    ...(hooked && !isHttp(url) ? { url: "Enter a URL that starts with https:// or http://." } : {}),
    ...(hooked && badHeader !== undefined
      ? { headers: "Enter a header name with letters, digits, and dashes, such as X-Api-Token." }
      : {}),
    ...(hooked && signing === "set" && !SECRET.test(secret.trim())
      ? { secret: "Enter a secret that starts with whsec_, followed by at least 24 bytes in base64." }
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
