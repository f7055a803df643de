/** What an operator sees: the metrics of every instance, summed in one series that outlives each of them. */
import { hostname } from "node:os"
import { expect, it } from "@effect/vitest"
import { Effect, Metric, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../src/gatekeeper/metrics.ts"
import { Operator } from "../../src/operator/Operator.ts"
import type { CountName } from "../../src/operator/shapes.ts"
import { draining as drainingRefusal, StoreUnavailable } from "../../src/protocol/refusals.ts"
import type { Store } from "../../src/store/Store.ts"
import { ask, caller, makeWorld } from "../support/gate.ts"
import { makeStore, startGate } from "../support/gates.ts"

const storeAway = new StoreUnavailable({ message: "The shared store cannot be reached." })

const given = {
  VoiceAiPlatform: { MaxConcurrency: 1 },
  Security: { ConsoleToken: "console-token-0123456789", RateLimitHourly: 0, RateLimitDaily: 0 },
}

/** An instance with metrics of its own, as a process has them. */
const instance = (store: Store["Service"]) =>
  Effect.gen(function* () {
    const registry = new Map()
    const alone = Effect.provideService(Metric.MetricRegistry, registry)
    const gate = yield* alone(startGate(makeWorld(), store, given))
    const view = Operator.use((operator) =>
      operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0),
    )
    return {
      request: (n: number) => alone(gate.on(ask(caller(n)))),
      counted: (metric: Metric.Counter<number>) => alone(Effect.map(Metric.value(metric), ({ count }) => count)),
      refuse: (body: object) => alone(gate.on(ask(caller(9), body))),
      refused: Effect.map(gate.on(Operator.use(({ campaigns }) => campaigns)), ({ campaigns, refusedElsewhere }) => ({
        campaigns: campaigns.map(({ refused }) => refused),
        elsewhere: refusedElsewhere,
      })),
      drain: alone(gate.on(Operator.use((operator) => operator.act(undefined, "me", { type: "drain" })))),
      leave: (ticket: string) => alone(gate.on(Effect.ignore(Gatekeeper.use(({ leave }) => leave(ticket))))),
      /** the sums of the last hour of the history */
      history: Effect.map(gate.on(Operator.use((operator) => operator.history(undefined, "hour"))), (found) => {
        const sums: Record<string, number> = {}
        for (const { counts } of found?.buckets ?? []) {
          for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count
        }
        return sums
      }),
      stop: gate.stop,
      instances: Effect.map(gate.on(view), (seen) => seen?.instances.length),
      /** the checks of instances that fail */
      failing: Effect.map(gate.on(view), (seen) =>
        (seen?.health ?? []).flatMap(({ name, state }) =>
          state === "failed" && name.startsWith("Inst") ? [name] : [],
        ),
      ),
      /** what the charts show of the last hour */
      shown: Effect.map(gate.on(view), (seen) => {
        const total = (name: CountName): number =>
          (seen?.buckets ?? []).reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0)
        return {
          started: total("started"),
          queued: total("queued"),
          draining: total("refused.draining"),
          store: total("refused.store_unavailable"),
        }
      }),
    }
  })

const test = (name: string, body: Effect.Effect<void, StoreUnavailable, Scope.Scope>): void => {
  it.effect(name, () => Effect.scoped(body))
}

test(
  "the charts show what the metrics of all instances counted, once, and keep it when an instance goes",
  Effect.gen(function* () {
    const store = yield* makeStore
    const one = yield* instance(store)
    const two = yield* instance(store)
    yield* one.request(1)
    yield* one.request(2)
    yield* two.request(3)
    yield* TestClock.adjust("5 seconds")
    expect([yield* one.counted(metrics.requests.queued), yield* two.counted(metrics.requests.queued)]).toEqual([1, 1])
    expect(yield* one.shown).toEqual({ started: 1, queued: 2, draining: 0, store: 0 })
    expect(yield* one.shown).toEqual(yield* two.shown)

    yield* one.stop
    yield* TestClock.adjust("1 minute")
    expect(yield* two.instances).toBe(1)
    expect(yield* two.shown).toMatchObject({ started: 1, queued: 2 })

    // it comes back with metrics that begin at nothing
    const again = yield* instance(store)
    yield* again.drain
    yield* again.request(4)
    yield* TestClock.adjust("5 seconds")
    expect(yield* again.shown).toEqual({ started: 1, queued: 2, draining: 1, store: 0 })
  }),
)

test(
  "an instance that dies is a failing check until another one starts in its place, and one that stops is not",
  Effect.gen(function* () {
    const store = yield* makeStore
    let away = false
    const mortal: Store["Service"] = {
      ...store,
      run: (rule, asked) => (away ? Effect.fail(storeAway) : store.run(rule, asked)),
    }
    const one = yield* instance(store)
    const two = yield* instance(store)
    const three = yield* instance(mortal)
    yield* TestClock.adjust("20 seconds")
    expect(yield* one.instances).toBe(3)
    yield* two.stop
    expect(yield* one.instances).toBe(2)
    away = true
    yield* three.stop
    yield* TestClock.adjust("10 seconds")
    expect(yield* one.failing).toEqual([])
    yield* TestClock.adjust("10 seconds")
    expect(yield* one.failing).toEqual([`Instance ${hostname()}`])
    yield* instance(store)
    yield* TestClock.adjust("3 seconds")
    expect(yield* one.failing).toEqual([])
  }),
)

test(
  "after a time without the store, the instances that have not reported yet do not count as dead",
  Effect.gen(function* () {
    const store = yield* makeStore
    let away = false
    let slow = false
    const flaky = (isSlow: () => boolean): Store["Service"] => ({
      ...store,
      run: (rule, asked) => (away || isSlow() ? Effect.fail(storeAway) : store.run(rule, asked)),
    })
    const one = yield* instance(flaky(() => false))
    yield* instance(flaky(() => slow))
    yield* TestClock.adjust("20 seconds")
    away = true
    yield* TestClock.adjust("1 minute")
    slow = true
    away = false
    yield* TestClock.adjust("5 seconds")
    expect(yield* one.failing).toEqual([])
    slow = false
    yield* TestClock.adjust("20 seconds")
    expect(yield* one.failing).toEqual([])
  }),
)

test(
  "refusals are shown by campaign and reason, summed over all instances, and are the numbers of the metrics",
  Effect.gen(function* () {
    const store = yield* makeStore
    const one = yield* instance(store)
    const two = yield* instance(store)
    yield* one.drain
    yield* one.request(1)
    yield* two.request(2)
    yield* two.request(3)
    yield* two.refuse({ campaignId: "nobody" })
    yield* two.refuse({ regionId: "mars" })
    yield* TestClock.adjust("5 seconds")
    const shown = {
      campaigns: [{ draining: 3, invalid: 1 }],
      elsewhere: { invalid: 1 },
    }
    expect(yield* one.refused).toEqual(shown)
    expect(yield* two.refused).toEqual(shown)
    const draining = metrics.refused("default", drainingRefusal())
    expect([yield* one.counted(draining), yield* two.counted(draining)]).toEqual([1, 2])
    // what a caller sends names no series
    expect([...metrics.refusedSeries().keys()].filter((name) => name.includes("nobody"))).toEqual([])
  }),
)

test(
  "what was counted while the store was away is shown when it is back",
  Effect.gen(function* () {
    const store = yield* makeStore
    let away = false
    const flaky: Store["Service"] = {
      ...store,
      run: (rule, asked) => (away ? Effect.fail(storeAway) : store.run(rule, asked)),
    }
    const one = yield* instance(flaky)
    yield* one.request(1)
    yield* TestClock.adjust("5 seconds")
    away = true
    yield* one.request(2)
    yield* TestClock.adjust("20 seconds")
    away = false
    yield* TestClock.adjust("5 seconds")
    expect(yield* one.shown).toEqual({ started: 1, queued: 0, draining: 0, store: 1 })
  }),
)

test(
  "the history has what the metrics of all instances counted, once, also after a time without the store, and keeps it when an instance goes",
  Effect.gen(function* () {
    const store = yield* makeStore
    let away = false
    const flaky: Store["Service"] = {
      ...store,
      run: (rule, asked) => (away ? Effect.fail(storeAway) : store.run(rule, asked)),
    }
    const one = yield* instance(store)
    const two = yield* instance(flaky)
    yield* one.request(1)
    const waiting = yield* two.request(2)
    yield* two.request(3)
    yield* TestClock.adjust("12 seconds")
    expect(yield* one.history).toMatchObject({ "max.waiting": 2, "max.held": 1, "max.slots": 1 })
    yield* two.leave("uniqueRequestId" in waiting ? waiting.uniqueRequestId : "")
    yield* one.drain
    yield* one.request(4)
    yield* two.request(5)
    away = true
    yield* TestClock.adjust("24 seconds")
    away = false
    yield* TestClock.adjust("12 seconds")
    expect(yield* one.history).toMatchObject({ "over.left": 1, "refused.draining": 2 })
    expect(yield* two.history).toEqual(yield* one.history)
    yield* one.stop
    yield* two.stop
    const again = yield* instance(store)
    yield* TestClock.adjust("2 seconds")
    expect(yield* again.history).toMatchObject({ "over.left": 1, "refused.draining": 2 })
  }),
)
