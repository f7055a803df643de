/**
 * What the gate learns of the platform is one state: callers, the operator, the log, the metrics and readiness are told the same, and
 * nobody loses a place.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { WATCH_MILLIS } from "../../src/fifo-queue/rules/shared/platform-state.ts"
import { AUDIT_AGE_MILLIS, AUDIT_MILLIS } from "../../src/gatekeeper/background/audit.ts"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../src/gatekeeper/metrics.ts"
import { LASTING_MILLIS } from "../../src/gatekeeper/PlatformStates.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { refused } from "../../src/platform-api/errors.ts"
import type { Finding } from "../../src/platform-api/model.ts"
import {
  ask,
  atCapacity,
  begin,
  caller,
  enqueue,
  type GateServices,
  gateLayer,
  hangUp,
  makeWorld,
  platformRefusesRequest,
  session,
  start,
  stateOf,
  type World,
} from "../support/gate.ts"
import { type RecordedLog, recordingLogger } from "../support/log.ts"

const WAITING = 30
const BEGIN = 1_800_000_000_000
const NO_PAGES = { firstSlot: 0, slots: 0, firstPlace: 0, places: 0 }

const stateTest = (
  name: string,
  given: Parameters<typeof gateLayer>[1],
  body: (world: World, log: RecordedLog) => Effect.Effect<void, unknown, GateServices | Scope.Scope>,
): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      const world = makeWorld()
      const { log, logger } = recordingLogger()
      yield* TestClock.setTime(BEGIN)
      yield* Effect.provide(body(world, log), Layer.provideMerge(gateLayer(world, given), Logger.layer([logger])))
    }),
  )
}

const keyRevoked = refused(401, "API_KEY_INVALID", "The key was revoked.")
const dead: ReadonlyArray<Finding> = [
  {
    subject: "platform",
    state: "failed",
    detail: "BaseUrl: cannot connect",
    fault: { state: "unavailable", code: "unreachable", setting: "" },
  },
]
const alive: ReadonlyArray<Finding> = [{ subject: "platform", state: "ok", detail: "reachable" }]

const platformFor = Effect.flatMap(Operator, (operator) =>
  Effect.map(operator.view(undefined, NO_PAGES, 0), (view) => view?.queue?.platform),
)
const told = Gatekeeper.use((gate) => gate.platformStates)

/** The value of each series of a metric, by its labels. */
const series = (name: string) =>
  Effect.map(Metric.snapshot, (all) =>
    Object.fromEntries(
      all.flatMap(({ attributes, id, state }) =>
        id === name && "value" in state ? [[Object.values(attributes ?? {}).join(" "), Number(state.value)]] : [],
      ),
    ),
  )

const ticketsWaiting = Effect.fnUntraced(function* (world: World, count: number) {
  const tickets = yield* Effect.forEach(
    Array.from({ length: count }, (_, n) => n + 10),
    (n) => enqueue(caller(n)),
  )
  for (const ticket of tickets) world.connected.add(ticket)
  return tickets
})

/** The last position that the ticket's page was sent. */
const lastPushed = (world: World, ticket: string) => world.pushed.findLast(([to]) => to === ticket)?.[1]

/** Called callers start at once, as the widget does when it may. */
const startCalled = Effect.fnUntraced(function* (tickets: ReadonlyArray<string>) {
  for (const ticket of tickets) if ((yield* stateOf(ticket)) === "called") yield* start(ticket)
})

describe("a platform that refuses the key", () => {
  stateTest(
    "empties no queue: all keep their places, are told, and are served when the key is accepted again",
    { VoiceAiPlatform: { MaxConcurrency: 3 } },
    (world, log) =>
      Effect.gen(function* () {
        for (let n = 1; n <= 3; n++) yield* begin(caller(n))
        const tickets = yield* ticketsWaiting(world, WAITING)
        world.initiate = () => Effect.fail(keyRevoked)
        for (let n = 1; n <= 3; n++) yield* hangUp(`web-${n}`)
        for (let second = 0; second < 120; second++) {
          yield* startCalled(tickets)
          yield* TestClock.adjust("1 second")
        }
        const states = yield* Effect.forEach(tickets, stateOf)
        expect(new Set(states)).toEqual(
          states.includes("called") ? new Set(["waiting", "called"]) : new Set(["waiting"]),
        )
        expect(states.filter((state) => state === "called").length).toBeLessThanOrEqual(1)
        // a refused key is asked for again with growing pauses
        expect(world.initiated.length).toBeLessThan(3 + 30)

        const setting = "VoiceAiPlatform.ApiSecretToken"
        expect(yield* platformFor).toMatchObject({ state: "rejected", code: "API_KEY_INVALID", setting })
        expect(yield* told).toEqual({ default: "rejected" })
        expect(yield* series("voicegate_platform_state")).toMatchObject({ "default rejected": 1, "default ok": 0 })
        expect(yield* series("voicegate_platform_rejected")).toMatchObject({
          [`default API_KEY_INVALID ${setting}`]: 1,
        })
        expect(log.at("ERROR")).toContainEqual(
          expect.stringMatching(
            /^The platform refuses campaign default \(API_KEY_INVALID\): check VoiceAiPlatform\.ApiSecretToken\./,
          ),
        )
        expect(log.annotated("The platform did not start a session: The key was revoked.")).toMatchObject({
          campaign: "default",
          code: "API_KEY_INVALID",
          setting,
          ticket: expect.stringMatching(/^[0-9a-f]{10}$/),
        })
        expect(lastPushed(world, tickets.at(-1) ?? "")).toMatchObject({ type: "position", disrupted: true })
        expect(yield* ask(caller(100))).toMatchObject({ _tag: "Queued", disrupted: true, estimatedWaitSeconds: null })

        world.initiate = (n) => Effect.succeed(session(n))
        for (let second = 0; second < 20; second++) {
          yield* startCalled(tickets)
          yield* TestClock.adjust("1 second")
        }
        expect(yield* Effect.forEach(tickets.slice(0, 3), stateOf)).toEqual(["live", "live", "live"])
        expect(yield* platformFor).toBeUndefined()
        expect(yield* told).toEqual({})
        expect(yield* series("voicegate_platform_rejected")).toMatchObject({
          [`default API_KEY_INVALID ${setting}`]: 0,
        })
        expect(log.at("INFO")).toContainEqual(
          expect.stringMatching(/^The platform accepts campaign default again, after \d+ s\./),
        )
        expect(lastPushed(world, tickets.at(-1) ?? "")).not.toHaveProperty("disrupted")
      }),
  )

  stateTest("keeps the place of a newcomer, too", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(keyRevoked)
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "Queued", queuePosition: 1, disrupted: true })
    }),
  )

  stateTest("is told apart from a caller whose request is refused", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(platformRefusesRequest)
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "PlatformUnavailable", kind: "refused" })
      expect(yield* platformFor).toBeUndefined()
    }),
  )

  stateTest(
    "is noticed too when it refuses what every caller sends: from the third caller on, callers wait",
    {},
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => Effect.fail(platformRefusesRequest)
        for (let n = 1; n <= 2; n++) {
          expect(yield* ask(`8.8.${n}.8`)).toMatchObject({ _tag: "PlatformUnavailable", kind: "refused" })
        }
        expect(yield* ask("8.8.3.8")).toMatchObject({ _tag: "Queued", queuePosition: 1, disrupted: true })
        const setting = "VoiceAiPlatform.WebCampaignId"
        expect(yield* platformFor).toMatchObject({ state: "rejected", code: "INVALID_FORMAT", setting })
      }),
  )
})

describe("a platform that dies while every slot is held", () => {
  stateTest(
    "is noticed by reading it: callers, operator, log, metrics and readiness are told",
    { VoiceAiPlatform: { MaxConcurrency: 3 } },
    (world, log) =>
      Effect.gen(function* () {
        world.verify = () => Effect.succeed(alive)
        for (let n = 1; n <= 3; n++) yield* begin(caller(n))
        yield* TestClock.adjust("20 seconds")
        yield* hangUp("web-1")
        yield* begin(caller(4))
        const tickets = yield* ticketsWaiting(world, WAITING)
        expect(yield* ask(caller(99))).toMatchObject({
          _tag: "Queued",
          disrupted: false,
          estimatedWaitSeconds: expect.any(Number),
        })

        world.verify = () => Effect.succeed(dead)
        yield* TestClock.adjust(`${WATCH_MILLIS + 5_000} millis`)
        expect(yield* platformFor).toMatchObject({ state: "unavailable", code: "unreachable" })
        expect(yield* told).toEqual({ default: "unavailable" })
        expect(yield* series("voicegate_platform_state")).toMatchObject({ "default unavailable": 1, "default ok": 0 })
        expect(log.at("WARN")).toContainEqual(
          expect.stringMatching(
            /^The platform cannot be reached for campaign default \(unreachable\): "voicegate check"/,
          ),
        )
        for (const ticket of tickets)
          expect(lastPushed(world, ticket)).toMatchObject({ disrupted: true, estimatedWaitSeconds: null })
        expect(yield* ask(caller(100))).toMatchObject({ _tag: "Queued", disrupted: true, estimatedWaitSeconds: null })

        world.verify = () => Effect.succeed(alive)
        yield* TestClock.adjust(`${WATCH_MILLIS + 5_000} millis`)
        expect(yield* platformFor).toBeUndefined()
        expect(log.at("INFO")).toContainEqual(
          expect.stringMatching(/^The platform can be reached again for campaign default, after \d+ s\./),
        )
        expect(lastPushed(world, tickets[0] ?? "")).not.toHaveProperty("disrupted")
        expect(yield* Effect.forEach(tickets, stateOf)).toEqual(tickets.map(() => "waiting"))
      }),
  )

  stateTest("is read about once in five seconds while callers wait, however many sweeps there are", {}, (world) =>
    Effect.gen(function* () {
      let reads = 0
      world.verify = () => {
        reads++
        return Effect.succeed(alive)
      }
      yield* begin(caller(1))
      yield* enqueue(caller(2))
      yield* TestClock.adjust("25 seconds")
      expect(reads).toBeGreaterThan(1)
      expect(reads).toBeLessThanOrEqual(5)
    }),
  )

  stateTest("is not read while nobody waits and no slot is held", {}, (world) =>
    Effect.gen(function* () {
      let reads = 0
      world.verify = () => {
        reads++
        return Effect.succeed(alive)
      }
      yield* TestClock.adjust("10 minutes")
      expect(reads).toBe(0)
    }),
  )
})

describe("a platform that is full all the time", () => {
  stateTest(
    "is told after some seconds: in the log, the metrics and to the operator, with an estimate that is honest",
    { VoiceAiPlatform: { MaxConcurrency: 3 } },
    (world, log) =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        yield* TestClock.adjust("10 seconds")
        yield* hangUp("web-1")
        world.initiate = () => Effect.fail(atCapacity)
        const tickets = yield* ticketsWaiting(world, WAITING)
        expect(log.at("WARN").filter((line) => line.includes("no free slot"))).toEqual([])
        for (let second = 0; second < LASTING_MILLIS / 1000 + 20; second++) {
          yield* startCalled(tickets)
          yield* TestClock.adjust("1 second")
        }
        expect(yield* platformFor).toMatchObject({ state: "at_capacity" })
        expect(yield* told).toEqual({ default: "at_capacity" })
        expect(yield* series("voicegate_platform_state")).toMatchObject({ "default at_capacity": 1, "default ok": 0 })
        expect(log.at("WARN").filter((line) => line.includes("has had no free slot for campaign default")).length).toBe(
          1,
        )
        expect(yield* ask(caller(100))).toMatchObject({ _tag: "Queued", disrupted: false, estimatedWaitSeconds: null })
        expect(yield* Effect.forEach(tickets.slice(1), stateOf)).toEqual(tickets.slice(1).map(() => "waiting"))

        world.initiate = (n) => Effect.succeed(session(n))
        for (let second = 0; second < 10; second++) {
          yield* startCalled(tickets)
          yield* TestClock.adjust("1 second")
        }
        expect(yield* stateOf(tickets[0] ?? "")).toBe("live")
        expect(yield* platformFor).toBeUndefined()
        expect(log.at("INFO")).toContainEqual(
          expect.stringMatching(/^The platform is no longer at capacity for campaign default, after \d+ s\./),
        )
      }),
  )
})

describe("a platform that does not report the ends of calls", () => {
  const slots = { VoiceAiPlatform: { MaxConcurrency: 10 } }
  const webhooksReleased = Effect.map(Metric.value(metrics.webhooks("released")), ({ count }) => count)
  /** Three calls that begin now, end unreported, and are found by two audits. */
  const threeUnreported = Effect.fnUntraced(function* (world: World) {
    world.sessionStatus = () => Effect.succeed("over")
    yield* begin(caller(1))
    yield* begin(caller(2))
    yield* TestClock.adjust(AUDIT_MILLIS)
    yield* begin(caller(3))
    yield* TestClock.adjust(AUDIT_AGE_MILLIS + 2 * AUDIT_MILLIS)
  })

  stateTest(
    "is told to the operator, in log and metrics, while callers are served, until the next webhook",
    slots,
    (world, log) =>
      Effect.gen(function* () {
        world.reportsEnds = true
        const before = yield* webhooksReleased
        yield* threeUnreported(world)
        expect(yield* told).toEqual({ default: "webhooks_missing" })
        expect(yield* platformFor).toMatchObject({ state: "webhooks_missing" })
        expect(yield* series("voicegate_platform_state")).toMatchObject({
          "default webhooks_missing": 1,
          "default ok": 0,
        })
        const lines = log.at("WARN").filter((line) => line.includes("does not report the ends of calls"))
        expect(lines.length).toBe(1)
        expect(lines[0]).toContain("campaign default")
        expect(lines[0]).toContain("webhook's address and secret")
        // what an audit has freed is no webhook
        expect(yield* webhooksReleased).toBe(before)
        for (let n = 4; n <= 12; n++) yield* begin(caller(n))
        expect(world.initiated.length).toBe(12)

        expect(yield* hangUp("web-4")).toBe(true)
        yield* TestClock.adjust("2 seconds")
        expect(yield* told).toEqual({})
        expect(yield* platformFor).toBeUndefined()
        expect(yield* series("voicegate_platform_state")).toMatchObject({
          "default webhooks_missing": 0,
          "default ok": 1,
        })
        expect(log.at("INFO")).toContainEqual(
          expect.stringMatching(/^The platform reports the ends of calls again for campaign default, after \d+ s\./),
        )
      }),
  )

  stateTest("does what is expected when the gate accepts no webhooks", slots, (world) =>
    Effect.gen(function* () {
      yield* threeUnreported(world)
      expect(yield* told).toEqual({})
    }),
  )

  stateTest("does what is expected when nobody had opened the sessions", slots, (world) =>
    Effect.gen(function* () {
      world.reportsEnds = true
      world.opened = () => false
      yield* threeUnreported(world)
      expect(yield* told).toEqual({})
    }),
  )

  stateTest(
    "is noticed by calls that the audit has seen running, where the platform tells nothing of those that are over",
    slots,
    (world) =>
      Effect.gen(function* () {
        world.reportsEnds = true
        for (let n = 1; n <= 3; n++) yield* begin(caller(n))
        yield* TestClock.adjust(AUDIT_AGE_MILLIS + 2 * AUDIT_MILLIS)
        world.opened = () => false
        world.sessionStatus = () => Effect.succeed("over")
        yield* TestClock.adjust(4 * AUDIT_MILLIS)
        expect(yield* told).toEqual({ default: "webhooks_missing" })
      }),
  )
})
