/** The event log of a campaign on every store: what the queue's steps append, what is read, claimed, given up, sent again and dropped. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { EventLog, layer as eventLayer } from "../../src/events/EventLog.ts"
import { eventKeysOf } from "../../src/events/keys.ts"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { keyOfCampaign } from "../../src/fifo-queue/keys.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import type { HostEvent } from "../../src/protocol/host-events.ts"
import { type Campaign, Settings } from "../../src/settings/Settings.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"
import { settingsWith } from "../harness/settings.ts"
import { onEveryStoreAndCluster } from "../harness/stores.ts"
import { BEGIN } from "../support/gate.ts"

const LEASE = 30_000
const HOUR = 3_600_000
let campaigns = 0

const writeRule: Rule<object, { readonly seq: number; readonly text: string }, boolean> = {
  name: "test.write",
  run: (db, [events = "", meta = ""], _now, _context, calls) =>
    calls.map(({ seq, text }) => {
      db.zadd(events, seq, text)
      db.hset(meta, "events", String(seq))
      return true
    }),
  lua: `local call = cjson.decode(ARGV[3])
redis.call("ZADD", KEYS[1], call.seq, call.text)
redis.call("HSET", KEYS[2], "events", call.seq)
return "[true]"`,
  decode: Boolean,
  batch: false,
}

const typesOf = (events: ReadonlyArray<HostEvent>): ReadonlyArray<string> => events.map(({ type }) => type)

const makeLog = Effect.fnUntraced(function* (events: Partial<NonNullable<Campaign["Events"]>>) {
  const queue = yield* FifoQueue
  const log = yield* EventLog
  const store = yield* Store
  const [first] = (yield* Settings).Campaigns
  const campaign: Campaign = {
    ...first,
    WebCampaignId: `events ${++campaigns}`,
    Events: { Url: "https://crm.example/", Secrets: [], Token: [], RetentionHours: 72, MaxStored: 1_000, ...events },
  }
  const at = (slots: number) => ({ campaign: keyOfCampaign(campaign), slots, instance: "", events: true as const })
  let slots = 1
  const admit = (id: string, about: object = { clientIdentifier: `client ${id}` }) =>
    Effect.map(
      queue.admit(at(slots), { id, caller: "192.0.2.1", network: "", data: "", about: JSON.stringify(about) }),
      ({ result }) => result,
    )
  return {
    campaign,
    log,
    /** an event that another program has written */
    write: (seq: number, text: string) =>
      Effect.flatMap(store.now, (now) =>
        store.run(writeRule, {
          keys: eventKeysOf(keyOfCampaign(campaign)),
          now,
          context: NO_CONTEXT,
          call: { seq, text },
        }),
      ),
    queue,
    /** the store's time (ms) */
    now: store.now,
    at: () => at(slots),
    setSlots: (count: number) => {
      slots = count
    },
    admit,
    /** a caller who finds a free slot, and whose session runs */
    enter: Effect.fnUntraced(function* (id: string) {
      const admitted = yield* admit(id)
      assert.strictEqual(admitted._tag, "starting")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      yield* queue.bind(at(slots), id, lease, { ids: [`session of ${id}`], data: {} })
    }),
    /** all events that are kept */
    all: Effect.map(log.read(campaign, undefined, 500), (page) => (page._tag === "page" ? page.events : [])),
    tick: (claim = 10) => log.tick(campaign, claim, LEASE),
    /** claims what is due, and says that all of it was delivered; the types */
    deliverDue: Effect.gen(function* () {
      const { claimed } = yield* log.tick(campaign, 10, LEASE)
      for (const { attempt, chain, event } of claimed) {
        yield* log.settle(campaign, { chain, seq: event.seq, attempt, outcome: "delivered", at: 0, status: 204 })
      }
      return claimed.map(({ event }) => `${event.clientIdentifier} ${event.type}`)
    }),
  }
})
type LogBench = Effect.Success<ReturnType<typeof makeLog>>

const suite = (store: Layer.Layer<Store>): void => {
  const test = (
    name: string,
    events: Parameters<typeof makeLog>[0],
    body: (bench: LogBench) => Effect.Effect<void, unknown>,
  ): void => {
    it.effect(name, () =>
      Effect.andThen(TestClock.setTime(BEGIN + 600_000), Effect.flatMap(makeLog(events), body)).pipe(
        Effect.provide(
          Layer.mergeAll(queueLayer, eventLayer).pipe(Layer.provideMerge(Layer.merge(store, settingsWith({})))),
        ),
      ),
    )
  }

  test("a call has its events in order, each with what a host joins on", {}, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.admit("t2", { clientIdentifier: "ada", metadata: { order: "7" } })
      yield* TestClock.adjust(20_400)
      yield* q.queue.end(q.at(), ["session of t1"])
      const events = yield* q.all
      assert.deepStrictEqual(
        events.map(({ clientIdentifier, type }) => `${clientIdentifier} ${type}`),
        [
          "client t1 call.accepted",
          "client t1 call.started",
          "ada call.accepted",
          "client t1 call.ended",
          "ada call.called",
        ],
      )
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        [1, 2, 3, 4, 5],
      )
      const [accepted, started, , ended, called] = events
      assert.deepInclude(ended, {
        sessionId: "session of t1",
        reason: "ended",
        durationSeconds: 20,
        campaign: "default",
        platform: "iqra",
        ...(accepted?.ticketHash === undefined ? {} : { ticketHash: accepted.ticketHash }),
      })
      assert.deepInclude(started, { sessionId: "session of t1" })
      assert.deepInclude(called, { metadata: { order: "7" } })
      assert.match(accepted?.ticketHash ?? "", /^[0-9a-f]{16}$/)
      assert.strictEqual(new Set(events.map(({ id }) => id)).size, 5)
    }),
  )

  test(
    "a call lasts from when its session runs until its end: as its vendor says, or without the time in which no gate ran",
    {},
    (q) =>
      Effect.gen(function* () {
        q.setSlots(2)
        yield* q.enter("t1")
        yield* q.enter("t2")
        yield* q.admit("t3")
        yield* q.queue.sweep(q.at())
        yield* TestClock.adjust("60 seconds")
        yield* q.queue.end(q.at(), ["session of t1"], undefined, undefined, 57)
        // the call of t3 begins some time after its turn
        yield* TestClock.adjust("20 seconds")
        yield* q.queue.sweep(q.at())
        const { result } = yield* q.queue.start(q.at(), "t3")
        assert.strictEqual(result._tag, "starting")
        if (result._tag !== "starting") return
        yield* TestClock.adjust("5 seconds")
        yield* q.queue.bind(q.at(), "t3", result.lease, { ids: ["session of t3"], data: {} })
        yield* TestClock.adjust("3 seconds")
        yield* q.queue.end(q.at(), ["session of t3"])
        yield* TestClock.adjust("3 hours")
        yield* q.queue.sweep(q.at())
        const ends = (yield* q.all).filter(({ type }) => type === "call.ended")
        assert.deepStrictEqual(
          ends.map(({ clientIdentifier, durationSeconds, reason }) => [clientIdentifier, reason, durationSeconds]),
          [
            ["client t1", "ended", 57],
            ["client t3", "ended", 3],
            ["client t2", "reclaimed", 1_800],
          ],
        )
      }),
  )

  test("a campaign that reports no events appends none", {}, (q) =>
    Effect.gen(function* () {
      const { events: _none, ...off } = q.at()
      yield* q.queue.admit(off, { id: "t1", caller: "", network: "", data: "" })
      yield* q.queue.withdraw(off, ["t1"])
      assert.deepStrictEqual(yield* q.all, [])
    }),
  )

  test("a ticket that leaves, misses its turn or fails has one end, with the reason", {}, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      for (const id of ["t2", "t3", "t4"]) yield* q.admit(id)
      yield* q.queue.leave(q.at(), "t2")
      yield* q.queue.end(q.at(), ["session of t1"])
      yield* TestClock.adjust(45_000)
      yield* q.queue.start(q.at(), "t3")
      yield* q.queue.leave(q.at(), "t3")
      const ends = (yield* q.all).filter(({ type }) => type === "call.ended")
      assert.deepStrictEqual(
        ends.map(({ clientIdentifier, reason }) => `${clientIdentifier} ${reason}`),
        ["client t2 left", "client t1 ended", "client t3 missed", "client t4 abandoned"],
      )
      assert.isUndefined(ends[0]?.durationSeconds)
    }),
  )

  test("a reader with a cursor gets each event once, in pages, while others are appended", {}, (q) =>
    Effect.gen(function* () {
      q.setSlots(100)
      const read: Array<number> = []
      let after: number | undefined
      for (let round = 0; round < 8; round++) {
        yield* q.enter(`t${round}`)
        const page = yield* q.log.read(q.campaign, after, 3)
        if (page._tag === "gone") return assert.fail("the cursor is known")
        read.push(...page.events.map(({ seq }) => seq))
        after = page.next
      }
      assert.deepStrictEqual(
        read,
        Array.from({ length: 16 }, (_, i) => i + 1),
      )
      const last = yield* q.log.read(q.campaign, after, 3)
      assert.deepStrictEqual(last, { _tag: "page", events: [], next: 16, more: false })
    }),
  )

  test(
    "events beyond the most that are kept are dropped, counted, and a cursor before them is told",
    {
      MaxStored: 4,
    },
    (q) =>
      Effect.gen(function* () {
        q.setSlots(100)
        for (const id of ["t1", "t2", "t3", "t4"]) yield* q.enter(id)
        const ticked = yield* q.log.tick(q.campaign, undefined, LEASE)
        assert.deepInclude(ticked, { stored: 4, lost: 4, more: false })
        assert.deepStrictEqual(yield* q.log.read(q.campaign, 3, 10), { _tag: "gone", next: 4 })
        const page = yield* q.log.read(q.campaign, 4, 10)
        assert.deepStrictEqual(page._tag === "page" && page.events.map(({ seq }) => seq), [5, 6, 7, 8])
        // another log: it does not have so many
        assert.deepStrictEqual(yield* q.log.read(q.campaign, 9, 10), { _tag: "gone", next: 4 })
      }),
  )

  test("events that are too old are dropped; only those that were not delivered are lost", {}, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.deliverDue
      yield* TestClock.adjust(73 * HOUR)
      yield* q.admit("t2")
      const ticked = yield* q.tick(0)
      assert.deepInclude(ticked, { stored: 1, lost: 1, pending: 1 })
      assert.deepStrictEqual(typesOf(yield* q.all), ["call.accepted"])
    }),
  )

  test("the events of one ticket are claimed one at a time, those of others meanwhile", {}, (q) =>
    Effect.gen(function* () {
      q.setSlots(2)
      yield* q.enter("t1")
      yield* q.enter("t2")
      const first = yield* q.tick()
      assert.deepStrictEqual(
        first.claimed.map(({ event }) => event.seq).toSorted((a, b) => a - b),
        [1, 3],
      )
      assert.strictEqual(first.pending, 4)
      assert.closeTo(first.oldestAt ?? 0, yield* q.now, 10_000)
      assert.deepStrictEqual((yield* q.tick()).claimed, [])
      const one = first.claimed.find(({ event }) => event.seq === 1)
      if (one === undefined) return assert.fail("one was claimed")
      const { attempt, chain, event } = one
      const done = { chain, seq: event.seq, attempt, outcome: "delivered" as const, at: 0 }
      assert.deepStrictEqual(yield* q.log.settle(q.campaign, done), { counted: true, next: true })
      assert.deepStrictEqual(yield* q.log.settle(q.campaign, done), { counted: false, next: false })
      assert.deepStrictEqual(
        (yield* q.tick()).claimed.map(({ event }) => event.seq),
        [2],
      )
    }),
  )

  test(
    "an attempt whose gate dies is repeated by another after its lease, and a late outcome of the first is ignored",
    {},
    (q) =>
      Effect.gen(function* () {
        yield* q.admit("t1")
        const [lost] = (yield* q.tick()).claimed
        yield* TestClock.adjust(LEASE - 1)
        assert.deepStrictEqual((yield* q.tick()).claimed, [])
        yield* TestClock.adjust(1)
        const [again] = (yield* q.tick()).claimed
        assert.deepStrictEqual([again?.attempt, again?.event], [2, lost?.event])
        const late = { chain: lost?.chain ?? "", seq: 1, attempt: 1, at: 0 }
        assert.isFalse((yield* q.log.settle(q.campaign, { ...late, outcome: "failed" })).counted)
        assert.isFalse((yield* q.log.settle(q.campaign, { ...late, outcome: "retry" })).counted)
        assert.isTrue((yield* q.log.settle(q.campaign, { ...late, outcome: "delivered" })).counted)
        assert.strictEqual((yield* q.tick()).pending, 0)
      }),
  )

  test("an event that was given up lets the next of its ticket go on, and can be sent again", {}, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      const [one] = (yield* q.tick()).claimed
      const chain = one?.chain ?? ""
      const failed = { chain, seq: 1, attempt: 1, outcome: "failed" as const, at: 0, status: 500, error: "HTTP 500" }
      assert.deepStrictEqual(yield* q.log.settle(q.campaign, failed), { counted: true, next: true })
      assert.deepStrictEqual(yield* q.deliverDue, ["client t1 call.started"])
      const list = yield* q.log.deliveries(q.campaign, { filter: "failed", before: 0, count: 10 })
      assert.deepInclude(list, { failed: 1, pending: 0, more: false })
      assert.deepInclude(list.rows[0], { state: "failed", attempts: 1, status: 500, error: "HTTP 500" })
      assert.strictEqual(yield* q.log.redeliverFailed(q.campaign, 0, (yield* q.now) - HOUR), 0)
      assert.strictEqual(yield* q.log.redeliverFailed(q.campaign, 0, (yield* q.now) + HOUR), 1)
      assert.strictEqual(yield* q.log.redeliverFailed(q.campaign, 0, (yield* q.now) + HOUR), 0)
      assert.strictEqual(yield* q.log.redeliver(q.campaign, 1), "pending")
      assert.deepStrictEqual(yield* q.deliverDue, ["client t1 call.accepted"])
      assert.strictEqual(yield* q.log.redeliver(q.campaign, 2), "queued")
      assert.strictEqual(yield* q.log.redeliver(q.campaign, 99), "gone")
      assert.deepStrictEqual(yield* q.deliverDue, ["client t1 call.started"])
      const all = yield* q.log.deliveries(q.campaign, { filter: "all", before: 0, count: 1 })
      assert.closeTo(all.lastDeliveredAt ?? 0, yield* q.now, 10_000)
      assert.deepStrictEqual([all.rows[0]?.event.seq, all.rows[0]?.state, all.more], [2, "delivered", true])
      const older = yield* q.log.deliveries(q.campaign, { filter: "all", before: 2, count: 1 })
      assert.deepStrictEqual([older.rows[0]?.event.seq, older.more], [1, false])
    }),
  )

  test("a retry waits, and holds back only the events of its ticket", {}, (q) =>
    Effect.gen(function* () {
      q.setSlots(2)
      yield* q.enter("t1")
      const [one] = (yield* q.tick()).claimed
      const at = (yield* q.now) + 5_000
      const retry = { chain: one?.chain ?? "", seq: 1, attempt: 1, outcome: "retry" as const, at, error: "timeout" }
      assert.deepStrictEqual(yield* q.log.settle(q.campaign, retry), { counted: true, next: false })
      yield* q.enter("t2")
      assert.deepStrictEqual(yield* q.deliverDue, ["client t2 call.accepted"])
      assert.deepStrictEqual(yield* q.deliverDue, ["client t2 call.started"])
      assert.deepStrictEqual(yield* q.deliverDue, [])
      yield* TestClock.adjust(5_000)
      assert.deepStrictEqual(yield* q.deliverDue, ["client t1 call.accepted"])
      assert.deepStrictEqual(yield* q.deliverDue, ["client t1 call.started"])
    }),
  )

  test("nothing is sent while the receiver wants no more, until somebody sends again", {}, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const [one] = (yield* q.tick()).claimed
      const until = (yield* q.now) + HOUR
      const gone = { chain: one?.chain ?? "", seq: 1, attempt: 1, outcome: "failed" as const, at: 0, stopUntil: until }
      yield* q.log.settle(q.campaign, gone)
      yield* q.admit("t2")
      const stopped = yield* q.tick()
      assert.deepInclude(stopped, { stoppedUntil: until, pending: 1, claimed: [] })
      assert.strictEqual(yield* q.log.redeliver(q.campaign, 1), "queued")
      assert.strictEqual((yield* q.tick()).claimed.length, 2)
    }),
  )

  test("a step queues many new events in pages, and says that there are more", { MaxStored: 5_000 }, (q) =>
    Effect.gen(function* () {
      q.setSlots(0)
      yield* Effect.forEach(
        Array.from({ length: 700 }, (_, i) => `t${i}`),
        (id) => q.admit(id),
        { concurrency: 50 },
      )
      for (let pending = 100; pending < 700; pending += 100) {
        assert.deepInclude(yield* q.tick(0), { pending, more: true })
      }
      yield* q.tick(0)
      assert.deepInclude(yield* q.tick(0), { pending: 700, more: false })
      const page = yield* q.log.read(q.campaign, 0, 500)
      assert.deepStrictEqual(page._tag === "page" && [page.events.length, page.next, page.more], [100, 100, true])
    }),
  )

  test("an event of a type that this version does not know is handed on, with what it knows of it", {}, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.write(2, JSON.stringify({ type: "call.transferred", first: 1, to: "sales", seq: 2, at: yield* q.now }))
      const page = yield* q.log.read(q.campaign, 1, 10)
      assert.deepInclude(page, { next: 2, more: false })
      assert.deepInclude(page._tag === "page" && page.events[0], {
        type: "call.transferred",
        clientIdentifier: "client t1",
      })
      const claimed = [...(yield* q.tick()).claimed].map(({ event }) => event.type)
      assert.deepStrictEqual(claimed.toSorted(), ["call.accepted", "call.transferred"])
    }),
  )

  test("what cannot be read is passed by readers, and is claimed as such, so that it is given up in the end", {}, (q) =>
    Effect.gen(function* () {
      yield* q.write(1, JSON.stringify({ type: "call.accepted", seq: 1, at: yield* q.now, ticket: "a", session: 7 }))
      yield* q.write(2, "nonsense")
      const page = yield* q.log.read(q.campaign, undefined, 10)
      assert.deepStrictEqual(page, { _tag: "page", events: [], next: 2, more: false })
      const { claimed, unreadable } = yield* q.tick()
      assert.deepStrictEqual([claimed, unreadable], [[], [{ chain: "a", attempt: 1, event: { seq: 1 } }]])
      yield* q.log.settle(q.campaign, { chain: "a", seq: 1, attempt: 1, outcome: "failed", at: 0 })
      assert.deepInclude(yield* q.tick(), { pending: 0, failed: 1, unreadable: [] })
    }),
  )

  test("a reader goes on behind events that were forgotten, also at the end of the log", {}, (q) =>
    Effect.gen(function* () {
      q.setSlots(10)
      yield* q.admit("t1")
      yield* q.enter("t2")
      yield* q.queue.end(q.at(), ["session of t2"])
      const who = { names: ["192.0.2.1"] }
      assert.deepStrictEqual(yield* q.log.forget(keyOfCampaign(q.campaign), who, 0), {
        delivered: 0,
        undelivered: 3,
        kept: 1,
        next: 0,
      })
      yield* q.log.forget(keyOfCampaign(q.campaign), { ...who, remove: true }, 0)
      const page = yield* q.log.read(q.campaign, 1, 10)
      assert.deepStrictEqual(page, { _tag: "page", events: [], next: 4, more: false })
      assert.deepInclude(yield* q.tick(), { stored: 1, pending: 1 })
      yield* q.queue.leave(q.at(), "t1")
      assert.deepStrictEqual(yield* q.deliverDue, [])
    }),
  )

  test("events of a campaign without any in the settings are kept for three days, and dropped then", {}, (q) =>
    Effect.gen(function* () {
      const key = keyOfCampaign(q.campaign)
      yield* q.enter("t1")
      yield* q.tick(0)
      assert.strictEqual(yield* q.log.fade(key), 2)
      yield* TestClock.adjust(73 * HOUR)
      // a gate that has them in its settings has served the campaign
      yield* q.queue.sweep(q.at())
      const stored = yield* q.log.fade(key, 60_000)
      assert.isAtLeast(stored, 2)
      yield* TestClock.adjust(73 * HOUR)
      assert.strictEqual(yield* q.log.fade(key, 60_000), 0)
      assert.deepInclude(yield* q.tick(), { stored: 0, pending: 0, failed: 0, claimed: [] })
      assert.deepInclude(yield* q.log.read(q.campaign, 1, 10), { _tag: "gone" })
      yield* q.admit("t2")
      assert.lengthOf((yield* q.tick()).claimed, 1)
    }),
  )
}

describe("the event log", () => onEveryStoreAndCluster(suite))
