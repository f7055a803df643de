import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`@pipecat-ai/client-js` and `@pipecat-ai/daily-transport`",
  credential: "`url+token`",
  opens: "the room of one session, again until it expires",
  validFor: "the start window [?]",
  end: "none is sent: the page that leaves, or the audit",
  signature: "none",
  lostWebhook: "noticed within five minutes",
  endedByGate: "`DELETE` of the session",
  longestCall:
    "the caller is ejected by Daily [?], and the gate ends the session; the agent's own `max_session_duration`",
  atCapacity: "429, or the code `PCC-AGENT-AT-CAPACITY`",
  headOfQueue: "yes",
  slots: "as Pipecat Cloud reports: the agent's `maxReplicas`",
  unconfirmed: "holds its slot for five minutes, or until the count of sessions says that it has not happened",
  control: "*endable*, and its room at Daily is bounded",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources:
    "docs.pipecat.ai (active sessions, cold starts); `@pipecat-ai/client-js` 1.13.1, `@pipecat-ai/daily-transport` 1.6.9",
}
