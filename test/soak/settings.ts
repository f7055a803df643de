/** The gates' settings as environment variables. */
import { CONSOLE_TOKEN } from "./operator.ts"
import * as plan from "./plan.ts"
import { WEBHOOK_TOKEN } from "./sessions.ts"

export const gateSettings = (store: string, platform: string): Readonly<Record<string, string>> => ({
  StoreConnectionString: store,
  VoiceAiPlatform__ApiSecretToken: "vgp_soak_platform_key",
  VoiceAiPlatform__BaseUrl: `${platform}/api/v1`,
  VoiceAiPlatform__BusinessId: "business-1",
  VoiceAiPlatform__WebCampaignId: "campaign-1",
  VoiceAiPlatform__DefaultRegionId: "eu",
  VoiceAiPlatform__MaxConcurrency: String(plan.SLOTS),
  IpIntel__Provider: "ipapi.is",
  IpIntel__BaseUrl: platform,
  IpIntel__LookupsPerMinute: "100000",
  Security__WebhookApiToken: WEBHOOK_TOKEN,
  Security__ConsoleToken: CONSOLE_TOKEN,
  Security__TrustedProxies__0: "loopback",
  Security__RateLimitHourly: String(plan.HOURLY),
  Security__RateLimitDaily: String(plan.DAILY),
  Security__RateLimitConcurrency: String(plan.CONCURRENT),
  Queue__NetworkShare: String(plan.NETWORK_SHARE),
  Queue__MaxLength: String(plan.QUEUE_MAX),
  Queue__DisconnectGraceSeconds: String(plan.GRACE_SECONDS),
  Queue__StartWindowSeconds: String(plan.WINDOW_SECONDS),
  Queue__MaxCallMinutes: String(plan.MAX_CALL_MINUTES),
  Server__Host: "127.0.0.1",
  Server__Port: "0",
})
