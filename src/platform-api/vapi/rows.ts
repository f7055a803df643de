import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`@vapi-ai/web`",
  credential: "`url` and `details`",
  opens: "one call [?]",
  validFor: "as long as Vapi waits: the start window, a minute at most [?]",
  end: "`status-update` with `ended`, or `end-of-call-report`",
  signature: "`Authorization: Bearer`, an HMAC, or `X-Vapi-Secret`",
  lostWebhook: "noticed within five minutes",
  endedByGate: "`monitor.controlUrl`",
  longestCall: "set in each call",
  atCapacity: "400 or 429 that mentions concurrency [?], or `concurrencyBlocked`",
  headOfQueue: "yes",
  slots: "as Vapi says in each answer to a start; until the first call, the gate starts calls until Vapi refuses one",
  unconfirmed: "found in the list and ended",
  control: "*endable* and bounded, at Vapi to at least 10 s",
  silence: "Vapi, by `speech-update`, and the widget",
  lookedAt: "2026-11-27",
  sources:
    "docs.vapi.ai/calls/customer-join-timeout, /server-url/server-authentication, /server-url/events; `@vapi-ai/server-sdk` 2.0.1, `@vapi-ai/web` 2.7.1",
}
