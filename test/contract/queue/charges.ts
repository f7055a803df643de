/**
 * What calls owe to budgets, on every store: for how long a call is charged, also one during which no gate ran, and that any gate carries the
 * charge out, also one whose settings have no budgets any more.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { layer as queueLayer } from "../../../src/fifo-queue/layer.ts"
import { MAX_UNATTENDED, UNATTENDED_MILLIS } from "../../../src/fifo-queue/rules/shared/unattended.ts"
import type { Charge } from "../../../src/protocol/settlements.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import { settingsWith } from "../../harness/settings.ts"
import { BEGIN } from "../../support/gate.ts"

/** A call begins that may last 10 minutes, by a limit of its own or by that of its slot, and a gate sweeps. */
const callOfTenMinutes = Effect.fnUntraced(function* (limit: "call" | "slot") {
  yield* TestClock.setTime(BEGIN)
  yield* setTime(BEGIN)
  const queue = yield* FifoQueue
  const at = { campaign: `charges/${yield* Random.nextInt}`, slots: 1, instance: "", charges: true as const }
  const { result: admitted } = yield* queue.admit(at, { id: "t1", caller: "192.0.2.1", network: "", data: "" })
  if (admitted._tag !== "starting") return yield* Effect.die("the only call does not start")
  const endsAt = (yield* (yield* Store).now) + 600_000
  yield* queue.bind(at, "t1", admitted.lease, {
    data: {},
    ids: ["s1"],
    ...(limit === "call" ? { limit: { endsAt } } : {}),
  })
  yield* queue.sweep(at)
  return { at, queue }
})

/** The store's time, which is set. */
let time = BEGIN
const setTime = (millis: number) =>
  Effect.sync(() => {
    time = millis
  })
const withSetClock = (store: Layer.Layer<Store>): Layer.Layer<Store> =>
  Layer.effect(
    Store,
    Effect.map(Store, (real) => ({ ...real, now: Effect.sync(() => time) })),
  ).pipe(Layer.provide(Layer.fresh(store)))

const inQueue =
  (store: Layer.Layer<Store>, MaxCallMinutes = 30) =>
  <E>(test: Effect.Effect<void, E, FifoQueue | Store>): Effect.Effect<void, E> =>
    test.pipe(
      Effect.provide(
        queueLayer.pipe(Layer.provideMerge(Layer.merge(store, settingsWith({ Queue: { MaxCallMinutes } })))),
      ),
      Effect.orDie,
    )

const secondsOf = ({ charges = [] }: { readonly charges?: ReadonlyArray<Charge> }): ReadonlyArray<number> =>
  charges.map(({ seconds }) => seconds)

/** Writes what a gate does that knows the latest time alone in which no gate ran: it has noted it (ms), or forgets it. */
const olderGate: Rule<object, { readonly from: number; readonly until: number }, boolean> = {
  name: "test.olderGate",
  run: (db, [meta = ""], _now, _context, calls) =>
    calls.map(({ from, until }) => {
      for (const [field, value] of [
        ["unattendedFrom", from],
        ["unattendedUntil", until],
      ] as const) {
        if (until === 0) db.hdel(meta, field)
        else db.hset(meta, field, String(value))
      }
      if (until > 0) db.hset(meta, "sweptAt", String(until))
      return true
    }),
  lua: `local call = cjson.decode(ARGV[3])
if call["until"] == 0 then
  redis.call("HDEL", KEYS[1], "unattendedFrom", "unattendedUntil")
else
  local till = string.format("%.0f", call["until"])
  redis.call("HSET", KEYS[1], "unattendedFrom", string.format("%.0f", call.from), "unattendedUntil", till, "sweptAt", till)
end
return "[true]"`,
  decode: Boolean,
  batch: false,
}

const asOlderGate = (campaign: string, call: { readonly from: number; readonly until: number }) =>
  Effect.flatMap(Store, (store) =>
    Effect.flatMap(store.now, (now) =>
      store.run(olderGate, { keys: keysOf(campaign).slice(0, 1), now, context: NO_CONTEXT, call }),
    ),
  )

export const charges = (store: Layer.Layer<Store>): void => {
  it.effect("a call is not charged for the time beyond its limit in which no gate ran", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("3 hours")
      yield* queue.sweep(at)
      // gates run again, and the vendor takes so long to end it
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [604])
    }).pipe(inQueue(store, 240)),
  )

  it.effect("each such time counts, also while the vendor does not end the call", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      for (const hours of ["1 hour", "30 minutes", "20 minutes"] as const) {
        yield* TestClock.adjust(hours)
        yield* queue.sweep(at)
        yield* TestClock.adjust("4 seconds")
        yield* queue.sweep(at)
      }
      // and one that is not over yet
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [612])
    }).pipe(inQueue(store, 240)),
  )

  it.effect("so many of these times are remembered, the latest ones", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("10 minutes")
      yield* queue.sweep(at)
      for (let n = 0; n < MAX_UNATTENDED + 8; n++) {
        yield* TestClock.adjust(UNATTENDED_MILLIS + 1_000)
        yield* queue.sweep(at)
      }
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [600 + 8 * 6])
    }).pipe(inQueue(store, 240)),
  )

  it.effect("a time counts that a gate has noted which knows the latest alone, and those before it", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("1 hour")
      yield* queue.sweep(at)
      const from = yield* (yield* Store).now
      yield* TestClock.adjust("30 minutes")
      yield* asOlderGate(at.campaign, { from, until: yield* (yield* Store).now })
      yield* TestClock.adjust("4 seconds")
      yield* queue.sweep(at)
      yield* TestClock.adjust("20 minutes")
      yield* queue.sweep(at)
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [604])
    }).pipe(inQueue(store, 240)),
  )

  it.effect("nothing is known any more when such a gate has found that the store's time has gone back", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("1 hour")
      yield* queue.sweep(at)
      yield* asOlderGate(at.campaign, { from: 0, until: 0 })
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [3_600])
    }).pipe(inQueue(store, 240)),
  )

  it.effect("a call that ended while no gate ran makes nobody expect a longer wait", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("3 hours")
      yield* queue.end(at, ["s1"])
      assert.strictEqual((yield* queue.sweep(at)).result.averageMillis, 600_000)
    }).pipe(inQueue(store, 240)),
  )

  it.effect("also if the end is reported before the first sweep, and the vendor's own measure comes first", () =>
    Effect.gen(function* () {
      const unswept = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(secondsOf(yield* unswept.queue.end(unswept.at, ["s1"])), [600])
      const reported = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(
        secondsOf(yield* reported.queue.end(reported.at, ["s1"], undefined, undefined, 4_000)),
        [4_000],
      )
    }).pipe(inQueue(store, 240)),
  )

  it.effect("a call without a limit of its own is charged at most the longest call", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("slot")
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(secondsOf(yield* queue.sweep(at)), [600])
    }).pipe(inQueue(store, 10)),
  )

  it.effect("while gates run, the time beyond the limit is charged", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      yield* TestClock.adjust("3 seconds")
      yield* Effect.forEach(Array.from({ length: 300 }), () =>
        Effect.andThen(queue.sweep(at), TestClock.adjust("4 seconds")),
      )
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [1_203])
    }).pipe(inQueue(store)),
  )

  it.effect("the time in which no gate ran is not known any more when the store's time has gone back", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      const sweptAfter = (seconds: number) => Effect.andThen(setTime(BEGIN + seconds * 1_000), queue.sweep(at))
      yield* sweptAfter(1_200)
      // a failover, to a server whose clock is behind
      for (let seconds = 90; seconds <= 1_000; seconds += 2) yield* sweptAfter(seconds)
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [1_000])
    }).pipe(inQueue(withSetClock(store), 240)),
  )

  it.effect("two such times that overlap, because the store's time has gone back, count once", () =>
    Effect.gen(function* () {
      const { at, queue } = yield* callOfTenMinutes("call")
      for (const seconds of [1_200, 1_170, 90]) {
        yield* setTime(BEGIN + seconds * 1_000)
        yield* queue.sweep(at)
      }
      yield* setTime(BEGIN + 1_000_000)
      assert.deepStrictEqual(secondsOf(yield* queue.end(at, ["s1"])), [600])
    }).pipe(inQueue(withSetClock(store), 240)),
  )

  it.effect(
    "the charge of a call is found by the sweeps of gates whose campaign has lost its budgets, until it is carried out",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const queue = yield* FifoQueue
        const before = { campaign: `charges/${yield* Random.nextInt}`, slots: 1, instance: "", charges: true as const }
        const { charges: _charges, ...after } = before
        const newcomer = { id: "t1", caller: "192.0.2.1", network: "", data: "" }
        const { result: admitted } = yield* queue.admit(before, newcomer)
        assert.strictEqual(admitted._tag, "starting")
        if (admitted._tag !== "starting") return
        yield* queue.bind(before, "t1", admitted.lease, { data: {}, ids: ["s1"] })
        const { charges = [] } = yield* queue.end(before, ["s1"])
        assert.strictEqual(charges.length, 1)
        const uncharged = Effect.map(queue.sweep(after), ({ result }) => result.uncharged ?? [])
        // the gate that has ended it may carry it out itself
        assert.deepStrictEqual(yield* uncharged, [])
        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual(yield* uncharged, charges)
        yield* queue.charged?.(after, charges) ?? Effect.die("nothing is charged")
        assert.deepStrictEqual(yield* uncharged, [])
      }).pipe(Effect.provide(queueLayer.pipe(Layer.provideMerge(Layer.merge(store, settingsWith({})))))),
  )
}
