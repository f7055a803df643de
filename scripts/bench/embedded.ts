/**
 * The gate inside an application, without HTTP: `initiateWebSession` on the memory store, each from another address. The first caller has
 * the only slot, all others queue.
 */
import { Effect, Layer, Logger } from "effect"
import {
  type Gatekeeper,
  IpIntel,
  initiateWebSession,
  layerGatekeeper,
  layerPushLocal,
  layerSettingsFrom,
  layerStoreMemory,
  noFacts,
  PlatformApi,
} from "voicegate"
import { type Found, figure } from "./support/report.ts"

const CALLS = 50_000
/** V8 has compiled the gate by then. */
const WARM_UP_ROUNDS = 3

const never = Effect.die(new Error("no campaign asks for it"))

const OwnPlatform = Layer.succeed(PlatformApi, {
  initiate: () => Effect.succeed({ webSocketUrl: "wss://agent.example/1", sessionIds: ["1"] }),
  concurrency: () => never,
  sessionStatus: () => Effect.succeed({ status: "running", sessionIds: ["1"] }),
  sessionsOf: () => Effect.succeed([]),
  verify: () => Effect.succeed([]),
})

const OwnIpIntel = Layer.succeed(IpIntel, {
  provider: "own",
  lookup: () => Effect.succeed(noFacts),
  probe: Effect.void,
})

const Host = layerGatekeeper.pipe(
  Layer.provideMerge(Layer.mergeAll(OwnPlatform, OwnIpIntel, layerPushLocal)),
  Layer.provideMerge(
    Layer.merge(
      layerStoreMemory,
      layerSettingsFrom({
        StoreConnectionString: "memory:",
        VoiceAiPlatform: {
          ApiSecretToken: "not-used-by-this-platform",
          BaseUrl: "https://agent.example/",
          BusinessId: "business-1",
          WebCampaignId: "campaign-1",
          DefaultRegionId: "eu",
          MaxConcurrency: 1,
        },
        Security: { WebhookApiToken: "not-used-without-http" },
        Queue: { MaxLength: 10_000_000, DisconnectGraceSeconds: 3_600 },
      }),
    ),
  ),
)

const addressOf = (n: number): string => `${11 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

const queued = { onSuccess: () => false, onFailure: ({ _tag }: { readonly _tag: string }) => _tag === "Queued" }

/** Makes the calls one after the other; returns how many a second. */
const calls: Effect.Effect<number, never, Gatekeeper> = Effect.gen(function* () {
  const began = performance.now()
  for (let n = 0; n < CALLS; n++) {
    const config = { RegionId: "eu", DynamicVariables: { firstName: "Ada", plan: "pro", locale: "en-GB" } }
    const isQueued = yield* Effect.match(initiateWebSession(config, { address: addressOf(n) }), queued)
    if (!isQueued && n > 0) return yield* Effect.die(new Error(`caller ${n} was not queued`))
  }
  return (CALLS / (performance.now() - began)) * 1_000
})

export const embedded = async (rounds: number): Promise<Found> => {
  const perSecond: Array<number> = []
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const measured = await Effect.runPromise(Effect.provide(calls, Layer.provide(Host, Logger.layer([]))))
    if (round < 0) continue
    perSecond.push(measured)
    console.error(`embedded: ${Math.round(measured)} calls per second`)
  }
  return {
    figures: [{ name: "initiateWebSession on the memory store", unit: "calls per second", of: { gate: perSecond } }],
    ratios: [figure("initiateWebSession on the memory store, a second", perSecond, { atLeast: 60_000 })],
  }
}
