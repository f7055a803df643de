import { Schema } from "effect"
import { requiredWith } from "../../settings/setting.ts"
import { providerKey } from "../../settings/values/secret.ts"
import { agentId, api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("cartesia", "Cartesia", "https://api.cartesia.ai/"),
  AgentId: agentId("cartesia", "Cartesia"),
  WebhookSecret: requiredWith("cartesia", providerKey, {
    description: "secret that Cartesia sends with its webhooks as `X-Webhook-Secret`",
  }),
})
export type CartesiaSettings = typeof Settings.Type

export const cartesia = vendor("Cartesia", Settings, {
  identify: byAgent,
  tellsLimit: false,
  endsCalls: false,
  blames: { key: "ApiKey", agent: "AgentId" },
})
