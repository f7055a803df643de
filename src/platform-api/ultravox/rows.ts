import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`ultravox-client`",
  credential: "`url`",
  opens: "one call",
  validFor: "the start window",
  end: "`call.ended`",
  signature: "`x-ultravox-webhook-signature`",
  lostWebhook: "noticed within five minutes",
  endedByGate: "`hang_up` message [?]",
  longestCall: "set in each call",
  atCapacity: "429 that does not mention the rate of requests [?]",
  headOfQueue: "yes",
  slots: "as Ultravox reports; without a hard cap, its refusal is the limit",
  unconfirmed: "found in the list and ended",
  control: "*endable* and bounded",
  silence: "the widget",
  lookedAt: "2026-11-27",
  sources: "docs.ultravox.ai/essentials/concurrency, /api-reference/webhooks/webhooks-list; `ultravox-client` 0.5.0",
}
