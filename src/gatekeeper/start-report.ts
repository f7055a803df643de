/**
 * What `check` finds of platform and IP provider, in the log of every gate that starts: a wrong campaign, region or key is said
 * before a caller meets it. The gate starts meanwhile, since a platform that is away may come back.
 */
import { Effect, Layer } from "effect"
import { IpIntel } from "../IpIntel.ts"
import { type Finding, PlatformApi } from "../PlatformApi.ts"
import { type Campaign, Settings } from "../Settings.ts"

const report = (campaign: Campaign, { says, state, subject }: Finding): Effect.Effect<void> => {
  const what = `${subject}, campaign ${campaign.name}`
  switch (state) {
    case "ok":
      return Effect.logInfo(`${what}: ${says}`)
    case "not_checked":
      return Effect.logInfo(`${what}: not checked: ${says}`)
    case "failed":
      return Effect.logError(`${what}: ${says}`)
  }
}

/** When it asks (ms after the start): the first requests to the platform load its HTTP client, for which readiness need not wait. */
export const REPORT_MILLIS = 1_000

/** Asks in the background, once. */
export const layer: Layer.Layer<never, never, IpIntel | PlatformApi | Settings> = Layer.effectDiscard(
  Effect.gen(function* () {
    const platform = yield* PlatformApi
    const intel = yield* IpIntel
    const { Campaigns } = yield* Settings
    yield* Effect.forkScoped(
      Effect.forEach(
        Campaigns,
        (campaign) =>
          Effect.flatMap(platform.verify(campaign.name), (findings) =>
            Effect.forEach(findings, (finding) => report(campaign, finding), { discard: true }),
          ),
        { discard: true },
      ).pipe(Effect.delay(REPORT_MILLIS)),
    )
    yield* intel.probe.pipe(
      Effect.catch(({ message }) => Effect.logError(`addresses: ${message}`)),
      Effect.delay(REPORT_MILLIS),
      Effect.forkScoped,
    )
  }),
)
