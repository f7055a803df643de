/**
 * The settings of a campaign whose `Platform` is a vendor, each below the vendor's own key. What is required is so only where the
 * campaign's `Platform` is this vendor; the settings of other vendors are not read.
 */
import { Schema } from "effect"
import { serverUrl } from "../network-values.ts"
import { providerKey } from "../secret-values.ts"
import { optional, requiredWith } from "../setting.ts"
import { identifier } from "../values.ts"

export const LiveKitSettings = Schema.Struct({
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
})

/** The values of `Platform` that are vendors. */
export const VENDORS = ["livekit"] as const
export type Vendor = (typeof VENDORS)[number]

/** The settings of each vendor, below its key. */
export const vendorFields = { LiveKit: LiveKitSettings }

/** What a vendor's campaign has of these. */
export type VendorSettings = {
  readonly [K in keyof typeof vendorFields]?: (typeof vendorFields)[K]["Type"] | undefined
}
