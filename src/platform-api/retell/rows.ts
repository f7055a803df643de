import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`retell-client-js-sdk` 3 [?]",
  credential: "`token` and `details`",
  opens: "one call",
  validFor: "as Retell says in `expiresAt`",
  end: "`call_ended`",
  signature: "`x-retell-signature`",
  lostWebhook: "noticed within five minutes",
  endedByGate: "`stop-call`",
  longestCall: "set in each call, at most two hours",
  atCapacity: "402 or 429 that mentions concurrency [?]; not while burst concurrency is on",
  headOfQueue: "yes",
  slots: "as Retell reports, without burst, less those that are reserved for callers by telephone",
  unconfirmed: "found in the list and ended [?]",
  control: "*endable* and bounded, at Retell to at least 60 s",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources:
    "docs.retellai.com/deprecation-notice/2026/09-30_create_web_call_v2, /deploy/web-call, /features/secure-webhook; `retell-sdk` 5.66.1",
}
