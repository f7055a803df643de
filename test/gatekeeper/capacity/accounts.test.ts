/** Campaigns that share the calls of one account, in running gates. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import type { PlatformError } from "../../../src/platform-api/errors.ts"
import type { Concurrency } from "../../../src/platform-api/model.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import {
  ask,
  BEGIN,
  begin,
  caller,
  enqueue,
  eventsOf,
  type Given,
  gateLayer,
  hangUp,
  makeWorld,
  platformRefuses,
  session,
  start,
  stateOf,
  type World,
} from "../../support/gate.ts"

const Name = "main"
const SALES = { campaignId: "sales" }

/** The default campaign and `sales`, in one account. */
const given = (cap: number | undefined, reserved = 0): Given => ({
  VoiceAiPlatform: {
    MaxConcurrency: undefined,
    Account: { Name, ...(cap === undefined ? {} : { MaxConcurrency: cap }), ReservedSlots: reserved },
    Campaigns: { sales: { WebCampaignId: "s", Account: { Name } } },
  },
})

const told = (limit: number, inUse: number): Effect.Effect<Concurrency> => Effect.succeed({ limit, inUse })

const accountTest = (
  name: string,
  settings: Given,
  body: (world: World) => Effect.Effect<void, unknown, Gatekeeper | Operator>,
  atStart: Effect.Effect<Concurrency, PlatformError> = Effect.fail(platformRefuses),
) =>
  it.effect(name, () => {
    const world = makeWorld()
    world.concurrency = () => atStart
    return Effect.andThen(TestClock.setTime(BEGIN), Effect.provide(body(world), gateLayer(world, settings)))
  })

describe("campaigns of one account", () => {
  accountTest("share its calls, and an end in one calls the other's caller at once", given(2), (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      yield* begin(caller(2), SALES)
      const first = yield* enqueue(caller(3), SALES)
      yield* TestClock.adjust("1 second")
      const second = yield* enqueue(caller(4))
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(yield* hangUp(...session(1).sessionIds))
      // no time passes
      yield* Effect.yieldNow
      assert.strictEqual(yield* stateOf(first), "called")
      assert.include(
        eventsOf(world, first).map(({ type }) => type),
        "start_call",
      )
      assert.strictEqual(yield* stateOf(second), "waiting")
      assert.strictEqual((yield* start(first))._tag, "Started")
      yield* hangUp(...session(2).sessionIds)
      yield* Effect.yieldNow
      assert.strictEqual(yield* stateOf(second), "called")
    }),
  )

  accountTest("leave what is reserved for one of them", given(2, 1), () =>
    Effect.gen(function* () {
      yield* begin(caller(1), SALES)
      const waiting = yield* enqueue(caller(2), SALES)
      yield* begin(caller(3))
      yield* hangUp(...session(2).sessionIds)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* stateOf(waiting), "waiting")
      yield* hangUp(...session(1).sessionIds)
      yield* Effect.yieldNow
      assert.strictEqual(yield* stateOf(waiting), "called")
    }),
  )

  accountTest(
    "have fewer while the account has calls that are not the gate's, counted once for all campaigns",
    given(undefined),
    (world) =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        yield* begin(caller(2), SALES)
        const waiting = yield* enqueue(caller(3))
        // two of the four are the gate's
        world.concurrency = () => told(4, 4)
        yield* TestClock.adjust("11 seconds")
        assert.strictEqual(yield* stateOf(waiting), "waiting")
        world.concurrency = () => told(4, 3)
        yield* TestClock.adjust("11 seconds")
        assert.strictEqual(yield* stateOf(waiting), "called")
      }),
    told(4, 2),
  )

  accountTest(
    "have at most what the settings say, and fewer where the platform tells of other calls",
    given(2),
    (world) =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        const waiting = yield* enqueue(caller(2), SALES)
        world.concurrency = () => told(20, 1)
        yield* TestClock.adjust("11 seconds")
        assert.strictEqual(yield* stateOf(waiting), "called")
        assert.strictEqual((yield* ask(caller(3)))._tag, "Queued")
      }),
    told(20, 19),
  )

  accountTest("do not fail to start where the platform tells nothing and the settings do", given(1), (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      let asked = 0
      world.concurrency = () =>
        Effect.suspend(() => Effect.fail(platformRefuses).pipe(Effect.ensuring(Effect.sync(() => asked++))))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(asked, 0)
    }),
  )

  accountTest("show the account to the operator", given(3, 1), () =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      yield* begin(caller(2), SALES)
      const { campaigns } = yield* Operator.use(({ campaigns }) => campaigns)
      const shown = campaigns.map(({ account, figures, name }) => ({ name, account, ...figures?.account }))
      assert.deepStrictEqual(shown, [
        { name: "default", account: Name, held: 2, cap: 3, reserved: 1, free: 1 },
        { name: "sales", account: Name, held: 2, cap: 3, reserved: 0, free: 1 },
      ])
      const pages = { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }
      const view = yield* Operator.use((operator) => operator.view("sales", pages, 0))
      assert.deepInclude(view, { account: Name, slots: 3 })
      assert.deepStrictEqual(view?.queue?.account, { held: 2, cap: 3, reserved: 0, free: 1 })
    }),
  )

  it.effect("share its calls on several instances, of which one has a higher limit", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const store = Layer.succeed(Store, yield* Effect.provide(Store, memory.layer))
      const gate = (settings: Given) =>
        Effect.map(Layer.build(gateLayer(makeWorld(), settings, { store })), (built) => {
          const gatekeeper = Context.get(built, Gatekeeper)
          return <A, E>(use: Effect.Effect<A, E, Gatekeeper>) => Effect.provideService(use, Gatekeeper, gatekeeper)
        })
      const [here, there] = [yield* gate(given(2)), yield* gate(given(2))]
      yield* here(begin(caller(1)))
      yield* there(begin(caller(2), SALES))
      const waiting = yield* there(enqueue(caller(3), SALES))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* here(ask(caller(4))))._tag, "Queued")
      // an instance with a higher limit calls for all
      const newer = yield* gate(given(3))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* here(stateOf(waiting)), "called")
      const later = yield* newer(enqueue(caller(5), SALES))
      // two are left: as many as the others allow
      yield* there(hangUp(...session(1).sessionIds))
      assert.strictEqual(yield* there(stateOf(later)), "waiting")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* there(stateOf(later)), "called")
    }).pipe(Effect.scoped),
  )
})
