import { Schema } from "effect"
import { requiredWith } from "../../settings/setting.ts"
import { providerKey } from "../../settings/values/secret.ts"
import { agentId, api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("elevenlabs", "ElevenLabs", "https://api.elevenlabs.io/"),
  AgentId: agentId("elevenlabs", "ElevenLabs"),
  WebhookSecret: requiredWith("elevenlabs", providerKey, {
    description: "secret with which ElevenLabs signs its webhooks",
  }),
})
export type ElevenLabsSettings = typeof Settings.Type

export const elevenlabs = vendor("ElevenLabs", Settings, {
  identify: byAgent,
  tellsLimit: false,
  endsCalls: false,
  blames: { key: "ApiKey", agent: "AgentId" },
})
