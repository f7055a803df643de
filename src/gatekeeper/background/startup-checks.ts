/**
 * Checks the platform and the IP provider as the command `check` does, when a gate starts or when their settings have changed, and logs the
 * results, so that a wrong campaign, region or key is reported before a caller is affected. The gate starts anyway: an unavailable platform
 * may recover.
 */
import { Effect, Layer } from "effect"
import { IpIntel } from "../../ip-intel/IpIntel.ts"
import type { Finding } from "../../platform-api/model.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { Gatekeeper } from "../Gatekeeper.ts"

const report = (campaign: Campaign, { detail, state, subject }: Finding): Effect.Effect<void> => {
  const what = `${subject}, campaign ${campaign.name}`
  switch (state) {
    case "ok":
      return Effect.logInfo(`${what}: ${detail}`)
    case "not_checked":
      return Effect.logInfo(`${what}: not checked: ${detail}`)
    case "failed":
      return Effect.logError(`${what}: ${detail}`)
  }
}

/** Delay after the start (ms): the first request loads the HTTP client, which must not delay readiness. */
const CHECK_DELAY_MILLIS = 1_000

/** Checks the platform once, in the background. */
export const layerPlatform: Layer.Layer<never, never, Gatekeeper | Settings> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { verify } = (yield* Gatekeeper).internals()
    const { Campaigns } = yield* Settings
    yield* Effect.forkScoped(
      Effect.forEach(
        Campaigns,
        (campaign) =>
          Effect.flatMap(verify(campaign.name), (findings) =>
            Effect.forEach(findings, (finding) => report(campaign, finding), { discard: true }),
          ),
        { discard: true },
      ).pipe(Effect.delay(CHECK_DELAY_MILLIS)),
    )
  }),
)

/** Checks the provider of facts about addresses once, in the background. */
export const layerAddresses: Layer.Layer<never, never, IpIntel> = Layer.effectDiscard(
  Effect.flatMap(IpIntel, ({ probe }) =>
    probe.pipe(
      Effect.catch(({ message }) => Effect.logError(`addresses: ${message}`)),
      Effect.delay(CHECK_DELAY_MILLIS),
      Effect.forkScoped,
    ),
  ),
)

/** Runs all checks once, in the background. */
export const layer = Layer.merge(layerPlatform, layerAddresses)
