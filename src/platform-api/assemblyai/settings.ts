import { Schema } from "effect"
import { agentId, api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("assemblyai", "AssemblyAI's Voice Agent", "https://agents.assemblyai.com/"),
  AgentId: agentId("assemblyai", "AssemblyAI"),
})
export type AssemblyAISettings = typeof Settings.Type

export const assemblyai = vendor("AssemblyAI", Settings, {
  identify: byAgent,
  tellsLimit: false,
  endsCalls: false,
  blames: { key: "ApiKey", agent: "BaseUrl" },
})
