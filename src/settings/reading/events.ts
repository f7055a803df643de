/** Reads the settings of a campaign's events, and checks that they belong together. */
import { type CampaignEvents, EventsSettings } from "../groups/events.ts"
import type { Reader } from "./reader.ts"

/** Undefined if the campaign reports no events. */
export const readEvents = (read: Reader, base: string, inheritFrom?: string): CampaignEvents | undefined => {
  const { draft, valid } = read.group({
    base: `${base}.Events.`,
    schema: EventsSettings,
    draft: EventsSettings,
    inheritFrom: inheritFrom && `${inheritFrom}.Events.`,
  })
  if (draft === undefined) return undefined
  const { Secrets, Token, Url } = draft
  // one that is wrong is reported already
  const isGiven = (name: string): boolean =>
    [base, inheritFrom].some((at) => at !== undefined && read.has(`${at}.Events.${name}`))
  if (Url !== undefined && Secrets.length === 0 && !isGiven("Secrets")) {
    read.reportMissing(`${base}.Events.Secrets`, `at least one key (whsec_ and base64), with Events.Url`)
  } else if (Url === undefined && read.has(`${base}.Events.Secrets`) && !isGiven("Url")) {
    read.reportMissing(`${base}.Events.Url`, "the URL to which events are sent, with Events.Secrets")
  }
  return Url === undefined && Token.length === 0 ? undefined : valid
}
