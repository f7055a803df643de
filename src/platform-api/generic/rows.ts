import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "the vendor's",
  credential: "as the settings say",
  opens: "as the vendor says",
  validFor: "the start window, where the vendor takes `{{lifetimeSeconds}}`",
  end: "a webhook, by settings; or the page's report",
  signature: "a token or HMAC SHA-256, by settings",
  lostWebhook: "noticed within five minutes, with `StatusPath`",
  endedByGate: "with `EndPath`",
  longestCall: "where the vendor takes `{{longestCallSeconds}}`, else ended by the gate with `EndPath`",
  atCapacity: "a text in the refusal, by settings",
  headOfQueue: "yes",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "holds its slot for five minutes",
  control: "*endable* with `EndPath`; else *bounded* with `{{longestCallSeconds}}`, or *unbounded*",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources: "the settings",
}
