/** A host's own layer of any concern is the one that is used. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Admission } from "../../src/admission/Admission.ts"
import * as AdmissionLayer from "../../src/admission/layer.ts"
import { layerGate, layerGatekeeper } from "../../src/embedded/layers.ts"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import type { QueueStep } from "../../src/fifo-queue/QueueStep.ts"
import type { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { layer as gatekeeper } from "../../src/gatekeeper/layer.ts"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { RateLimited, StoreUnavailable } from "../../src/protocol/refusals.ts"
import type { PushChannel } from "../../src/push-channel/PushChannel.ts"
import * as RateLimiterLayer from "../../src/rate-limiter/layer.ts"
import { RateLimiter } from "../../src/rate-limiter/RateLimiter.ts"
import type { TakeStep } from "../../src/rate-limiter/TakeStep.ts"
import type { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import {
  ask,
  BEGIN,
  caller,
  hangUp,
  intelLayer,
  makeWorld,
  platformLayer,
  recordingPush,
  session,
  settingsLayer,
} from "../support/gate.ts"

interface Own {
  readonly limiter?: typeof RateLimiterLayer.layer
  readonly queue?: typeof queueLayer
  readonly admission?: typeof AdmissionLayer.layerAtomic
  readonly store?: Layer.Layer<Store>
}

describe("a service that is provided to a layer with its own", () => {
  const lines = (layer: Layer.Layer<never, unknown>): Effect.Effect<ReadonlyArray<string>> =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      yield* Effect.exit(Effect.scoped(Layer.build(Layer.provide(layer, Logger.layer([logger])))))
      return logged.filter((line) => line.includes("does not use"))
    })

  it.effect("is not ignored in silence: layerGatekeeper has its own RateLimiter, FifoQueue and Admission", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      const over = Layer.mergeAll(intelLayer(world), platformLayer(world), recordingPush(world)).pipe(
        Layer.provideMerge(memory.layer),
        Layer.provideMerge(settingsLayer({})),
      )
      const own = Layer.merge(RateLimiterLayer.layer, queueLayer).pipe(Layer.provideMerge(over))
      assert.deepStrictEqual(
        yield* lines(Layer.effectDiscard(Effect.void).pipe(Layer.provide(layerGatekeeper.pipe(Layer.provide(over))))),
        [],
      )
      assert.deepStrictEqual(
        yield* lines(Layer.effectDiscard(Effect.void).pipe(Layer.provide(layerGatekeeper.pipe(Layer.provide(own))))),
        [
          "layerGatekeeper has its own RateLimiter, FifoQueue, and does not use the one that is provided to it. To replace one, use layerGatekeeperNoDeps, which takes all three.",
        ],
      )
    }),
  )

  it.effect("is not ignored in silence: layerGate has every service of its own", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      const own = Layer.merge(platformLayer(world), memory.layer).pipe(Layer.provideMerge(settingsLayer({})))
      assert.deepStrictEqual(
        yield* lines(Layer.effectDiscard(Effect.void).pipe(Layer.provide(layerGate.pipe(Layer.provide(own))))),
        [
          "layerGate has its own Store, PlatformApi, and does not use the one that is provided to it. To replace one, use layerGatekeeper or layerGatekeeperNoDeps.",
        ],
      )
    }),
  )
})

/** A gate of which some concerns are the host's. */
const gate = (
  world: ReturnType<typeof makeWorld>,
  {
    admission = AdmissionLayer.layerAtomic,
    limiter = RateLimiterLayer.layer,
    queue = queueLayer,
    store = memory.layer,
  }: Own = {},
) =>
  gatekeeper.pipe(
    Layer.provideMerge(admission),
    Layer.provideMerge(Layer.mergeAll(limiter, queue)),
    Layer.provideMerge(Layer.mergeAll(intelLayer(world), platformLayer(world), recordingPush(world))),
    Layer.provideMerge(store),
    Layer.provideMerge(settingsLayer({})),
  )

const test = (
  name: string,
  own: Own,
  body: (world: ReturnType<typeof makeWorld>) => Effect.Effect<void, unknown, Gatekeeper | PushChannel | Store>,
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const world = makeWorld()
      yield* Effect.provide(body(world), gate(world, own))
    }),
  )

const refusing = Layer.effect(
  RateLimiter,
  Effect.map(RateLimiter, (limiter) =>
    RateLimiter.of({
      ...limiter,
      take: () =>
        Effect.fail(new RateLimited({ limit: "hour", retryAfterSeconds: 1, limits: [], message: "the host says no" })),
    }),
  ),
)

const full = Layer.effect(
  FifoQueue,
  Effect.map(FifoQueue, (queue) =>
    FifoQueue.of({
      ...queue,
      admit: () =>
        Effect.succeed({
          result: { _tag: "full", length: 7, averageMillis: 0 },
          signals: [],
          settlements: [],
        }),
    }),
  ),
)

describe("a host's own", () => {
  it("RateLimiter or FifoQueue has no part in one step of the store, so layerAtomic does not compile with it", () => {
    type NeededBy<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : never
    type IsMissing<S, L> = S extends NeededBy<L> ? true : false
    const { layerAtomic, layerSeparate } = AdmissionLayer
    const limiterOfHost = Layer.merge(Layer.provide(refusing, RateLimiterLayer.layer), queueLayer)
    const queueOfHost = Layer.merge(RateLimiterLayer.layer, Layer.provide(full, queueLayer))
    const atomic = [Layer.provide(layerAtomic, limiterOfHost), Layer.provide(layerAtomic, queueOfHost)] as const
    const missing: readonly [IsMissing<TakeStep, (typeof atomic)[0]>, IsMissing<QueueStep, (typeof atomic)[1]>] = [
      true,
      true,
    ]
    const separate: ReadonlyArray<Layer.Layer<Admission, never, Store | Settings>> = [
      Layer.provide(layerSeparate, limiterOfHost),
      Layer.provide(layerSeparate, queueOfHost),
    ]
    assert.lengthOf(separate, missing.length)
  })

  for (const [name, admission] of [
    ["layerAtomic", AdmissionLayer.layerAtomic],
    ["layerSeparate", AdmissionLayer.layerSeparate],
  ] as const) {
    describe(name, () => {
      test("RateLimiter decides", { limiter: Layer.provideMerge(refusing, RateLimiterLayer.layer), admission }, () =>
        Effect.gen(function* () {
          assert.deepInclude(yield* ask(caller(1)), { _tag: "RateLimited", message: "the host says no" })
        }),
      )
      test(
        "FifoQueue decides, and the units are given back",
        { queue: Layer.provideMerge(full, queueLayer), admission },
        () =>
          Effect.gen(function* () {
            // twenty an hour are allowed, and ten refunds
            for (let n = 0; n < 10; n++) assert.strictEqual((yield* ask(caller(1)))._tag, "QueueFull")
          }),
      )
      test(
        "a request starts, and the next waits, where the host has neither RateLimiter nor FifoQueue of its own",
        { admission },
        () =>
          Effect.gen(function* () {
            assert.strictEqual((yield* ask(caller(1)))._tag, "Started")
            assert.strictEqual((yield* ask(caller(2)))._tag, "Queued")
          }),
      )
    })
  }

  test(
    "Admission decides",
    {
      admission: Layer.succeed(Admission, {
        admit: () => Effect.fail(new StoreUnavailable({ message: "the host is away", unasked: true })),
      }),
    },
    () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* ask(caller(1)), { _tag: "StoreUnavailable", message: "the host is away" })
      }),
  )

  const ran: Array<string> = []
  test(
    "Store is asked, once for an admission",
    {
      store: Layer.effect(
        Store,
        Effect.map(Store, (store) =>
          Store.of({
            ...store,
            run: (rule, ask) =>
              Effect.suspend(() => {
                ran.push(rule.name)
                return store.run(rule, ask)
              }),
          }),
        ),
      ).pipe(Layer.provide(memory.layer)),
    },
    () =>
      Effect.gen(function* () {
        ran.length = 0
        yield* ask(caller(1))
        assert.deepStrictEqual(
          ran.filter((name) => name.startsWith("limits.") || /admit/i.test(name)),
          ["takeAndAdmit"],
        )
      }),
  )

  test("IpIntel decides", {}, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.succeed({ ...noFacts, tor: true })
      assert.deepInclude(yield* ask(caller(1)), { _tag: "Blocked", reason: "tor" })
    }),
  )

  test("PlatformApi starts the session, and PushChannel delivers the start call", {}, (world) =>
    Effect.gen(function* () {
      assert.deepInclude(yield* ask(caller(1)), { _tag: "Started", webSocketUrl: session(1).webSocketUrl })
      const waits = yield* ask(caller(2))
      yield* hangUp("web-1")
      const ticket = "uniqueRequestId" in waits ? waits.uniqueRequestId : ""
      const calls = world.pushed.filter(([, { type }]) => type === "start_call")
      assert.deepStrictEqual(
        calls.map(([to]) => to),
        [ticket],
      )
    }),
  )
})
