/** The number of slots if it is not configured. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import type { PlatformError } from "../../../src/platform-api/errors.ts"
import { unavailable } from "../../../src/platform-api/errors.ts"
import type { Concurrency } from "../../../src/platform-api/model.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import {
  ask,
  atCapacity,
  begin,
  caller,
  enqueue,
  type Given,
  gateLayer,
  hangUp,
  makeWorld,
  platformIsAway,
  platformRefuses,
  session,
  stateOf,
  type World,
} from "../../support/gate.ts"

const asked: Given = { VoiceAiPlatform: { MaxConcurrency: undefined } }
const account = (limit: number, inUse: number): Effect.Effect<Concurrency> => Effect.succeed({ limit, inUse })

const capacityTest = (
  name: string,
  atStart: Effect.Effect<Concurrency, PlatformError>,
  body: (world: World) => Effect.Effect<void, unknown, Gatekeeper | Operator>,
) =>
  it.effect(name, () => {
    const world = makeWorld()
    world.concurrency = () => atStart
    return Effect.provide(body(world), gateLayer(world, asked))
  })

describe("the platform's concurrency", () => {
  capacityTest("sets the number of slots", account(2, 0), () =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      yield* begin(caller(2))
      expect((yield* ask(caller(3)))._tag).toBe("Queued")
    }),
  )

  capacityTest("is reduced by calls that are not ours, as they start and end", account(3, 2), (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      const ticket = yield* enqueue(caller(2))
      // ours is among them now: two are foreign still
      world.concurrency = () => account(3, 3)
      yield* TestClock.adjust("11 seconds")
      expect(yield* stateOf(ticket)).toBe("waiting")
      // one foreign call ends
      world.concurrency = () => account(3, 2)
      yield* TestClock.adjust("11 seconds")
      expect(yield* stateOf(ticket)).toBe("called")
    }),
  )

  capacityTest(
    "stays in use when the platform refuses to tell it, so nobody is called for that",
    account(2, 0),
    (world) =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        yield* begin(caller(2))
        const waiting: Array<string> = []
        for (let n = 3; n <= 8; n++) waiting.push(yield* enqueue(caller(n)))
        for (const ticket of waiting) world.connected.add(ticket)
        world.concurrency = () => Effect.fail(platformRefuses)
        yield* TestClock.adjust("90 seconds")
        expect(new Set(yield* Effect.forEach(waiting, stateOf))).toEqual(new Set(["waiting"]))
        yield* hangUp(...session(1).sessionIds)
        expect(yield* Effect.forEach(waiting.slice(0, 2), stateOf)).toEqual(["called", "waiting"])
        // at last, the platform's refusal at capacity is the limit
        yield* TestClock.adjust("60 seconds")
        const operator = yield* Operator
        const view = yield* operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)
        expect(view?.slots).toBeNull()
      }),
  )

  capacityTest("a concurrency that a host counts in fractions is rounded down", account(1.5, 0), () =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      expect((yield* ask(caller(2)))._tag).toBe("Queued")
    }),
  )
  capacityTest(
    "a concurrency that answers to starts alone tell is kept by an instance that has started nothing",
    Effect.succeed({ limit: 1, inUse: 0, fromStarts: true }),
    (world) =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        world.concurrency = () => Effect.succeed({ limit: Number.POSITIVE_INFINITY, inUse: 0, fromStarts: true })
        yield* TestClock.adjust("11 seconds")
        expect((yield* ask(caller(2)))._tag).toBe("Queued")
      }),
  )

  capacityTest("a concurrency that shrinks admits nobody until enough calls have ended", account(2, 0), (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      yield* begin(caller(2))
      world.concurrency = () => account(1, 2)
      yield* TestClock.adjust("11 seconds")
      const ticket = yield* enqueue(caller(3))
      yield* hangUp(...session(1).sessionIds)
      expect(yield* stateOf(ticket)).toBe("waiting")
      yield* hangUp(...session(2).sessionIds)
      expect(yield* stateOf(ticket)).toBe("called")
    }),
  )

  capacityTest("stays in use while the platform cannot be asked", account(1, 0), (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      world.concurrency = () => Effect.fail(platformIsAway)
      yield* TestClock.adjust("1 minute")
      expect(yield* gate.capacityProblem).toBeUndefined()
      yield* begin()
    }),
  )

  capacityTest(
    "is retried until it is read if the platform is unavailable at the start",
    Effect.fail(platformIsAway),
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        expect(yield* gate.capacityProblem).toBe(
          "The slots of campaign default are not known: the platform's concurrency could not be read yet (unreachable).",
        )
        const ticket = yield* enqueue(caller(1))
        world.concurrency = () => account(1, 0)
        yield* TestClock.adjust("11 seconds")
        expect(yield* gate.capacityProblem).toBeUndefined()
        expect(yield* stateOf(ticket)).toBe("called")
      }),
  )

  it.effect("is read by one of three instances at a time, for all", () =>
    Effect.gen(function* () {
      const store = Layer.succeed(Store, yield* Effect.provide(Store, memory.layer))
      const worlds = [makeWorld(), makeWorld(), makeWorld()]
      let reads = 0
      let limit = 2
      const gates = yield* Effect.forEach(worlds, (world) => {
        world.concurrency = () =>
          Effect.suspend(() => {
            reads++
            return account(limit, 0)
          })
        return Effect.map(Layer.build(gateLayer(world, asked, { store })), (context) => ({
          gate: Context.get(context, Gatekeeper),
          operator: Context.get(context, Operator),
        }))
      })
      expect(reads).toBe(1)
      yield* TestClock.adjust("30 seconds")
      expect(reads).toBe(4)
      for (const { gate } of gates) expect(yield* gate.capacityProblem).toBeUndefined()
      // what one instance has read is soon shared with all
      limit = 5
      yield* TestClock.adjust("16 seconds")
      for (const { operator } of gates) {
        const view = yield* operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)
        expect(view?.slots).toBe(5)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("a concurrency that cannot be read at the start is logged as missing repeatedly, and then read", () => {
    const world = makeWorld()
    world.concurrency = () => Effect.fail(unavailable("server_error", false, "HTTP 500"))
    const warnings: Array<string> = []
    const logger = Logger.layer([
      Logger.make<unknown, void>(({ logLevel, message }) => {
        if (logLevel === "Warn") warnings.push(String(message))
      }),
    ])
    return Effect.gen(function* () {
      const gate = yield* Gatekeeper
      expect(yield* gate.capacityProblem).toContain("(server error)")
      yield* TestClock.adjust("31 seconds")
      expect(warnings).toHaveLength(4)
      expect(warnings[3]).toContain("campaign default cannot be read (HTTP 500); no caller is called until then")
      world.concurrency = () => account(1, 0)
      yield* TestClock.adjust("11 seconds")
      expect(yield* gate.capacityProblem).toBeUndefined()
    }).pipe(Effect.provide(gateLayer(world, asked).pipe(Layer.provideMerge(logger))))
  })

  it.effect.each([
    ["key of another is refused", Effect.fail(platformRefuses)],
    ["platform of another does not answer", Effect.never],
  ] as const)("the concurrency of one campaign is still read when the %s", ([, trouble]) => {
    const world = makeWorld()
    const given: Given = {
      VoiceAiPlatform: { MaxConcurrency: undefined, Campaigns: { sales: { WebCampaignId: "s" } } },
    }
    world.concurrency = () => account(1, 0)
    return Effect.gen(function* () {
      world.concurrency = (name) => (name === "default" ? trouble : account(2, 0))
      yield* TestClock.adjust("11 seconds")
      yield* begin(caller(1), { campaignId: "sales" })
      yield* begin(caller(2), { campaignId: "sales" })
    }).pipe(Effect.provide(gateLayer(world, given)))
  })
})

describe("a key that may not read the concurrency", () => {
  /** A platform that lets this many calls run and refuses more, and whose figures nobody may read. */
  const limited = (most: number) => {
    const world = makeWorld()
    world.concurrency = () => Effect.fail(platformRefuses)
    const state = { most, running: 0, mostSeen: 0 }
    world.initiate = (n) =>
      Effect.suspend(() => {
        if (state.running >= state.most) return Effect.fail(atCapacity)
        state.running++
        state.mostSeen = Math.max(state.mostSeen, state.running)
        return Effect.succeed(session(n))
      })
    const end = (n: number) =>
      Effect.andThen(
        Effect.sync(() => void state.running--),
        hangUp(...session(n).sessionIds),
      )
    return { world, state, end }
  }

  it.effect("starts the gate, whose limit is then the platform's refusal, and one warning names the setting", () => {
    const { world } = limited(1)
    const warnings: Array<string> = []
    const logger = Logger.layer([
      Logger.make<unknown, void>(({ logLevel, message }) => {
        if (logLevel === "Warn") warnings.push(String(message))
      }),
    ])
    return Effect.gen(function* () {
      const gate = yield* Gatekeeper
      expect(yield* gate.capacityProblem).toBeUndefined()
      yield* begin(caller(1))
      yield* TestClock.adjust("1 minute")
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain("The slots of campaign default are not known")
      expect(warnings[0]).toContain("The platform's own refusal at capacity is the limit")
      expect(warnings[0]).toContain("VoiceAiPlatform.MaxConcurrency")
      expect(warnings[0]).not.toContain("the-platform-key")
      const operator = yield* Operator
      const view = yield* operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)
      expect(view?.slots).toBeNull()
      expect(view?.queue?.allowed).toBeUndefined()
      // once it may read them, it does
      world.concurrency = () => account(3, 1)
      yield* TestClock.adjust("11 seconds")
      expect((yield* operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0))?.slots).toBe(3)
    }).pipe(Effect.provide(gateLayer(world, asked).pipe(Layer.provideMerge(logger))))
  })

  it.effect(
    "calls in the order of the queue, as many as the platform lets start, and one by one when a slot opens",
    () => {
      const { end, state, world } = limited(2)
      return Effect.gen(function* () {
        yield* begin(caller(1))
        yield* begin(caller(2))
        // so long were the calls of which the first ends
        yield* TestClock.adjust("10 seconds")
        const waiting: Array<string> = []
        for (let n = 3; n <= 8; n++) waiting.push(yield* enqueue(caller(n)))
        expect(state.mostSeen).toBe(2)
        const states = () => Effect.forEach(waiting, stateOf)
        const gate = yield* Gatekeeper
        const called = () => Effect.map(states(), (all) => all.filter((each) => each === "called").length)
        // the first end calls the first in line, and nobody else
        yield* end(1)
        expect(yield* states()).toEqual(["called", "waiting", "waiting", "waiting", "waiting", "waiting"])
        yield* gate.start(waiting[0] ?? "")
        // after each backoff one caller is tried; whoever the platform refuses keeps the place, and nobody passes
        let refused = 0
        for (let second = 0; second < 90; second++) {
          yield* TestClock.adjust("1 second")
          const [, ...others] = yield* states()
          expect(others.slice(1)).toEqual(["waiting", "waiting", "waiting", "waiting"])
          if (others[0] === "called") {
            expect((yield* Effect.flip(gate.start(waiting[1] ?? "")))._tag).toBe("NotYourTurn")
            refused++
          }
          expect(yield* called()).toBe(0)
        }
        expect(refused).toBeGreaterThan(1)
        expect(refused).toBeLessThan(10)
        const operator = yield* Operator
        const view = yield* operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)
        expect(view?.queue?.allowed).toBe(2)
        expect((yield* gate.status(waiting[1] ?? "")).estimatedWaitSeconds).not.toBeNull()
        expect(state.mostSeen).toBe(2)
      }).pipe(Effect.provide(gateLayer(world, { ...asked, Queue: { DisconnectGraceSeconds: 3600 } })))
    },
  )

  it.effect("notices that the platform has room for more, without an end of its own calls", () => {
    const { state, world } = limited(1)
    return Effect.gen(function* () {
      yield* begin(caller(1))
      const waiting: Array<string> = []
      for (let n = 2; n <= 6; n++) waiting.push(yield* enqueue(caller(n)))
      // calls of others have ended
      state.most = 4
      const gate = yield* Gatekeeper
      const started: Array<string> = []
      for (let second = 0; second < 70 && started.length < 3; second++) {
        yield* TestClock.adjust("1 second")
        for (const ticket of waiting) {
          if ((yield* stateOf(ticket)) !== "called") continue
          yield* gate.start(ticket)
          started.push(ticket)
        }
      }
      expect(started).toEqual(waiting.slice(0, 3))
      expect(state.mostSeen).toBe(4)
    }).pipe(Effect.provide(gateLayer(world, { ...asked, Queue: { DisconnectGraceSeconds: 3600 } })))
  })

  it.effect("says nothing if the slots are configured", () => {
    const { world } = limited(1)
    return Effect.gen(function* () {
      const gate = yield* Gatekeeper
      expect(yield* gate.capacityProblem).toBeUndefined()
    }).pipe(Effect.provide(gateLayer(world, {})))
  })

  it.effect("is named with the setting of its own campaign", () => {
    const { world } = limited(1)
    const given: Given = {
      VoiceAiPlatform: { MaxConcurrency: undefined, Campaigns: { sales: { WebCampaignId: "s" } } },
    }
    world.concurrency = (name) => (name === "sales" ? Effect.fail(platformRefuses) : account(1, 0))
    const warnings: Array<string> = []
    const logger = Logger.layer([
      Logger.make<unknown, void>(({ logLevel, message }) => {
        if (logLevel === "Warn") warnings.push(String(message))
      }),
    ])
    return Effect.gen(function* () {
      yield* Gatekeeper
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain("VoiceAiPlatform.Campaigns.sales.MaxConcurrency")
    }).pipe(Effect.provide(gateLayer(world, given).pipe(Layer.provideMerge(logger))))
  })
})
