import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`@daily-co/daily-js`",
  credential: "`url+token`",
  opens: "its own room, again until it expires",
  validFor: "the start window",
  end: "`meeting.ended`, up to 20 s after the last one has left; not before the token has expired",
  signature: "`x-webhook-signature`, over the bytes as they were sent [?]",
  lostWebhook: "noticed within five minutes",
  endedByGate: "ejects the caller and deletes the room",
  longestCall: "set in each room",
  atCapacity: "429 that mentions concurrency [?]",
  headOfQueue: "yes",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "cannot happen: a room for which nobody has a token starts nothing",
  control: "*endable* and bounded",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources: "docs.daily.co/reference/rest-api/webhooks; `@daily-co/daily-js` 0.90.0",
}
