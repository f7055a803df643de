/** Paths, settings and headers that the tests of the routes share. */

export const REQUEST = "/api/session/request"
export const WEBHOOK = "/api/webhook/session-ended"
export const VENDOR_WEBHOOK = "/api/webhook/livekit"

/** Addresses at which vendors' SDKs ask for sessions, of the campaigns in `doors`. */
export const DOORS = [
  "/api/vendors/livekit/rooms/token",
  "/api/vendors/pipecat/bots/start",
  "/api/vendors/retell/calls/v3/create-web-call",
] as const
export const doors = {
  VoiceAiPlatform: {
    Campaigns: {
      rooms: {
        Platform: "livekit",
        MaxConcurrency: 1,
        LiveKit: { Url: "wss://livekit.example", ApiKey: "key-of-livekit", ApiSecret: "secret-of-livekit" },
      },
      bots: {
        Platform: "pipecat",
        MaxConcurrency: 1,
        Pipecat: { PublicKey: "public-of-pipecat", PrivateKey: "private-of-pipecat", AgentId: "bot" },
      },
      calls: { Platform: "retell", MaxConcurrency: 1, Retell: { ApiKey: "key-of-retell", AgentId: "agent" } },
    },
  },
}

export const shop = { Security: { AllowedOrigins: ["https://shop.example"], WebhookApiToken: "the-webhook-token" } }
export const token = { "x-api-token": "the-webhook-token" }
