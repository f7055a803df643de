import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`@elevenlabs/client`",
  credential: "`url`",
  opens: "one conversation, once",
  validFor: "15 minutes",
  end: "`post_call_transcription`, which comes after the analysis, or `call_initiation_failure` [?]",
  signature: "`elevenlabs-signature`",
  lostWebhook: "noticed within five minutes; a conversation that nobody opened, after 20",
  endedByGate: "no",
  longestCall: "the agent's own limit",
  atCapacity:
    "the signed address is given nevertheless; then the page's WebSocket is refused or held in the agent's own queue, which the gate does not learn [?]; a 429 that mentions concurrency is understood [?]",
  headOfQueue: "yes, of such a 429",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "cannot happen: an address that nobody has opens nothing",
  control: "*unbounded*: `max_duration_seconds` of the agent, which `check` reads",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources: "`@elevenlabs/elevenlabs-js` 2.73.0, `@elevenlabs/client` 1.25.0",
}
