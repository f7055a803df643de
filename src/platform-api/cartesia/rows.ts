import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "none: a WebSocket",
  credential: "`url+token` and `details`",
  opens: "any number of calls until it expires",
  validFor: "the start window",
  end: "`call_completed` or `call_failed`, where the page gives its `streamId` and Cartesia repeats it [?]; or the page's report, or the list of calls",
  signature: "none: the secret itself in `x-webhook-secret`",
  lostWebhook:
    "noticed within five minutes; where Cartesia does not repeat the `streamId`, once no call runs that began in the same three minutes [?]",
  endedByGate: "no",
  longestCall: "the agent's own limit [?]",
  atCapacity: "Cartesia refuses the page, and the gate does not learn it [?]",
  headOfQueue: "no refusal at the start",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "cannot happen: a token that nobody has starts nothing",
  control: "*unbounded*: the agent's own limit [?]",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources: "docs.cartesia.ai/agents/webhooks, /line/integrations/web-calls; `@cartesia/cartesia-js` 4.2.0",
}
