/**
 * A voice-agent platform on this machine, so that the example runs without an account. A real host does not need it: it uses the real
 * platform, and takes its settings from its own secret store.
 */
import { Effect, ManagedRuntime, Redacted } from "effect"
import * as Platform from "../../src/platform/Platform.ts"
import { makeStarterAccount } from "../../src/platform/starter.ts"

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
  readonly close: () => Promise<void>
}

/** Starts a platform with this many slots, which sends session-ended to this URL with this token. */
export const startLocalPlatform = async (
  slots: number,
  webhook: { readonly url: string; readonly token: string },
): Promise<LocalPlatform> => {
  const runtime = ManagedRuntime.make(
    // The example's gate listens on this machine, where webhooks are not allowed by default.
    Platform.layer({ privateWebhooks: true }),
  )
  const { baseUrl } = await runtime.runPromise(Effect.service(Platform.Platform))
  const account = await runtime.runPromise(
    makeStarterAccount({
      name: "Example",
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
