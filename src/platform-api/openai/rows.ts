import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "none, or `@openai/agents-realtime`",
  credential: "`sdp-relay`, made by the gate",
  opens: "one call, once",
  validFor: "the start window",
  end: "none is sent: the gate watches each call by its sideband connection and notices the end within seconds [?]",
  signature: "none",
  lostWebhook: "none is sent; a call of a gate that has died is watched by another within five minutes",
  endedByGate: "`hangup`; with the Live API `session.close` [?]",
  longestCall: "ended by the gate, and OpenAI's 60 minutes",
  atCapacity: "400 or 429 that mentions concurrency [?], at the offer",
  headOfQueue: "yes, with another credential",
  slots: "`MaxConcurrency` is required",
  unconfirmed:
    "holds its slot for five minutes; not where the answer is [OpenAI's own error](#openai) or names the call, which is hung up",
  control: "*endable*, and ended by the gate at its longest time",
  silence: "OpenAI, on the sideband connection, and the widget",
  lookedAt: "2026-11-27",
  sources:
    "developers.openai.com/api/reference (realtime server events; live/sideband-websocket), /api/docs/guides/realtime-server-controls; `openai` 7.57.0, `@openai/agents-realtime` 0.20.0",
}
