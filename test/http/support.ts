/** Paths, settings and headers that the tests of the routes share. */

export const REQUEST = "/api/session/request"
export const WEBHOOK = "/api/webhook/session-ended"
export const VENDOR_WEBHOOK = "/api/webhook/livekit"

/** A campaign of LiveKit beside the default one. */
export const rooms = {
  VoiceAiPlatform: {
    Campaigns: {
      rooms: {
        Platform: "livekit",
        MaxConcurrency: 1,
        LiveKit: { Url: "wss://livekit.example", ApiKey: "key-of-livekit", ApiSecret: "secret-of-livekit" },
      },
    },
  },
}

export const shop = { Security: { AllowedOrigins: ["https://shop.example"], WebhookApiToken: "the-webhook-token" } }
export const token = { "x-api-token": "the-webhook-token" }
