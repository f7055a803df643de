/** A caller who disconnects at any step leaves nothing behind, or a whole session. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type IpFacts, noFacts } from "../../../src/ip-intel/facts.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import {
  ask,
  BEGIN,
  begin,
  caller,
  enqueue,
  eventsOf,
  figures,
  type GateServices,
  gateLayer,
  gateTest,
  hangUp,
  makeWorld,
  platformRefuses,
  remaining,
  session,
  start,
  type World,
} from "../../support/gate.ts"
import { calledTicket, delayStarts, inBackground } from "../ticket-support.ts"

describe("a caller who disconnects", () => {
  gateTest("a caller who disconnects during the address lookup has taken nothing", {}, (world) =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<IpFacts>()
      world.lookup = () => Deferred.await(never)
      const asked = yield* inBackground(ask(caller(1)))
      expect(world.lookedUp).toEqual([caller(1)])
      yield* Fiber.interrupt(asked)
      expect(yield* remaining(caller(1))).toBe(20)
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest(
    "a caller who disconnects during the start leaves a complete session, which ends like any other",
    {},
    (world) =>
      Effect.gen(function* () {
        const answer = yield* delayStarts(world)
        const asked = yield* inBackground(ask(caller(1)))
        const interrupted = yield* inBackground(Fiber.interrupt(asked))
        yield* answer
        yield* Fiber.join(interrupted)
        expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
        expect(yield* hangUp("web-1")).toBe(true)
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      }),
  )

  gateTest(
    "a caller who disconnects during a refused start gets slot and quota back",
    { Queue: { OnPlatformRefusal: "refuse" } },
    (world) =>
      Effect.gen(function* () {
        const answer = yield* delayStarts(world, () => Effect.fail(platformRefuses))
        const asked = yield* inBackground(ask(caller(1)))
        const interrupted = yield* inBackground(Fiber.interrupt(asked))
        yield* answer
        yield* Fiber.join(interrupted)
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
        expect(yield* remaining(caller(1))).toBe(20)
      }),
  )

  gateTest("a caller who disconnects during the start of a called ticket can resume its session", {}, (world) =>
    Effect.gen(function* () {
      const ticket = yield* calledTicket()
      const answer = yield* delayStarts(world)
      const starting = yield* inBackground(start(ticket))
      const interrupted = yield* inBackground(Fiber.interrupt(starting))
      yield* answer
      yield* Fiber.join(interrupted)
      expect(yield* start(ticket)).toMatchObject({ _tag: "Started", sessionId: "web-2" })
      expect(world.initiated.length).toBe(2)
    }),
  )
})

/** A store whose answers are delayed, as over a network. */
const slowStore = (millis: number): Layer.Layer<Store> =>
  Layer.effect(
    Store,
    Effect.map(Store, (store) =>
      Store.of({
        ...store,
        run: (rule, asked) => Effect.tap(store.run(rule, asked), () => Effect.sleep(millis)),
      }),
    ),
  ).pipe(Layer.provide(memory.layer))

describe("over a slow store", () => {
  const overSlowStore = <E>(body: (world: World) => Effect.Effect<void, E, GateServices>) =>
    Effect.gen(function* () {
      const world = makeWorld()
      yield* TestClock.setTime(BEGIN)
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(gateLayer(world, {}, { store: slowStore(100) }), scope)
      yield* Effect.provide(body(world), services)
      // a sweep that is under way is finished
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
    })
  /** Lets time pass while an effect runs. */
  const meanwhile = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Effect.forkChild(effect), (fiber) =>
      Effect.andThen(TestClock.adjust("600 millis"), Fiber.join(fiber)),
    )

  it.effect("a webhook whose sender disconnects still calls the next caller", () =>
    overSlowStore((world) =>
      Effect.gen(function* () {
        yield* meanwhile(begin())
        const ticket = yield* meanwhile(enqueue(caller(1)))
        const ending = yield* Effect.forkChild(hangUp("web-1"))
        yield* TestClock.adjust("50 millis")
        const interrupted = yield* Effect.forkChild(Fiber.interrupt(ending))
        yield* TestClock.adjust("100 millis")
        expect(eventsOf(world, ticket)).toMatchObject([{ type: "start_call" }])
        // and tells the limiter that a ticket of its caller is over, which takes two steps more
        yield* TestClock.adjust("200 millis")
        yield* Fiber.join(interrupted)
      }),
    ),
  )

  it.effect("a caller may disconnect at any moment", () =>
    Effect.gen(function* () {
      for (let moment = 0; moment <= 500; moment += 50) {
        yield* overSlowStore((world) =>
          Effect.gen(function* () {
            world.lookup = () => Effect.as(Effect.sleep("100 millis"), noFacts)
            world.initiate = (n) => Effect.as(Effect.sleep("100 millis"), session(n))
            const asked = yield* Effect.forkChild(ask(caller(1)))
            yield* TestClock.adjust(moment)
            const interrupted = yield* Effect.forkChild(Fiber.interrupt(asked))
            yield* TestClock.adjust("1 second")
            yield* Fiber.join(interrupted)
            const { leases, live, waiting } = yield* meanwhile(figures())
            // nothing at all, or a whole session
            expect([leases, waiting, live, yield* meanwhile(remaining(caller(1)))]).toEqual(
              moment < 100 ? [0, 0, 0, 20] : [1, 0, 1, 19],
            )
          }),
        )
      }
    }),
  )
})
