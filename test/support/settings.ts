/** Settings for tests of a concern: a complete tree with these parts in it, checked as an operator's would be. */
import { Effect, Layer } from "effect"
import { Settings } from "../../src/Settings.ts"
import { settingsFrom } from "../../src/settings/load.ts"

export interface Parts {
  readonly Security?: Readonly<Record<string, unknown>>
  readonly Queue?: Readonly<Record<string, unknown>>
}

export const settingsWith = ({ Queue = {}, Security = {} }: Parts = {}): Layer.Layer<Settings> =>
  Layer.effect(
    Settings,
    Effect.fromResult(
      settingsFrom({
        StoreConnectionString: "memory:",
        VoiceAiPlatform: {
          ApiSecretToken: "key",
          BaseUrl: "https://platform.example/",
          BusinessId: "business",
          WebCampaignId: "campaign",
          DefaultRegionId: "region",
          MaxConcurrency: 1,
        },
        Server: { Host: "127.0.0.1" },
        Queue,
        Security,
      }),
    ).pipe(
      Effect.map(({ tree }) => tree),
      Effect.orDie,
    ),
  )
