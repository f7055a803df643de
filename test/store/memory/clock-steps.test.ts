/** A gate with the memory store whose wall clock is set while it runs: no deadline moves, and what it tells is the time of day. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { sign } from "../../../src/lib/standard-webhooks.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { Store } from "../../../src/store/Store.ts"
import {
  ask,
  BEGIN,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  type GateServices,
  type Given,
  gateLayer,
  hangUp,
  makeWorld,
  stateOf,
  type World,
} from "../../support/gate.ts"
import { call, serveGate } from "../../support/gate-server.ts"
import { withSteppedClock } from "../../support/stepped-clock.ts"

const STEPS = [
  ["set back 10 minutes", -10 * 60_000],
  ["set ahead 2 hours", 2 * 3_600_000],
] as const

interface Stepped {
  readonly world: World
  /** sets the wall clock */
  readonly step: Effect.Effect<void>
  /** a time of day after the step, `millis` after the test began */
  readonly isoAt: (millis: number) => string
}

/** Runs the test once for each step of the clock. */
const eachStep = (
  name: string,
  given: Given,
  body: (stepped: Stepped) => Effect.Effect<void, unknown, GateServices>,
): void => {
  for (const [way, millis] of STEPS) {
    it.effect(`${name}, when the clock is ${way}`, () =>
      Effect.andThen(
        TestClock.setTime(BEGIN),
        withSteppedClock((step) => {
          const world = makeWorld()
          const isoAt = (at: number): string => new Date(BEGIN + at + millis).toISOString()
          return Effect.provide(body({ world, step: Effect.sync(() => step(millis)), isoAt }), gateLayer(world, given))
        }),
      ),
    )
  }
}

const silent = { VoiceAiPlatform: { SilenceSeconds: 30 } }
const statusOf = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const act = (action: Parameters<Operator["Service"]["act"]>[2]) =>
  Operator.use((operator) => operator.act("default", "someone", action))

describe("a gate with the memory store", () => {
  eachStep("gives a called caller the whole window and not more", {}, ({ step, world }) =>
    Effect.gen(function* () {
      const { sessionId } = yield* begin()
      const [called, next] = [yield* enqueue(caller(1)), yield* enqueue(caller(2))]
      for (const each of [called, next]) world.connected.add(each)
      yield* hangUp(sessionId)
      yield* TestClock.adjust("15 seconds")
      yield* step
      yield* TestClock.adjust("14 seconds")
      assert.strictEqual(yield* stateOf(called), "called")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([yield* stateOf(called), yield* stateOf(next)], ["missed", "called"])
    }),
  )

  eachStep("frees the slot of a call after MaxCallMinutes", { Queue: { MaxCallMinutes: 5 } }, ({ step, world }) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      const next = yield* enqueue(caller(1))
      world.connected.add(next)
      yield* TestClock.adjust("1 minute")
      yield* step
      yield* TestClock.adjust("3 minutes")
      assert.deepStrictEqual([yield* stateOf(uniqueRequestId), yield* stateOf(next)], ["live", "waiting"])
      yield* TestClock.adjust("70 seconds")
      assert.strictEqual(yield* stateOf(next), "called")
    }),
  )

  eachStep("keeps the places of callers who are connected or just gone", {}, ({ step, world }) =>
    Effect.gen(function* () {
      yield* begin()
      const [here, gone] = [yield* enqueue(caller(1)), yield* enqueue(caller(2))]
      world.connected.add(here)
      yield* TestClock.adjust("5 seconds")
      yield* step
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([yield* stateOf(here), yield* stateOf(gone)], ["waiting", "waiting"])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([yield* stateOf(here), yield* stateOf(gone)], ["waiting", "abandoned"])
    }),
  )

  eachStep("limits a caller's requests by the hour that has passed", { Security: { RateLimitHourly: 1 } }, ({ step }) =>
    Effect.gen(function* () {
      const { sessionId } = yield* begin()
      yield* hangUp(sessionId)
      yield* TestClock.adjust("30 minutes")
      yield* step
      assert.strictEqual((yield* ask(CALLER))._tag, "RateLimited")
      yield* TestClock.adjust("31 minutes")
      assert.strictEqual((yield* ask(CALLER))._tag, "Started")
    }),
  )

  eachStep("tells a called caller the time of day by which to start", {}, ({ isoAt, step, world }) =>
    Effect.gen(function* () {
      const { sessionId } = yield* begin()
      const ticket = yield* enqueue(caller(1))
      world.connected.add(ticket)
      yield* step
      yield* hangUp(sessionId)
      const startBefore = isoAt(30_000)
      assert.deepStrictEqual(eventsOf(world, ticket).at(-1), { type: "start_call", startBefore })
      assert.strictEqual(Reflect.get(yield* statusOf(ticket), "startBefore"), startBefore)
    }),
  )

  eachStep("tells when a silent call ends as a time of day", silent, ({ isoAt, step }) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      yield* step
      yield* TestClock.adjust("60 seconds")
      const endsAt = yield* Gatekeeper.use((gate) => gate.silence(uniqueRequestId, 15_000))
      assert.strictEqual(new Date(endsAt ?? 0).toISOString(), isoAt(75_000))
      const status = yield* statusOf(uniqueRequestId)
      assert.deepStrictEqual(Reflect.get(status, "warning"), { reason: "silence", endsAt: isoAt(75_000) })
    }),
  )

  eachStep("pauses a campaign until the time of day that its operator has chosen", {}, ({ isoAt, step }) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      yield* step
      const until = Date.parse(isoAt(20 * 60_000))
      assert.deepInclude(yield* act({ type: "pause", until }), { result: "done", pausedUntil: until })
      assert.deepInclude(yield* act({ type: "pause", until }), { result: "already" })
      const status = yield* statusOf(ticket)
      assert.deepInclude(status, { paused: true, pausedUntil: isoAt(20 * 60_000) })
      const view = yield* Operator.use((operator) =>
        operator.view("default", { firstSlot: 0, slots: 10, firstPlace: 0, places: 10 }, 0),
      )
      assert.strictEqual(view?.queue?.pausedUntil, until)
      const log = yield* Operator.use((operator) => operator.auditLog("default", 0, 10))
      assert.deepStrictEqual(
        log?.lines.map(({ at }) => new Date(at).toISOString()),
        [isoAt(0), isoAt(0)],
      )
    }),
  )

  eachStep("goes on with the store's time and says how far the time of day is ahead", {}, ({ isoAt, step }) =>
    Effect.gen(function* () {
      const store = yield* Store
      yield* step
      yield* TestClock.adjust("1 second")
      const now = yield* store.now
      assert.strictEqual(now, BEGIN + 1_000)
      assert.strictEqual(new Date(now + (store.aheadMillis?.() ?? 0)).toISOString(), isoAt(1_000))
    }),
  )

  for (const [way, millis] of STEPS) {
    it.effect(`accepts webhooks that are signed by the time of day, when the clock is ${way}`, () =>
      Effect.andThen(
        TestClock.setTime(BEGIN),
        withSteppedClock((step) =>
          Effect.gen(function* () {
            const secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiBjbG9ja3M="
            const { served } = yield* serveGate({ Security: { WebhookSigningSecret: secret } })
            step(millis)
            const body = JSON.stringify({ ConversationSessionId: "unknown" })
            const statusAt = (at: number) => {
              const time = String(Math.floor(at / 1_000))
              const headers = { "webhook-id": "1", "webhook-timestamp": time }
              return Effect.map(
                call(`${served.url}/api/webhook/session-ended`, {
                  method: "POST",
                  headers: {
                    ...headers,
                    "content-type": "application/json",
                    "webhook-signature": sign(secret, "1", time, body),
                  },
                  body,
                }),
                ({ status }) => status,
              )
            }
            assert.deepStrictEqual([yield* statusAt(BEGIN + millis), yield* statusAt(BEGIN)], [200, 401])
          }).pipe(Effect.scoped),
        ),
      ),
    )
  }
})
