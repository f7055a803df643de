import { Schema } from "effect"
import { optional, requiredWith } from "../../settings/setting.ts"
import { baseUrl } from "../../settings/values/network.ts"
import { providerKey } from "../../settings/values/secret.ts"
import { agentId, api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("ultravox", "Ultravox", "https://api.ultravox.ai/"),
  AgentId: agentId("ultravox", "Ultravox"),
  WebhookSecret: requiredWith("ultravox", providerKey, {
    description: "secret with which Ultravox signs its webhooks",
  }),
  GateUrl: optional(baseUrl, "the account's webhook is used", {
    description: "public address of the gate, where the webhook of each call goes",
  }),
})
export type UltravoxSettings = typeof Settings.Type

export const ultravox = vendor("Ultravox", Settings, {
  identify: byAgent,
  tellsLimit: true,
  endsCalls: true,
  blames: { key: "ApiKey", agent: "AgentId" },
})
