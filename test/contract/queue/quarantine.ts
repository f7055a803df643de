/** An invalid record stops nothing but itself. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { MAX_QUARANTINED } from "../../../src/fifo-queue/rules/shared/load.ts"
import type { CampaignContext } from "../../../src/fifo-queue/step.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import { LONGEST_CALL, type QueueTest } from "./harness.ts"

/** The keys by name, as in `fifo-queue/rules/shared/keys.ts`, from 1. */
const KEYS = {
  meta: 1,
  tickets: 2,
  data: 3,
  waiting: 4,
  presence: 5,
  leases: 6,
  sessions: 7,
  endedSessions: 8,
  forget: 9,
  settlements: 10,
  passed: 11,
  parked: 13,
  gates: 14,
  auditLog: 16,
  unpaid: 27,
}
type Key = keyof typeof KEYS
const hashes: ReadonlyArray<Key> = ["meta", "tickets", "data", "sessions"]

interface Write {
  /** index in `KEYS` */
  readonly key: number
  readonly isHash: boolean
  /** field and value each, or member and score; without a score it is removed */
  readonly pairs: ReadonlyArray<readonly [string, string]>
}

/** Writes into a key of a campaign. */
const write: Rule<object, Write, true> = {
  name: "test.write",
  lua: `-- test.write
local call = cjson.decode(ARGV[3])
local key = KEYS[call.key]
for _, pair in ipairs(call.pairs) do
  if call.isHash then
    redis.call('HSET', key, pair[1], pair[2])
  elseif pair[2] == '' then
    redis.call('ZREM', key, pair[1])
  else
    redis.call('ZADD', key, pair[2], pair[1])
  end
end
return '[true]'
`,
  run: (db, keys, _now, _context, calls) =>
    calls.map(({ isHash, key: n, pairs }) => {
      const key = keys[n - 1] ?? ""
      for (const [one, other] of pairs) {
        if (isHash) db.hset(key, one, other)
        else if (other === "") db.zrem(key, one)
        else db.zadd(key, Number(other), one)
      }
      return true
    }),
  decode: () => true,
  batch: false,
}

/** The number of quarantined records. */
const kept: Rule<object, object, number> = {
  name: "test.kept",
  lua: `-- test.kept
return cjson.encode({redis.call('ZCARD', KEYS[15])})
`,
  run: (db, keys) => [db.zcard(keys[14] ?? "")],
  decode: Number,
  batch: false,
}

/** A valid record with some fields replaced. */
const record = (fields: object): string => JSON.stringify({ state: "waiting", seq: 1, accepted: 0, ...fields })
const liveRecord = (fields: object): string =>
  record({ state: "live", lease: "1", since: 0, sessions: ["a session"], ...fields })

/** Values that no gate ever writes. */
const JUNK = ["", "junk", "[", "{}", "[]", "null", "7", "\u0000\uffff"]
/** Values that no gate ever writes into a record. */
const RECORDS = [
  '["waiting"]',
  // as version 1 wrote it
  '["w","1","0","","","0","0"]',
  '{"state":"waiting"}',
  record({ seq: "x" }),
  record({ state: "queued" }),
  record({ accepted: null }),
  // fields that are not numbers
  '{"state":"waiting","seq":NaN,"accepted":0}',
  '{"state":"waiting","seq":1e999,"accepted":0}',
  '{"state":"waiting","seq":1,"accepted":-Infinity}',
  // a slot without a lease, and without its time
  record({ state: "called", since: 0 }),
  record({ state: "starting", lease: "1" }),
  record({ caller: 7, network: {} }),
  record({ holds: "yes" }),
  record({ strikes: "3" }),
  // a session without ids
  liveRecord({ sessions: undefined }),
  liveRecord({ sessions: [] }),
  liveRecord({ sessions: { 1: "a session" } }),
  liveRecord({ sessions: "a session" }),
  liveRecord({ sessions: ["a session", 7, null, {}] }),
]
/** Data that no gate ever writes next to a ticket. */
const DATA = ['{"s":7}', '{"s":[7,null]}']

export const quarantine = (test: QueueTest): void => {
  const bench = (q: { readonly at: () => CampaignContext }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const queue = yield* FifoQueue
      const keys = keysOf(q.at().campaign)
      const result = <A>(step: Effect.Effect<{ readonly result: A }, unknown>) =>
        Effect.map(step, (each) => each.result)
      return {
        put: (key: Key, ...pairs: ReadonlyArray<string | number>) => {
          const written = Array.from(
            { length: pairs.length / 2 },
            (_, i) => [String(pairs[2 * i]), String(pairs[2 * i + 1])] as const,
          )
          const call = { key: KEYS[key], isHash: hashes.includes(key), pairs: written }
          return store.run(write, { keys, now: 0, context: NO_CONTEXT, call })
        },
        kept: store.run(kept, { keys, now: 0, context: NO_CONTEXT, call: {} }),
        admit: (id: string) => result(queue.admit(q.at(), { id, caller: "c", holds: true, network: "n", data: "{}" })),
        start: (id: string) => result(queue.start(q.at(), id)),
        bind: (id: string, lease: string) =>
          result(queue.bind(q.at(), id, lease, { ids: [`session of ${id}`], data: { url: "u" } })),
        end: (id: string) => result(queue.end(q.at(), [`session of ${id}`])),
        attach: (id: string) => result(queue.attach(q.at(), id, true)),
        sweep: Effect.suspend(() => result(queue.sweep(q.at()))),
        queue,
        result,
      }
    })
  type Bench = Effect.Success<ReturnType<typeof bench>>

  /** A newcomer whose session runs at once. */
  const live = Effect.fnUntraced(function* (b: Bench, id: string) {
    const admitted = yield* b.admit(id)
    assert.strictEqual(admitted._tag, "starting")
    assert.strictEqual(yield* b.bind(id, admitted._tag === "starting" ? admitted.lease : ""), "live")
  })

  test(
    "a presence that is neither a time nor a gate's number ends no sweep, and its ticket keeps the place",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        const b = yield* bench(q)
        yield* live(b, "t1")
        for (const id of ["t2", "t3", "t4"]) yield* b.admit(id)
        yield* b.sweep
        yield* b.put("presence", "t2", "Infinity", "t3", 2 ** 53, "t4", 2 ** 53 - 1)
        assert.isFalse((yield* b.sweep).more)
        for (const id of ["t2", "t3", "t4"]) assert.strictEqual((yield* b.attach(id))._tag, "waiting")
      }),
  )

  test("an id without a ticket at the head of the queue does not stop a webhook", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      yield* b.put("waiting", "junk", 0)
      assert.strictEqual((yield* b.admit("t2"))._tag, "waiting")
      assert.strictEqual(yield* b.end("t1"), "released")
      assert.strictEqual((yield* b.attach("t2"))._tag, "called")
      const swept = yield* b.sweep
      assert.deepStrictEqual(swept.quarantined, { count: 1, at: yield* (yield* Store).now, key: "waiting" })
      assert.deepStrictEqual([swept.waiting, swept.leases, swept.live], [0, 1, 0])
      assert.strictEqual(yield* b.kept, 1)
    }),
  )

  test("a ticket with an invalid record is not called, and is unknown to queries", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      for (const id of ["t2", "t3", "t4"]) yield* b.admit(id)
      yield* b.put("tickets", "t2", "junk", "t3", '{"state":"waiting","seq":2}')
      assert.strictEqual((yield* b.attach("t2"))._tag, "unknown")
      assert.strictEqual(yield* b.end("t1"), "released")
      assert.strictEqual((yield* b.attach("t3"))._tag, "unknown")
      assert.strictEqual((yield* b.attach("t4"))._tag, "called")
    }),
  )

  test("a slot with an invalid ticket is free, and counted as free", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      yield* live(b, "t2")
      assert.strictEqual((yield* b.admit("t3"))._tag, "waiting")
      yield* b.put("tickets", "t1", "junk")
      // an unknown session's end frees nothing
      assert.strictEqual(yield* b.end("t1"), "unknown")
      yield* b.queue.audit(q.at(), 0, 60_000)
      yield* b.sweep
      const swept = yield* b.sweep
      assert.deepStrictEqual([swept.leases, swept.live], [2, 1])
      assert.strictEqual((yield* b.attach("t3"))._tag, "called")
    }),
  )

  test("a lease without a ticket is freed at its deadline", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* b.sweep
      yield* b.put("leases", "junk", 1_000)
      assert.strictEqual((yield* b.admit("t1"))._tag, "waiting")
      yield* TestClock.adjust(1_001)
      yield* b.sweep
      assert.strictEqual((yield* b.attach("t1"))._tag, "called")
    }),
  )

  for (const [what, data] of [
    ["is none", "junk"],
    ["names none", '{"url":"u"}'],
    ["is another thing", '{"url":"u","s":7}'],
  ] as const) {
    test(`a live ticket whose session ${what} has failed`, { slots: 1 }, (q) =>
      Effect.gen(function* () {
        const b = yield* bench(q)
        yield* live(b, "t1")
        yield* b.admit("t2")
        yield* b.put("data", "t1", data)
        assert.deepStrictEqual(yield* b.attach("t1"), { _tag: "ended", state: "failed" })
        assert.strictEqual((yield* b.attach("t2"))._tag, "called")
        // the end of the session is known, and frees nothing
        assert.strictEqual(yield* b.end("t1"), "repeat")
      }),
    )
  }

  test("a live ticket whose record names no session is unknown, and its slot is free", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      yield* b.admit("t2")
      yield* b.put("tickets", "t1", liveRecord({ sessions: undefined }))
      assert.strictEqual((yield* b.attach("t1"))._tag, "unknown")
      yield* b.sweep
      assert.strictEqual((yield* b.attach("t2"))._tag, "called")
      assert.strictEqual((yield* b.sweep).live, 0)
    }),
  )

  test("an invalid settlement is not carried out forever", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* b.put("settlements", "junk", 0, "refund", 0, "refund t1 c", 0, "refund  t1 c", 0, "refund t2\tc", 0)
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual((yield* b.sweep).owed, [{ kind: "refund", ticket: "t1", caller: "c" }])
      assert.strictEqual((yield* b.sweep).quarantined.count, 4)
    }),
  )

  test("an invalid entry in `passed`, even if it names a ticket, causes no endless work", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      yield* b.admit("t2")
      yield* b.put("passed", "x t2", 0, "t2", 0, " t2", 0, "a b  t2", 0, " a\tb t2", 0)
      assert.strictEqual(yield* b.end("t1"), "released")
      assert.strictEqual((yield* b.attach("t2"))._tag, "called")
    }),
  )

  test("a record with the required fields only is a ticket's", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      const admitted = yield* b.admit("t1")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      yield* b.put("tickets", "t1", JSON.stringify({ state: "starting", seq: 1, lease, since: 0, accepted: 0 }))
      const told = yield* b.result(b.queue.fail(q.at(), "t1", lease, { _tag: "answered" }))
      assert.strictEqual(told._tag, "waiting")
      assert.strictEqual((yield* b.attach("t1"))._tag, "waiting")
      assert.strictEqual((yield* b.sweep).quarantined.count, 0)
    }),
  )

  test("a waiting ticket missing from the queue gets its place back when its page attaches", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      yield* b.admit("t2")
      yield* b.admit("t3")
      yield* b.put("waiting", "t2", "")
      assert.deepInclude(yield* b.attach("t3"), { _tag: "waiting", position: 1 })
      assert.deepInclude(yield* b.attach("t2"), { _tag: "waiting", position: 1 })
      yield* b.sweep
      yield* b.end("t1")
      assert.strictEqual((yield* b.attach("t2"))._tag, "called")
    }),
  )

  test("a value that is not a finite number counts as absent, and no step fails half-way", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      yield* live(b, "t1")
      yield* b.admit("t2")
      for (const junk of ["1e400", "-1e400", "nan", "junk"]) {
        for (const field of ["averageMillis", "quarantined", "backoffUntil", "probeUntil", "passedSeq", "sweptAt"]) {
          yield* b.put("meta", field, junk)
          assert.deepInclude(yield* b.attach("t2"), { _tag: "waiting", position: 1, averageMillis: 0 })
          const swept = yield* b.sweep
          assert.deepStrictEqual([swept.waiting, swept.leases, swept.averageMillis], [1, 1, 0])
          yield* b.put("meta", field, 0)
        }
      }
      yield* b.put("tickets", "t3", '{"state":"waiting","seq":3,"accepted":1,"note":1e400}')
      assert.deepStrictEqual(yield* b.attach("t3"), { _tag: "unknown" })
      yield* b.end("t1")
      assert.strictEqual((yield* b.attach("t2"))._tag, "called")
    }),
  )

  test("a wrong place in the queue does not keep sweeps busy", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      const admit = (id: string, network: string) =>
        b.result(b.queue.admit(q.at(), { id, caller: "", holds: false, network, data: "" }))
      yield* admit("h1", "n")
      for (const id of ["h2", "h3", "h4"]) yield* admit(id, "")
      yield* admit("w1", "n")
      yield* admit("w2", "n")
      yield* admit("w3", "m")
      yield* b.put("waiting", "w1", 7)
      yield* b.queue.withdraw(q.at(), ["h2"])
      const swept = yield* b.sweep
      assert.deepStrictEqual([swept.more, swept.leases], [false, 4])
    }),
  )

  test("a removed campaign is cleared even if its counts are wrong and a record is orphaned", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      for (const id of ["t1", "t2", "t3"]) yield* live(b, id)
      for (const id of ["t4", "t5"]) yield* b.admit(id)
      yield* b.sweep
      yield* b.put("tickets", "t1", "junk", "t2", "junk")
      yield* b.put("waiting", "t5", "")
      yield* b.put("presence", "t5", "")
      yield* b.queue.audit(q.at(), 0, 1)
      yield* b.end("t3")
      assert.strictEqual((yield* b.attach("t4"))._tag, "called")
      for (let hours = 0; hours < 3; hours++) {
        yield* TestClock.adjust(60 * 60_000)
        const cleared = yield* b.result(b.queue.clear(q.at(), 60_000))
        if (cleared._tag === "cleared") yield* b.queue.acknowledge(q.at(), cleared.owed)
      }
      const last = yield* b.result(b.queue.clear(q.at(), 60_000))
      assert.deepInclude(last, { _tag: "cleared", left: false, leases: 0, waiting: 0 })
    }),
  )

  for (const field of [
    "backoffUntil",
    "averageMillis",
    "live",
    "probeUntil",
    "sweptAt",
    "graceUntil",
    "passedSeq",
    "disrupted",
    "withdrawnUntil",
    "started",
  ]) {
    test(`a value of ${field} that is not a number counts as absent`, { slots: 1 }, (q) =>
      Effect.gen(function* () {
        const b = yield* bench(q)
        yield* live(b, "t1")
        yield* b.admit("t2")
        yield* b.put("meta", field, "junk")
        assert.strictEqual((yield* b.admit("t3"))._tag, "waiting")
        assert.strictEqual((yield* b.attach("t2"))._tag, "waiting")
        yield* b.sweep
        // Redis rejects increments of such values until they are deleted
        if (field !== "live") assert.strictEqual(yield* b.end("t1"), "released")
      }),
    )
  }

  test("the last hundred invalid records are kept", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const b = yield* bench(q)
      for (let n = 0; n < MAX_QUARANTINED + 50; n++) yield* b.put("waiting", `junk ${n}`, n)
      yield* b.sweep
      assert.strictEqual((yield* b.sweep).quarantined.count, MAX_QUARANTINED + 50)
      assert.strictEqual(yield* b.kept, MAX_QUARANTINED)
    }),
  )

  for (const key of Object.keys(KEYS).filter((name): name is Key => name in KEYS && name !== "meta")) {
    test(
      `whatever a record of ${key} contains, every step succeeds, and in the end all slots are free`,
      { slots: 3 },
      (q) =>
        Effect.gen(function* () {
          const b = yield* bench(q)
          const { queue } = b
          const remaining = Effect.map(b.sweep, ({ doubts, leases, live, waiting }) => [waiting, leases, live, doubts])
          let id = 0
          const own = key === "tickets" ? RECORDS : key === "data" ? DATA : []
          for (const junk of [...JUNK, ...own]) {
            const [held, called, waits, more] = [`t${id++}`, `t${id++}`, `t${id++}`, `t${id++}`]
            yield* live(b, held)
            yield* live(b, `${held}.2`)
            yield* live(b, `${held}.3`)
            for (const each of [called, waits, more]) yield* b.admit(each)
            yield* b.end(`${held}.2`)
            const now = yield* (yield* Store).now
            if (hashes.includes(key)) {
              for (const each of [held, called, waits, "?1", `session of ${held}`]) yield* b.put(key, each, junk)
            } else {
              yield* b.put(key, junk, now - 1, `${junk} later`, now + 60_000)
            }
            yield* queue.doubts(q.at(), 0, 1)
            yield* queue.resolve(q.at(), "?1", [["elsewhere"]])
            yield* queue.heartbeat(q.at(), [held, called, waits, more, junk])
            for (const each of [called, waits, more, held]) {
              yield* b.attach(each)
              const start = yield* b.start(each)
              if (start._tag === "starting") yield* queue.fail(q.at(), each, start.lease, { _tag: "doubt" })
            }
            yield* queue.alias(q.at(), `session of ${held}`, ["other"])
            yield* queue.operator.snapshot(q.at(), { firstSlot: 0, slots: 100, firstPlace: 0, places: 100 })
            yield* queue.operator.act(q.at(), "me", { type: "call" })
            yield* queue.audit(q.at(), 0, 1)
            yield* queue.leave(q.at(), waits)
            yield* queue.withdraw(q.at(), [more])
            yield* b.end(held)
            yield* b.end(`${held}.3`)
            yield* b.sweep
            // running sessions, doubts and orphans are freed by their deadlines; nobody starts or stays present
            for (const millis of [LONGEST_CALL, LONGEST_CALL]) {
              yield* TestClock.adjust(millis)
              yield* b.sweep
            }
            let left = yield* remaining
            for (let seconds = 0; seconds < 150 && left.some((count) => count > 0); seconds += 5) {
              yield* TestClock.adjust(5_000)
              left = yield* remaining
            }
            assert.deepStrictEqual(left, [0, 0, 0, 0], `${JSON.stringify(junk)} in ${key}`)
            yield* queue.clear(q.at(), 0)
          }
        }),
    )
  }
}
