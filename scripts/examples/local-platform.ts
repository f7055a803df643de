/**
 * A voice-agent platform on this machine, so that the example runs without an account. Not part of what a host copies: there
 * the platform is the real one, and its settings come from where the host keeps its secrets.
 */
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { mintSecret } from "../../src/platform/ApiKeys.ts"
import * as Platform from "../../src/platform/Platform.ts"

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

/** Starts a platform with so many slots, which sends session-ended to this URL with this token. */
export const startLocalPlatform = async (
  slots: number,
  webhook: { readonly url: string; readonly token: string },
): Promise<LocalPlatform> => {
  const secret = mintSecret()
  const runtime = ManagedRuntime.make(
    Platform.layer({
      seed: {
        regions: ["local"],
        users: [{ id: "user", name: "Example", callConcurrency: slots }],
        businesses: [
          {
            id: "business",
            userId: "user",
            name: "Example business",
            webCampaigns: [
              {
                id: "campaign",
                name: "Example campaign",
                sessionEnded: { url: webhook.url, headers: { "X-Api-Token": Redacted.make(webhook.token) } },
              },
            ],
          },
        ],
        keys: [
          {
            name: "gate",
            userId: "user",
            scope: { type: "Restricted", businessIds: ["business"] },
            userManagement: false,
            secret,
          },
        ],
      },
    }).pipe(Layer.provide(FetchHttpClient.layer)),
  )
  const { baseUrl } = await runtime.runPromise(Effect.service(Platform.Platform))
  return {
    settings: {
      ApiSecretToken: Redacted.value(secret),
      BaseUrl: baseUrl,
      BusinessId: "business",
      WebCampaignId: "campaign",
      DefaultRegionId: "local",
      MaxConcurrency: slots,
    },
    close: () => runtime.dispose(),
  }
}
