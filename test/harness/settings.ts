/** Settings for tests of a service: a complete tree with these parts in it, validated as an operator's would be. */
import { Effect, Layer, Result } from "effect"
import { settingsFrom } from "../../src/settings/given.ts"
import { Settings, type SettingsTree } from "../../src/settings/Settings.ts"

/** An address for a gate that nobody reaches over HTTP, or only a test does. */
export const SERVER: SettingsTree["Server"] = {
  Host: "127.0.0.1",
  Port: 0,
  BasePath: "",
  AllowedHosts: undefined,
  MaxConnectionsPerAddress: 0,
  DrainSeconds: 0,
  TraceParent: "link",
  Docs: "public",
  Metrics: "public",
  PrivateHost: "127.0.0.1",
  PrivatePort: 0,
  PrivateHosts: undefined,
}

const MINIMAL = {
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
}

/** A complete tree with the defaults. A test spreads it and overrides what it is about. */
export const DEFAULTS: SettingsTree = Result.getOrThrow(settingsFrom(MINIMAL)).tree

export interface Parts {
  readonly Security?: Readonly<Record<string, unknown>>
  readonly Queue?: Readonly<Record<string, unknown>>
  readonly Privacy?: Readonly<Record<string, unknown>>
  readonly Identity?: Readonly<Record<string, unknown>>
}

export const settingsWith = ({
  Identity = {},
  Privacy = {},
  Queue = {},
  Security = {},
}: Parts = {}): Layer.Layer<Settings> =>
  Layer.effect(
    Settings,
    Effect.fromResult(settingsFrom({ ...MINIMAL, Identity, Privacy, Queue, Security })).pipe(
      Effect.map(({ tree }) => tree),
      Effect.orDie,
    ),
  )
