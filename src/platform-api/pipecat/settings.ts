import { Schema } from "effect"
import { requiredWith, withDefault } from "../../settings/setting.ts"
import { baseUrl } from "../../settings/values/network.ts"
import { providerKey } from "../../settings/values/secret.ts"
import { identifier } from "../../settings/values/values.ts"
import { byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  PublicKey: requiredWith("pipecat", providerKey, {
    description: "public API key of Pipecat Cloud, which starts sessions",
  }),
  PrivateKey: requiredWith("pipecat", providerKey, {
    description: "private API key of Pipecat Cloud, which reads and ends sessions",
  }),
  BaseUrl: withDefault(baseUrl, "https://api.pipecat.daily.co/", {
    description: "address of the API of Pipecat Cloud",
  }),
  AgentId: requiredWith("pipecat", identifier, { own: true, description: "name of the agent at Pipecat Cloud" }),
})
export type PipecatSettings = typeof Settings.Type

export const pipecat = vendor("Pipecat", Settings, {
  identify: ({ PrivateKey, ...settings }) => byAgent({ ...settings, ApiKey: PrivateKey }),
  tellsLimit: true,
  endsCalls: true,
  blames: { key: "PrivateKey", agent: "AgentId" },
})
