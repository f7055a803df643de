import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`@deepgram/sdk`, or a WebSocket",
  credential: "`url+token` and `details`",
  opens: "any number of sessions until it expires",
  validFor: "the start window",
  end: "the page's report alone",
  signature: "none",
  lostWebhook: "the slot stays held until `Queue.MaxCallMinutes`",
  endedByGate: "no",
  longestCall: "two hours, at Deepgram; the slot is taken back after `Queue.MaxCallMinutes`",
  atCapacity: "Deepgram refuses the page with 429 at the WebSocket, and the gate does not learn it [?]",
  headOfQueue: "no refusal at the start",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "cannot happen: a token that nobody has starts nothing",
  control: "*unbounded*: Deepgram's two hours",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources: "developers.deepgram.com/changelog/2026/7/31; `@deepgram/sdk` 5.13.0",
}
