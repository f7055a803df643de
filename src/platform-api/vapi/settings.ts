import { Schema } from "effect"
import { optional, requiredWith } from "../../settings/setting.ts"
import { headerName } from "../../settings/values/network.ts"
import { providerKey } from "../../settings/values/secret.ts"
import { identifier } from "../../settings/values/values.ts"
import { api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("vapi", "Vapi", "https://api.vapi.ai/"),
  AssistantId: requiredWith("vapi", identifier, { own: true, description: "the assistant at Vapi" }),
  WebhookSecret: requiredWith("vapi", providerKey, {
    description:
      "secret with which Vapi signs its webhooks, or that it sends as `Authorization: Bearer` or `X-Vapi-Secret`",
  }),
  WebhookSignatureHeader: optional(headerName, "`X-Signature`, `X-Vapi-Signature` and the names of Svix are known", {
    description: "the signature's header, where the HMAC credential at Vapi has a name of its own",
  }),
})
export type VapiSettings = typeof Settings.Type

export const vapi = vendor("Vapi", Settings, {
  identify: ({ AssistantId, ...api }) => byAgent({ ...api, AgentId: AssistantId }),
  tellsLimit: true,
  endsCalls: true,
  blames: { key: "ApiKey", agent: "AssistantId" },
})
