/** Events on their way to a receiver that takes them, is slow, fails, wants no more or sends them elsewhere. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Deliver from "../../src/events/deliver.ts"
import { EventLog, layer as logLayer } from "../../src/events/EventLog.ts"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { keyOfCampaign } from "../../src/fifo-queue/keys.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import type { CampaignEvents } from "../../src/settings/groups/events.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { eventually } from "../harness/process.ts"
import { DEFAULTS } from "../harness/settings.ts"
import { isSignedBy, type Receiver, startReceiver } from "./receiver.ts"

const OLD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const NEW_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const WRONG_SECRET = `whsec_${Buffer.alloc(32, 8).toString("base64")}`

const receivers: Array<Receiver> = []
afterEach(async () => {
  for (const each of receivers.splice(0)) await each.dispose()
})

const settingsOf = (Url: string): CampaignEvents => ({
  Url,
  Secrets: [Redacted.make(OLD_SECRET), Redacted.make(NEW_SECRET)],
  Token: [],
  RetentionHours: 72,
  MaxStored: 1_000,
})

interface Rig {
  readonly receiver: Receiver
  readonly admit: (id: string) => Effect.Effect<unknown, unknown>
  readonly leave: (id: string) => Effect.Effect<unknown, unknown>
  readonly log: EventLog["Service"]
  readonly deliveries: (filter: "all" | "pending" | "failed") => ReturnType<EventLog["Service"]["deliveries"]>
}

/** A campaign without slots, whose events go to the receiver. */
const test = (name: string, body: (rig: Rig) => Effect.Effect<void, unknown>): void => {
  it.live(name, () =>
    Effect.gen(function* () {
      const receiver = yield* Effect.promise(() => startReceiver())
      receivers.push(receiver)
      const [first] = DEFAULTS.Campaigns
      const campaign = { ...first, Events: settingsOf(receiver.url) }
      const settings = Layer.succeed(Settings, { ...DEFAULTS, Campaigns: [campaign] })
      const at = { campaign: keyOfCampaign(campaign), slots: 0, instance: "", events: true as const }
      yield* Effect.gen(function* () {
        const queue = yield* FifoQueue
        const log = yield* EventLog
        yield* body({
          receiver,
          log,
          admit: (id) =>
            queue.admit(at, { id, caller: "", network: "", data: "", about: `{"clientIdentifier":"${id}"}` }),
          leave: (id) => queue.leave(at, id),
          deliveries: (filter) => log.deliveries(campaign, { filter, before: 0, count: 100 }),
        })
      }).pipe(
        Effect.provide(
          Deliver.layer.pipe(
            Layer.provideMerge(Layer.mergeAll(logLayer, queueLayer)),
            Layer.provideMerge(Layer.mergeAll(memory.layer, settings, FetchHttpClient.layer)),
          ),
        ),
        Effect.scoped,
      )
    }),
  )
}

const until = (what: string, holds: () => boolean): Effect.Effect<void> =>
  Effect.promise(() => eventually(what, holds, 20_000))

const untilSettled = (deliveries: Rig["deliveries"], state: string, count: number) =>
  Effect.gen(function* () {
    for (let n = 0; n < 200; n++) {
      const { rows } = yield* deliveries("all")
      if (rows.filter((each) => each.state === state).length === count) return rows
      yield* Effect.sleep(50)
    }
    return assert.fail(`not ${count} ${state}`)
  })

describe("the delivery of events", () => {
  test("an event arrives signed by every secret, with its id, within some two seconds", ({ admit, receiver }) =>
    Effect.gen(function* () {
      yield* admit("t1")
      yield* until("it arrives", () => receiver.taken.length === 1)
      const [event] = receiver.taken
      if (event === undefined) return assert.fail()
      assert.isTrue(isSignedBy(event, OLD_SECRET))
      assert.isTrue(isSignedBy(event, NEW_SECRET))
      assert.isFalse(isSignedBy(event, WRONG_SECRET))
      assert.strictEqual(event.headers["webhook-id"], event.id)
      assert.strictEqual(event.headers["content-type"], "application/json")
      assert.closeTo(Number(event.headers["webhook-timestamp"]), Date.now() / 1000, 30)
      assert.deepInclude(JSON.parse(event.body), { type: "call.accepted", clientIdentifier: "t1", seq: 1 })
    }))

  test("events of one ticket arrive one after the other, those of others at once, at most so many", ({
    admit,
    deliveries,
    leave,
    receiver,
  }) =>
    Effect.gen(function* () {
      receiver.script = async (_event, response) => {
        await new Promise((resolve) => setTimeout(resolve, 60))
        response.writeHead(200).end("ok")
        return true
      }
      const tickets = Array.from({ length: 60 }, (_, i) => `t${i}`)
      yield* Effect.forEach(tickets, (id) => Effect.andThen(admit(id), leave(id)), { concurrency: 10 })
      yield* untilSettled(deliveries, "delivered", 100)
      yield* until("all arrive", () => receiver.taken.length === 120)
      assert.strictEqual(receiver.mostOfOneTicket(), 1)
      assert.isAtMost(receiver.mostAtOnce(), Deliver.MAX_IN_FLIGHT)
      assert.isAbove(receiver.mostAtOnce(), 4)
      const seqs = new Map<string, number>()
      for (const { seq, ticketHash } of receiver.taken) {
        assert.isAbove(seq, seqs.get(ticketHash) ?? 0)
        seqs.set(ticketHash, seq)
      }
    }))

  test("an event that is refused is sent again, with the same id, and holds back only its ticket", ({
    admit,
    leave,
    receiver,
  }) =>
    Effect.gen(function* () {
      let refusals = 0
      receiver.script = (event, response) => {
        const refuses = event.seq === 1 && ++refusals <= 2
        response.writeHead(refuses ? 500 : 204).end()
        return !refuses
      }
      yield* admit("t1")
      yield* leave("t1")
      yield* admit("t2")
      yield* until("all arrive", () => receiver.taken.length === 3)
      assert.deepStrictEqual(
        receiver.taken.map(({ seq }) => seq),
        [3, 1, 2],
      )
      const ids = receiver.received.flatMap(({ id, seq }) => (seq === 1 ? id : []))
      assert.deepStrictEqual([ids.length, new Set(ids).size], [3, 1])
    }))

  test("a redirect is not followed", ({ admit, deliveries, receiver }) =>
    Effect.gen(function* () {
      const other = yield* Effect.promise(() => startReceiver())
      receivers.push(other)
      receiver.script = (_event, response) => {
        response.writeHead(307, { location: other.url }).end()
        return false
      }
      yield* admit("t1")
      yield* until("it is tried", () => receiver.received.length > 0)
      yield* Effect.sleep(200)
      const { rows } = yield* deliveries("pending")
      assert.deepInclude(rows[0], { status: 307, error: "HTTP 307: redirects are not followed", state: "pending" })
      assert.deepStrictEqual(other.received, [])
    }))

  test("an answer without end counts by its status, and its body is not read to the end", ({
    admit,
    deliveries,
    receiver,
  }) =>
    Effect.gen(function* () {
      let written = 0
      receiver.script = (_event, response) => {
        response.writeHead(200)
        const chunk = Buffer.alloc(65_536)
        const write = (): void => {
          if (response.destroyed) return
          written += chunk.length
          if (response.write(chunk)) setImmediate(write)
          else response.once("drain", write)
        }
        write()
        return true
      }
      yield* admit("t1")
      yield* untilSettled(deliveries, "delivered", 1)
      yield* Effect.sleep(300)
      assert.isBelow(written, 64 * 1024 * 1024)
    }))

  test("after 410 nothing is sent, and the events wait", ({ admit, deliveries, receiver }) =>
    Effect.gen(function* () {
      receiver.script = (_event, response) => {
        response.writeHead(410).end()
        return false
      }
      yield* admit("t1")
      yield* until("it is tried", () => receiver.received.length > 0)
      yield* Effect.sleep(100)
      yield* admit("t2")
      yield* Effect.sleep(2_500)
      assert.strictEqual(receiver.received.length, 1)
      assert.strictEqual((yield* deliveries("all")).pending, 2)
    }))

  test("a receiver that asks for time gets it", ({ admit, receiver }) =>
    Effect.gen(function* () {
      let refusedAt = 0
      let acceptedAt = 0
      receiver.script = (_event, response) => {
        if (refusedAt > 0) {
          acceptedAt = Date.now()
          response.writeHead(204).end()
          return true
        }
        refusedAt = Date.now()
        response.writeHead(503, { "retry-after": "3" }).end()
        return false
      }
      yield* admit("t1")
      yield* until("it is taken", () => receiver.taken.length === 1)
      assert.isAtLeast(acceptedAt - refusedAt, 2_900)
    }))

  test("a receiver that cannot be reached is named by what happened", ({ admit, deliveries, receiver }) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => receiver.dispose())
      yield* admit("t1")
      for (let n = 0; n < 100; n++) {
        const [row] = (yield* deliveries("pending")).rows
        if (row?.error !== undefined) return assert.strictEqual(row.error, "ECONNREFUSED")
        yield* Effect.sleep(50)
      }
      assert.fail("it was not tried")
    }))
})

describe("the outcome of an attempt", () => {
  const claimed = { chain: "a", attempt: 3, event: { seq: 1 } }
  const answer = { status: 500, error: "HTTP 500", waitMillis: 0 }

  it("is a retry later each time, and a failure after the last attempt", () => {
    assert.deepInclude(Deliver.outcomeOf(claimed, answer, 1_000), { outcome: "retry", at: 5_000 })
    assert.deepInclude(Deliver.outcomeOf({ ...claimed, attempt: 20 }, answer, 0), { at: Deliver.MAX_RETRY_MILLIS })
    const last = { ...claimed, attempt: Deliver.MAX_ATTEMPTS }
    assert.deepInclude(Deliver.outcomeOf(last, answer, 0), { outcome: "failed", status: 500 })
    const day = Array.from({ length: Deliver.MAX_ATTEMPTS - 1 }, (_, i) => Deliver.pauseAfter(i + 1))
    assert.closeTo(day.reduce((sum, each) => sum + each, 0) / 3_600_000, 23, 2)
  })

  it("waits as long as the receiver asks, within an hour, and stops the campaign after 429 and 410", () => {
    const busy = { status: 429, error: "HTTP 429", waitMillis: 60_000 }
    assert.deepInclude(Deliver.outcomeOf(claimed, busy, 0), { outcome: "retry", at: 60_000, stopUntil: 60_000 })
    const long = { ...busy, status: 503, waitMillis: 86_400_000 }
    assert.deepInclude(Deliver.outcomeOf(claimed, long, 0), { at: Deliver.MAX_RETRY_MILLIS })
    assert.notProperty(Deliver.outcomeOf(claimed, long, 0), "stopUntil")
    const gone = { status: 410, error: "HTTP 410", waitMillis: 0 }
    assert.deepInclude(Deliver.outcomeOf(claimed, gone, 0), { outcome: "retry", stopUntil: Deliver.GONE_MILLIS })
  })
})
