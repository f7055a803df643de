import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "none: a WebSocket",
  credential: "`single-use-token` and `details`",
  opens: "one session, once",
  validFor: "the start window",
  end: "the page's report, or the list of sessions",
  signature: "none",
  lostWebhook: "noticed within five minutes, once no session runs that began in the same three minutes [?]",
  endedByGate: "no",
  longestCall: "set in each token, at most three hours",
  atCapacity: "AssemblyAI refuses the page, and the gate does not learn it [?]",
  headOfQueue: "no refusal at the start",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "cannot happen: a token that nobody has starts nothing",
  control: "*bounded*: at least 60 s",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources:
    "assemblyai.com/docs/voice-agents/voice-agent-api/webhooks, /api-reference/voice-agent-api; public clients of `/v1/sessions`",
}
