/** Callers who disconnect and stores that fail, at every possible step: nothing is leaked. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/Gatekeeper.ts"
import { MAX_PER_CALLER, MAX_REMEMBERED } from "../../src/gatekeeper/withdrawals.ts"
import { type IpFacts, noFacts } from "../../src/IpIntel.ts"
import { StoreUnavailable } from "../../src/Session.ts"
import { Store } from "../../src/Store.ts"
import * as memory from "../../src/store/memory.ts"
import {
  ask,
  atCapacity,
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
  stateOf,
  type World,
} from "../support/gate.ts"

describe("a caller who disconnects", () => {
  gateTest("during the address lookup has taken nothing", {}, (world) =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<IpFacts>()
      world.lookup = () => Deferred.await(never)
      const asked = yield* Effect.forkChild(ask(caller(1)))
      yield* Effect.yieldNow
      expect(world.looked).toEqual([caller(1)])
      yield* Fiber.interrupt(asked)
      expect(yield* remaining(caller(1))).toBe(20)
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest("during the start leaves a complete session, which ends like any other", {}, (world) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      const asked = yield* Effect.forkChild(ask(caller(1)))
      yield* Effect.yieldNow
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(asked))
      yield* Effect.yieldNow
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(interrupted)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
      expect(yield* hangUp("web-1")).toBe(true)
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest("during a refused start gets slot and quota back", {}, (world) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      world.initiate = () => Effect.andThen(Deferred.await(answer), Effect.fail(platformRefuses))
      const asked = yield* Effect.forkChild(ask(caller(1)))
      yield* Effect.yieldNow
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(asked))
      yield* Effect.yieldNow
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(interrupted)
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      expect(yield* remaining(caller(1))).toBe(20)
    }),
  )

  gateTest("during the start of a called ticket can resume its session", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      yield* hangUp("web-1")
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      const starting = yield* Effect.forkChild(start(ticket))
      yield* Effect.yieldNow
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(starting))
      yield* Effect.yieldNow
      yield* Deferred.succeed(answer, undefined)
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

/** How a run of the store fails: before it is applied, after it (only the answer is lost), or it is applied later. */
type Fault = "request lost" | "answer lost" | "carried out later"

/** So long a gate waits for an answer that is lost. */
const LOST_MILLIS = 10

interface Faults {
  /** runs until the one that fails, 1 is the next; 0 for none */
  countdown: number
  runs: number
  fault: Fault
  /** every run is carried out, and its answer is lost */
  losing: boolean
  /** every run fails */
  away: boolean
  /** what is to be carried out later */
  readonly later: Array<Effect.Effect<unknown, StoreUnavailable>>
}

const gone = new StoreUnavailable({ message: "The store is away." })

const faultyStore = (faults: Faults, crossSlot: boolean): Layer.Layer<Store> =>
  Layer.effect(
    Store,
    Effect.map(Store, (store) =>
      Store.of({
        ...store,
        crossSlot,
        run: (rule, asked) =>
          Effect.suspend(() => {
            if (faults.away) return Effect.fail(gone)
            faults.runs++
            if (faults.losing) {
              return Effect.andThen(store.run(rule, asked), Effect.delay(Effect.fail(gone), LOST_MILLIS))
            }
            const run = store.run(rule, asked)
            if (--faults.countdown !== 0) return run
            if (faults.fault === "carried out later") faults.later.push(run)
            return faults.fault === "answer lost" ? Effect.andThen(run, Effect.fail(gone)) : Effect.fail(gone)
          }),
      }),
    ),
  ).pipe(Layer.provide(memory.layer))

const given = { Security: { RateLimitConcurrency: 3 }, Queue: { MaxCallMinutes: 1 } }

/** A gate whose store can be made to fail. */
const withFaults = <E>(
  body: (world: World, faults: Faults) => Effect.Effect<void, E, GateServices>,
  fault: Fault = "request lost",
  // as on a cluster: limits and queue are two steps, of which either can fail
  crossSlot = false,
) =>
  Effect.gen(function* () {
    const world = makeWorld()
    const faults: Faults = { countdown: 0, runs: 0, fault, losing: false, away: false, later: [] }
    yield* TestClock.setTime(BEGIN)
    yield* Effect.provide(body(world, faults), gateLayer(world, given, { store: faultyStore(faults, crossSlot) }))
    return faults.runs
  })

/** All slots are free and nobody waits, once every deadline has passed; and every caller may call again. */
const nothingLeft = Effect.gen(function* () {
  yield* TestClock.adjust("3 minutes")
  expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
  const again = yield* begin(caller(99))
  yield* hangUp(again.sessionId)
})

/** Scenarios in which each run of the store fails once. */
const stories: Record<string, (world: World) => Effect.Effect<void, never, Gatekeeper>> = {
  "a session that starts and ends": () =>
    Effect.gen(function* () {
      yield* ask(caller(1))
      yield* Effect.ignore(hangUp("web-1"))
    }),
  "a ticket that waits, is called, starts and ends": () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* ask(caller(1))
      const queued = yield* ask(caller(2))
      const ticket = "uniqueRequestId" in queued ? queued.uniqueRequestId : ""
      yield* Effect.ignore(gate.attach(ticket))
      yield* Effect.ignore(hangUp("web-1"))
      yield* start(ticket)
      yield* Effect.ignore(gate.status(ticket))
      yield* Effect.ignore(hangUp("web-2"))
    }),
  "a platform that refuses": (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(platformRefuses)
      yield* ask(caller(1))
      yield* ask(caller(2))
    }),
  "a platform at capacity": (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(atCapacity)
      yield* ask(caller(1))
      yield* ask(caller(2))
    }),
  "a place given up": () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* ask(caller(1))
      const queued = yield* ask(caller(2))
      yield* Effect.ignore(gate.leave("uniqueRequestId" in queued ? queued.uniqueRequestId : ""))
      yield* Effect.ignore(hangUp("web-1"))
    }),
}

describe("a store that fails once", () => {
  for (const [name, story] of Object.entries(stories)) {
    for (const fault of ["request lost", "answer lost"] as const) {
      it.effect(`loses no slot permanently, at any step of ${name} (${fault})`, () =>
        Effect.gen(function* () {
          const life = (failing: number) =>
            withFaults(
              (world, faults) =>
                Effect.gen(function* () {
                  faults.countdown = failing
                  yield* Effect.forkChild(story(world)).pipe(
                    Effect.tap(() => TestClock.adjust("6 seconds")),
                    Effect.flatMap(Fiber.join),
                  )
                  // of other names: the end of one that never began is remembered
                  world.initiate = (n) => Effect.succeed(session(n + 1000))
                  yield* nothingLeft
                }),
              fault,
            )
          const steps = yield* withFaults((world, faults) =>
            Effect.andThen(
              story(world),
              Effect.sync(() => expect(faults.runs).toBeGreaterThan(1)),
            ),
          )
          for (let failing = 1; failing <= steps; failing++) yield* life(failing)
        }),
      )
    }
  }

  for (const fault of ["request lost", "answer lost"] as const) {
    it.effect.each([
      // the limits and the admission, with either answer of the platform, and the way back to the queue
      { crossSlot: false, expected: 5 },
      { crossSlot: true, expected: 3 },
    ])(
      `gives the caller's budgets back whenever the answer was that it is away (${fault}, crossSlot $crossSlot)`,
      ({ expected, crossSlot }) =>
        Effect.gen(function* () {
          let refusals = 0
          for (const platform of [() => Effect.fail(atCapacity), (n: number) => Effect.succeed(session(n))]) {
            for (let failing = 1; failing <= 4; failing++) {
              yield* withFaults(
                (world, faults) =>
                  Effect.gen(function* () {
                    world.initiate = platform
                    faults.countdown = failing
                    const asked = yield* Effect.forkChild(ask(caller(1)))
                    yield* TestClock.adjust("6 seconds")
                    const outcome = yield* Fiber.join(asked)
                    if (outcome._tag !== "StoreUnavailable") return
                    refusals++
                    yield* TestClock.adjust("40 seconds")
                    expect(yield* remaining(caller(1))).toBe(20)
                  }),
                fault,
                crossSlot,
              )
            }
          }
          expect(refusals).toBe(expected)
        }),
    )
  }

  it.effect("keeps a session that was bound although the answer was lost", () =>
    withFaults(
      (world, faults) =>
        Effect.gen(function* () {
          faults.countdown = 3
          const asked = yield* Effect.forkChild(ask(caller(1)))
          yield* TestClock.adjust("1 second")
          const outcome = yield* Fiber.join(asked)
          expect(outcome).toMatchObject({ _tag: "Started", sessionId: "web-1" })
          expect(yield* stateOf("uniqueRequestId" in outcome ? outcome.uniqueRequestId : "")).toBe("live")
          expect(world.initiated.length).toBe(1)
        }),
      "answer lost",
    ),
  )
})

/** Requests of callers from this many networks at once; the store applies each, and its answer is lost. */
const unanswered = (faults: Faults, count: number) =>
  Effect.gen(function* () {
    faults.losing = true
    const asked = yield* Effect.forEach(
      Array.from({ length: count }, (_, n) => n),
      (n) => Effect.forkChild(ask(`203.1.${n}.1`), { startImmediately: true }),
    )
    yield* TestClock.adjust(LOST_MILLIS)
    faults.losing = false
    for (const fiber of asked) expect((yield* Fiber.join(fiber))._tag).toBe("StoreUnavailable")
  })

describe("a request that was answered 503 because the store is unavailable", () => {
  it.effect("holds no slot and no place when the store is back, and blocks no other caller", () =>
    withFaults(
      (world, faults) =>
        Effect.gen(function* () {
          yield* unanswered(faults, 60)
          expect(yield* figures()).toEqual({ leases: 1, waiting: 59, live: 0 })
          const known = yield* enqueue(caller(1))
          world.connected.add(known)
          faults.away = true
          yield* TestClock.adjust("4 seconds")
          faults.away = false
          yield* TestClock.adjust("1 second")
          expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 0 })
          expect(yield* stateOf(known)).toBe("called")
          // only the connected caller receives events
          expect(new Set(world.pushed.map(([ticket]) => ticket))).toEqual(new Set([known]))
          expect(yield* remaining("203.1.7.1")).toBe(20)
        }),
      "answer lost",
      true,
    ),
  )

  for (const crossSlot of [true, false]) {
    it.effect(`takes no slot if its admission is applied after its withdrawal (crossSlot ${crossSlot})`, () =>
      withFaults(
        (_world, faults) =>
          Effect.gen(function* () {
            // of two steps, the second
            faults.countdown = crossSlot ? 1 : 2
            expect((yield* ask(caller(1)))._tag).toBe("StoreUnavailable")
            yield* TestClock.adjust("1 second")
            for (const command of faults.later) yield* Effect.orDie(command)
            expect(faults.later.length).toBe(1)
            expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
            expect((yield* ask(caller(2)))._tag).toBe("Started")
            yield* TestClock.adjust("10 seconds")
            expect(yield* remaining(caller(1))).toBe(20)
          }),
        "carried out later",
        crossSlot,
      ),
    )
  }

  it.effect("keeps no place when the platform was full and requeueing was not answered", () =>
    withFaults(
      (world, faults) =>
        Effect.gen(function* () {
          world.initiate = () => Effect.fail(atCapacity)
          faults.countdown = 2
          expect((yield* ask(caller(1)))._tag).toBe("StoreUnavailable")
          expect(yield* figures()).toEqual({ leases: 0, waiting: 1, live: 0 })
          yield* TestClock.adjust("1 second")
          expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
          expect(yield* remaining(caller(1))).toBe(20)
        }),
      "answer lost",
      true,
    ),
  )

  it.effect("is remembered up to a limit of each caller and network", () =>
    withFaults(
      (_world, faults) =>
        Effect.gen(function* () {
          faults.away = true
          for (let n = 0; n < 2 * MAX_PER_CALLER; n++) yield* ask(caller(1))
          for (let n = 0; n < MAX_REMEMBERED; n++) yield* ask(`198.20.0.${n & 255}`)
          faults.away = false
          yield* unanswered(faults, 3)
          yield* TestClock.adjust("10 seconds")
          expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
        }),
      "answer lost",
      true,
    ),
  )
})

describe("a store that is unavailable", () => {
  it.effect("fails every operation with StoreUnavailable, and recovers", () =>
    withFaults((world, faults) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        yield* begin()
        const ticket = yield* enqueue(caller(1))
        world.connected.add(ticket)
        faults.away = true
        expect((yield* ask(caller(2)))._tag).toBe("StoreUnavailable")
        expect((yield* start(ticket))._tag).toBe("StoreUnavailable")
        for (const operation of [
          gate.leave(ticket),
          Effect.asVoid(gate.status(ticket)),
          Effect.asVoid(gate.attach(ticket)),
          Effect.asVoid(hangUp("web-1")),
        ]) {
          expect((yield* Effect.flip(operation))._tag).toBe("StoreUnavailable")
        }
        // shorter than the grace
        yield* TestClock.adjust("20 seconds")
        faults.away = false
        yield* TestClock.adjust("2 seconds")
        expect(yield* stateOf(ticket)).toBe("waiting")
        expect(yield* hangUp("web-1")).toBe(true)
        expect((yield* start(ticket))._tag).toBe("Started")
      }),
    ),
  )

  it.effect("during a bind is retried until it is back", () =>
    withFaults((world, faults) =>
      Effect.gen(function* () {
        const answer = yield* Deferred.make<void>()
        world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
        const asked = yield* Effect.forkChild(ask(caller(1)))
        yield* Effect.yieldNow
        faults.away = true
        yield* Deferred.succeed(answer, undefined)
        yield* TestClock.adjust("2 seconds")
        faults.away = false
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Started" })
      }),
    ),
  )

  it.effect("delays giving back the quota of a refused start", () =>
    withFaults((world, faults) =>
      Effect.gen(function* () {
        world.initiate = () =>
          Effect.andThen(
            Effect.sync(() => (faults.away = true)),
            Effect.fail(platformRefuses),
          )
        expect((yield* ask(caller(1)))._tag).toBe("PlatformUnavailable")
        faults.away = false
        expect(yield* remaining(caller(1))).toBe(19)
        yield* TestClock.adjust("32 seconds")
        expect(yield* remaining(caller(1))).toBe(20)
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      }),
    ),
  )
})

describe("a campaign whose records the store refuses", () => {
  it.effect("does not stop the sweeps of other campaigns", () => {
    const world = makeWorld()
    let refused = false
    const store = Layer.effect(
      Store,
      Effect.map(Store, (real) => ({
        ...real,
        run: (rule, asked) =>
          refused && asked.keys.some((key) => key.includes("{business%2Fcampaign}"))
            ? Effect.fail(new StoreUnavailable({ message: "a key of another type" }))
            : real.run(rule, asked),
      })),
    ).pipe(Layer.provide(memory.layer))
    const two = { VoiceAiPlatform: { Campaigns: { sales: { WebCampaignId: "sales-id", MaxConcurrency: 1 } } } }
    const body = Effect.gen(function* () {
      yield* begin(caller(1), { campaignId: "sales" })
      const first = yield* enqueue(caller(2), { campaignId: "sales" })
      const second = yield* enqueue(caller(3), { campaignId: "sales" })
      world.connected.add(first).add(second)
      yield* hangUp("web-1")
      refused = true
      expect(eventsOf(world, first).map(({ type }) => type)).toContain("start_call")
      // the first does not start, and only a sweep finds that
      yield* TestClock.adjust("40 seconds")
      expect(eventsOf(world, second).map(({ type }) => type)).toContain("start_call")
      const gatekeeper = yield* Gatekeeper
      expect(yield* gatekeeper.queueProblem).toContain("campaign default")
      refused = false
      yield* TestClock.adjust("1 second")
      expect(yield* gatekeeper.queueProblem).toBeUndefined()
    })
    return Effect.andThen(TestClock.setTime(BEGIN), Effect.provide(body, gateLayer(world, two, { store })))
  })
})
