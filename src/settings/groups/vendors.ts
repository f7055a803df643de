/**
 * The settings of a campaign whose `Platform` is a vendor, each below the vendor's own key. They are required only if the campaign's
 * `Platform` is this vendor; the settings of other vendors are not read.
 */
import { Schema } from "effect"
import { baseUrl, headerName, serverUrl } from "../network-values.ts"
import { base64Key, providerKey } from "../secret-values.ts"
import { optional, requiredWith, withDefault } from "../setting.ts"
import { identifier, jsonText, oneOf, roomNamePart, text } from "../values.ts"
import { GenericSettings } from "./generic.ts"

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
  AgentDeployment: optional(identifier, "the agent's production deployment", {
    own: true,
    description: "deployment of `AgentName` at LiveKit Cloud to which a call goes",
  }),
})

/** The key and the address of a vendor's API. */
const api = (platform: string, name: string, address: string) => ({
  ApiKey: requiredWith(platform, providerKey, { description: `the API key of ${name}` }),
  BaseUrl: withDefault(baseUrl, address, { description: `address of the API of ${name}` }),
})
const agentId = (platform: string, name: string) =>
  requiredWith(platform, identifier, { own: true, description: `the agent at ${name}` })

export const RetellSettings = Schema.Struct({
  ...api("retell", "Retell", "https://api.retellai.com/"),
  AgentId: agentId("retell", "Retell"),
})

export const VapiSettings = Schema.Struct({
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

export const ElevenLabsSettings = Schema.Struct({
  ...api("elevenlabs", "ElevenLabs", "https://api.elevenlabs.io/"),
  AgentId: agentId("elevenlabs", "ElevenLabs"),
  WebhookSecret: requiredWith("elevenlabs", providerKey, {
    description: "secret with which ElevenLabs signs its webhooks",
  }),
})

export const UltravoxSettings = Schema.Struct({
  ...api("ultravox", "Ultravox", "https://api.ultravox.ai/"),
  AgentId: agentId("ultravox", "Ultravox"),
  WebhookSecret: requiredWith("ultravox", providerKey, {
    description: "secret with which Ultravox signs its webhooks",
  }),
  GateUrl: optional(baseUrl, "the account's webhook is used", {
    description: "public address of the gate, where the webhook of each call goes",
  }),
})

export const OpenAISettings = Schema.Struct({
  ...api("openai", "OpenAI", "https://api.openai.com/"),
  AgentId: requiredWith("openai", identifier, {
    own: true,
    description: "a name of your own for the agent that these settings make",
  }),
  Api: withDefault(oneOf(["realtime", "live"]), "realtime", {
    own: true,
    description: "OpenAI's API of a call: `realtime`, or `live`, which needs a `Model` of its own",
  }),
  Model: withDefault(identifier, "gpt-realtime", { description: "the model of a session" }),
  Voice: optional(identifier, "the model's", { own: true, description: "the voice of the agent" }),
  Instructions: optional(text, "the model's, or those of the prompt", {
    own: true,
    description: "the agent's instructions",
  }),
  PromptId: optional(identifier, "none", {
    own: true,
    description: "a stored prompt, which gets the request's `dynamicVariables`",
  }),
  Session: optional(jsonText, "none", {
    own: true,
    description: "further fields of the session, such as `tools`, as a JSON object in a string",
  }),
  GateUrl: optional(baseUrl, "pages get a path", {
    description:
      "public address of the gate, for the credential's `url`; needed where a host has mounted the gate below a path",
  }),
})

export const PipecatSettings = Schema.Struct({
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

export const DailySettings = Schema.Struct({
  ...api("daily", "Daily", "https://api.daily.co/"),
  AgentId: requiredWith("daily", roomNamePart, {
    own: true,
    description: "name of your agent, with which the names of its rooms end",
  }),
  WebhookSecret: requiredWith("daily", base64Key, {
    description: "`hmac` of Daily's webhook, in base64, with which Daily signs",
  }),
})

export const DeepgramSettings = Schema.Struct({
  ...api("deepgram", "Deepgram", "https://api.deepgram.com/"),
  Url: withDefault(serverUrl, "wss://agent.deepgram.com", {
    description: "address of the Voice Agent, to which pages connect",
  }),
  AgentId: agentId("deepgram", "Deepgram"),
})

export const AssemblyAISettings = Schema.Struct({
  ...api("assemblyai", "AssemblyAI's Voice Agent", "https://agents.assemblyai.com/"),
  AgentId: agentId("assemblyai", "AssemblyAI"),
})

export const CartesiaSettings = Schema.Struct({
  ...api("cartesia", "Cartesia", "https://api.cartesia.ai/"),
  AgentId: agentId("cartesia", "Cartesia"),
  WebhookSecret: requiredWith("cartesia", providerKey, {
    description: "secret that Cartesia sends with its webhooks as `X-Webhook-Secret`",
  }),
})

/** The values of `Platform` that are vendors. */
export const VENDORS = [
  "livekit",
  "retell",
  "vapi",
  "elevenlabs",
  "ultravox",
  "openai",
  "pipecat",
  "daily",
  "deepgram",
  "assemblyai",
  "cartesia",
  "generic",
] as const
export type Vendor = (typeof VENDORS)[number]

/** Vendors that have ended their service: the value of `Platform`, and what was expected instead. */
export const ENDED_VENDORS: ReadonlyMap<string, string> = new Map([
  ["hume", "another platform: Hume ended its voice agents (EVI) on 2026-11-13, so remove its settings"],
])

/** The settings of each vendor, below its key. */
export const vendorFields = {
  LiveKit: LiveKitSettings,
  Retell: RetellSettings,
  Vapi: VapiSettings,
  ElevenLabs: ElevenLabsSettings,
  Ultravox: UltravoxSettings,
  OpenAI: OpenAISettings,
  Pipecat: PipecatSettings,
  Daily: DailySettings,
  Deepgram: DeepgramSettings,
  AssemblyAI: AssemblyAISettings,
  Cartesia: CartesiaSettings,
  Generic: GenericSettings,
}

/** The settings of a vendor's campaign: those of its vendor. */
export type VendorSettings = {
  readonly [K in keyof typeof vendorFields]?: (typeof vendorFields)[K]["Type"] | undefined
}
