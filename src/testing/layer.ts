/** A whole gate in memory, for tests. */
import { Effect, Layer } from "effect"
import { layerNoDeps } from "../embedded/as-configured.ts"
import type { GateSettings } from "../embedded/settings.ts"
import * as PushChannel from "../push-channel/layer.ts"
import { settingsFrom } from "../settings/given.ts"
import { Settings } from "../settings/Settings.ts"
import * as memory from "../store/memory/layer.ts"
import * as FakeIpIntel from "./FakeIpIntel.ts"
import * as FakePlatform from "./FakePlatform.ts"

/** Settings of a test: as in the settings file, all optional. */
export type TestSettings = { readonly [Section in keyof GateSettings]?: GateSettings[Section] }

const PLATFORM = {
  ApiSecretToken: "key-of-the-fake-platform",
  BaseUrl: "https://platform.example/api/v1/",
  BusinessId: "business",
  WebCampaignId: "campaign",
  DefaultRegionId: "eu",
  MaxConcurrency: 1,
}

/**
 * The gatekeeper, its operator and all their concerns over the memory store, a `FakePlatform` and a `FakeIpIntel`. Time is the
 * test's clock where there is one. Each build is a new gate with an empty queue. Without settings it has one campaign with one slot.
 *
 * Fails with `SettingsInvalid`, as the gate does, when a setting is wrong.
 */
export const layer = ({ Server, VoiceAiPlatform, ...settings }: TestSettings = {}) =>
  layerNoDeps.pipe(
    Layer.provideMerge(Layer.mergeAll(FakePlatform.layer, FakeIpIntel.layer, PushChannel.layerLocal)),
    Layer.provideMerge(memory.layer),
    Layer.provideMerge(
      // without the warnings: that addresses are not looked up and webhooks not checked is what a test wants
      Layer.effect(
        Settings,
        Effect.map(
          Effect.fromResult(
            settingsFrom({
              StoreConnectionString: "memory:",
              ...settings,
              // a gate that others cannot reach needs no webhook secret
              Server: { Host: "127.0.0.1", Port: 0, ...Server },
              VoiceAiPlatform: { ...PLATFORM, ...VoiceAiPlatform },
            }),
          ),
          ({ tree }) => tree,
        ),
      ),
    ),
  )
