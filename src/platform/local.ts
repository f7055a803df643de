/** A platform on this machine with one account, for a host's tests and examples: no Effect, no settings, nothing kept. */
import { Effect, ManagedRuntime, Redacted } from "effect"
import * as Platform from "./Platform.ts"
import { makeStarterAccount } from "./starter.ts"

export interface LocalPlatformOptions {
  /** how many calls may run at the same time; 2 by default */
  readonly slots?: number
  /** the gate's webhook for ended sessions, and its `Security.WebhookApiToken` */
  readonly webhook: { readonly url: string; readonly token: string }
}

export interface LocalPlatform {
  /** for `VoiceAiPlatform` in the gate's settings */
  readonly settings: {
    readonly ApiSecretToken: string
    readonly BaseUrl: string
    readonly BusinessId: string
    readonly WebCampaignId: string
    readonly DefaultRegionId: string
    readonly MaxConcurrency: number
  }
  /** Ends all sessions and stops the platform. */
  readonly close: () => Promise<void>
}

/** Starts the platform on a free port of 127.0.0.1. Its agent says back what it hears. */
export const startLocalPlatform = async ({ slots = 2, webhook }: LocalPlatformOptions): Promise<LocalPlatform> => {
  // the gate is on this machine, where webhooks are not allowed by default
  const runtime = ManagedRuntime.make(Platform.layer({ privateWebhooks: true }))
  const { baseUrl } = await runtime.runPromise(Effect.service(Platform.Platform))
  const account = await runtime.runPromise(
    makeStarterAccount({
      name: "Local platform",
      regionId: "local",
      callConcurrency: slots,
      sessionEnded: { url: webhook.url, headers: { "X-Api-Token": Redacted.make(webhook.token) } },
    }),
  )
  return {
    settings: {
      ApiSecretToken: Redacted.value(account.secret),
      BaseUrl: baseUrl,
      BusinessId: account.businessId,
      WebCampaignId: account.webCampaignId,
      DefaultRegionId: account.regionId,
      MaxConcurrency: slots,
    },
    close: () => runtime.dispose(),
  }
}
