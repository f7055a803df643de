import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { unavailable } from "../../src/platform-api/errors.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import {
  ask,
  BEGIN,
  begin,
  caller,
  enqueue,
  eventsOf,
  figures,
  gateLayer,
  hangUp,
  makeWorld,
  platformRefuses,
  remaining,
  session,
  start,
  stateOf,
} from "../support/gate.ts"
import { withFaults } from "./faulty-store.ts"
import { delayStarts, inBackground } from "./ticket-support.ts"

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

  it.effect("a store that is unavailable during a bind is retried until it is back", () =>
    withFaults((world, faults) =>
      Effect.gen(function* () {
        const answer = yield* delayStarts(world)
        const asked = yield* inBackground(ask(caller(1)))
        faults.away = true
        yield* answer
        yield* TestClock.adjust("2 seconds")
        faults.away = false
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Started" })
      }),
    ),
  )

  it.effect("withdraws the ticket of a refused start, and gives its quota back, when it can be reached again", () =>
    withFaults((world, faults) =>
      Effect.gen(function* () {
        world.initiate = () =>
          Effect.andThen(
            Effect.sync(() => (faults.away = true)),
            Effect.fail(platformRefuses),
          )
        expect((yield* ask(caller(1)))._tag).toBe("StoreUnavailable")
        faults.away = false
        expect(yield* remaining(caller(1))).toBe(19)
        yield* TestClock.adjust("32 seconds")
        expect(yield* remaining(caller(1))).toBe(20)
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      }),
    ),
  )

  it.effect("frees no slot whose session may run, when the platform did not answer a start", () =>
    withFaults((world, faults) =>
      Effect.gen(function* () {
        world.sessionsOf = () => Effect.succeed(undefined)
        // the platform starts the session, and its answer is lost
        world.initiate = () =>
          Effect.andThen(Effect.sleep(15_000), Effect.fail(unavailable("timeout", true, "did not answer")))
        const asked = yield* Effect.forkChild(ask(caller(1)))
        yield* TestClock.adjust(14_900)
        faults.away = true
        yield* TestClock.adjust(700)
        faults.away = false
        yield* TestClock.adjust(3_000)
        expect((yield* Fiber.join(asked))._tag).toBe("StoreUnavailable")
        // the ticket is unknown to any caller, and the slot stays held
        expect(yield* figures()).toMatchObject({ leases: 1, waiting: 0 })
        world.initiate = (n) => Effect.succeed(session(n))
        expect((yield* ask(caller(2)))._tag).toBe("Queued")
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
