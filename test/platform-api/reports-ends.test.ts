/** Which campaigns' platforms are set up to report ends of calls: only there can webhooks be missing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { layer } from "../../src/platform-api/layer.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { DEFAULTS } from "../harness/settings.ts"
import { campaign, http } from "../platform/support.ts"

type Security = (typeof Settings.Service)["Security"]

const reports = (security: Partial<Security>): Effect.Effect<boolean | undefined> => {
  const Security = { ...DEFAULTS.Security, WebhookApiToken: [], WebhookSigningSecret: [], ...security }
  const settings = Layer.succeed(Settings, { ...DEFAULTS, Security, Campaigns: [campaign({})] })
  return PlatformApi.use((api) => Effect.sync(() => api.reportsEnds?.("default"))).pipe(
    Effect.provide(layer.pipe(Layer.provide([settings, http]))),
  )
}

describe("the default platform", () => {
  it.effect("is set up to report ends if the gate has a token or a secret for webhooks", () =>
    Effect.gen(function* () {
      const secret = [Redacted.make("a-secret-of-webhooks")]
      assert.isTrue(yield* reports({ WebhookApiToken: secret }))
      assert.isTrue(yield* reports({ WebhookSigningSecret: secret }))
    }),
  )

  it.effect(
    "is not set up to report ends without a token or a secret, even if this machine's programs may send webhooks",
    () =>
      Effect.gen(function* () {
        assert.isFalse(yield* reports({}))
        assert.isFalse(yield* reports({ LocalWebhooks: true }))
      }),
  )
})
