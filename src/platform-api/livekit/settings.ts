import { Schema } from "effect"
import { optional, requiredWith } from "../../settings/setting.ts"
import { serverUrl } from "../../settings/values/network.ts"
import { providerKey } from "../../settings/values/secret.ts"
import { identifier } from "../../settings/values/values.ts"
import { vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  Url: requiredWith("livekit", serverUrl, {
    description: "address of the LiveKit server, such as `wss://project.livekit.cloud`",
    documentation: "Pages connect to it, and the gate asks its API at the same host",
  }),
  ApiKey: requiredWith("livekit", providerKey, {
    description: "LiveKit's API key, which tokens and webhooks name as their issuer",
  }),
  ApiSecret: requiredWith("livekit", providerKey, {
    description: "LiveKit's API secret, with which the gate signs tokens and checks webhooks",
  }),
  AgentName: optional(identifier, "agents that LiveKit dispatches to every room", {
    own: true,
    description: "name of the agent that is dispatched to the room of a call",
  }),
  AgentDeployment: optional(identifier, "the agent's production deployment", {
    own: true,
    description: "deployment of `AgentName` at LiveKit Cloud to which a call goes",
  }),
})
export type LiveKitSettings = typeof Settings.Type

export const livekit = vendor("LiveKit", Settings, {
  identify: ({ AgentName, ApiSecret, Url }) => ({
    BaseUrl: `${Url.replace(/^ws/, "http")}/`,
    ApiSecretToken: ApiSecret,
    agent: [new URL(Url).host, ...(AgentName === undefined ? [] : [AgentName])].join(":"),
  }),
  tellsLimit: false,
  endsCalls: true,
  blames: { key: "ApiKey", agent: "AgentName", address: "Url" },
})
