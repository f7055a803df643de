import { Schema } from "effect"
import { agentId, api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("retell", "Retell", "https://api.retellai.com/"),
  AgentId: agentId("retell", "Retell"),
})
export type RetellSettings = typeof Settings.Type

export const retell = vendor("Retell", Settings, {
  identify: byAgent,
  tellsLimit: true,
  endsCalls: true,
  blames: { key: "ApiKey", agent: "AgentId" },
})
