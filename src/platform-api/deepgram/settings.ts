import { Schema } from "effect"
import { withDefault } from "../../settings/setting.ts"
import { serverUrl } from "../../settings/values/network.ts"
import { agentId, api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("deepgram", "Deepgram", "https://api.deepgram.com/"),
  Url: withDefault(serverUrl, "wss://agent.deepgram.com", {
    description: "address of the Voice Agent, to which pages connect",
  }),
  AgentId: agentId("deepgram", "Deepgram"),
})
export type DeepgramSettings = typeof Settings.Type

export const deepgram = vendor("Deepgram", Settings, {
  identify: byAgent,
  tellsLimit: false,
  endsCalls: false,
  blames: { key: "ApiKey", agent: "BaseUrl" },
})
