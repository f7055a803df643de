/** Delivery to connections: on one instance, and between two instances over a store. */

import { describe, expect, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import type { PushEvent } from "../../src/protocol/events.ts"
import { INSTANCE_CHANNEL } from "../../src/protocol/signals.ts"
import {
  BACKLOG_BYTES,
  CONNECTIONS_PER_CALLER,
  CONNECTIONS_PER_TICKET,
} from "../../src/push-channel/connection-table.ts"
import { ANSWER_MILLIS, layerLocal, layerShared, PING_MILLIS } from "../../src/push-channel/layer.ts"
import { type CloseReason, type Connection, PushChannel } from "../../src/push-channel/PushChannel.ts"
import { PING_STEPS } from "../../src/push-channel/pings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { settingsWith } from "../harness/settings.ts"

const position = (n: number): PushEvent => ({
  type: "position",
  position: n,
  queueLength: n,
  estimatedWaitSeconds: null,
})
const startCall: PushEvent = { type: "start_call", startBefore: "2027-01-15T08:00:30.000Z" }
const ended: PushEvent = { type: "ended", reason: "ended", message: "The call has ended." }
const error: PushEvent = { type: "error", code: "not_your_turn", message: "It is not your turn yet." }

/** A connection that records what happens to it. */
const makePeer = () => {
  const got: Array<PushEvent> = []
  const closed: Array<CloseReason> = []
  let backlog = 0
  let alive = true
  let answered = true
  let pings = 0
  const connection: Connection = {
    send: (event, text) => {
      expect(JSON.parse(text)).toEqual(event)
      got.push(event)
    },
    backlog: () => backlog,
    // like a WebSocket, whose peer answers at once as long as it lives
    ping: () => {
      pings++
      answered = alive
      return true
    },
    isAnswered: () => answered,
    close: (reason) => closed.push(reason),
  }
  return {
    connection,
    got,
    closed,
    lag: (bytes: number) => {
      backlog = bytes
    },
    die: () => {
      alive = false
    },
    pings: () => pings,
  }
}

const open = (ticket: string, caller = "203.0.113.7") => {
  const peer = makePeer()
  return PushChannel.use((channel) =>
    Effect.map(channel.open(ticket, caller, peer.connection), (opened) => ({ ...peer, opened })),
  )
}
const send = (ticket: string, event: PushEvent) => PushChannel.use((channel) => channel.send(ticket, event))
const ids = (count: number) => Array.from({ length: count }, (_, i) => `ticket-${i}`)
const tickets = PushChannel.use((channel) => channel.tickets)

const channels = [
  ["alone", layerLocal],
  ["over a store", layerShared.pipe(Layer.provide(memory.layer))],
] as const

for (const [name, layer] of channels) {
  const channelTest = (what: string, body: Effect.Effect<void, unknown, PushChannel>) =>
    it.effect(what, () => Effect.provide(body, layer))

  describe(`a channel ${name}`, () => {
    channelTest(
      "delivers to exactly the connections of the ticket",
      Effect.gen(function* () {
        const own = yield* open("mine")
        const alsoOwn = yield* open("mine")
        const other = yield* open("other")
        yield* send("mine", position(1))
        yield* send("nobody", position(2))
        expect([own.got, alsoOwn.got, other.got]).toEqual([[position(1)], [position(1)], []])
        expect([...(yield* tickets)].sort()).toEqual(["mine", "other"])
      }),
    )

    channelTest(
      "tells its connections to reconnect within the time, although timers are late",
      Effect.gen(function* () {
        const peers = yield* Effect.forEach(ids(10), (ticket) => open(ticket))
        const clock = yield* Clock.Clock
        const sleep = (duration: Duration.Duration) => clock.sleep(Duration.sum(duration, Duration.millis(20)))
        const told = yield* PushChannel.use(({ sendAway = () => Effect.die("it is a channel of this gate") }) =>
          sendAway(1_000),
        ).pipe(Effect.provideService(Clock.Clock, { ...clock, sleep }), Effect.forkChild)
        yield* TestClock.adjust(500)
        expect(peers.filter(({ closed }) => closed.length > 0)).toHaveLength(4)
        yield* TestClock.adjust(520)
        expect(peers.filter(({ closed }) => closed.length > 0)).toHaveLength(10)
        yield* Fiber.join(told)
      }),
    )

    channelTest(
      "sends to many in turns with other work, and replaces what it has not sent yet by what is newer",
      Effect.gen(function* () {
        const names = ids(400)
        const peers = yield* Effect.forEach(names, (ticket) => open(ticket, ticket))
        const sendAll = PushChannel.use(({ sendAll = () => Effect.die("it is a channel of this gate") }) =>
          sendAll(names.map((ticket, n) => [ticket, position(n)] as const)),
        )
        const got = () => peers.filter(({ got }) => got.length > 0).length
        const sent = yield* Effect.forkChild(sendAll, { startImmediately: true })
        expect(got()).toBeGreaterThan(0)
        expect(got()).toBeLessThan(100)
        yield* send("ticket-399", startCall)
        yield* TestClock.adjust(500)
        yield* Fiber.join(sent)
        expect(got()).toBe(400)
        expect(peers[398]?.got).toEqual([position(398)])
        expect(peers[399]?.got).toEqual([startCall])
      }),
    )

    channelTest(
      "shows no place that is rounded up to a connection that was sent a lower one, and each place that is exact",
      Effect.gen(function* () {
        const [told, fresh] = [yield* open("told"), yield* open("fresh")]
        told.opened.send(position(144))
        const sendAll = (exactUpTo: number, ...places: ReadonlyArray<number>) =>
          PushChannel.use(({ sendAll = () => Effect.die("it is a channel of this gate") }) =>
            Effect.forEach(places, (place) =>
              sendAll(
                ["told", "fresh"].map((ticket) => [ticket, position(place)] as const),
                exactUpTo,
              ),
            ),
          )
        yield* sendAll(100, 146, 143, 145, 99, 100)
        const places = (peer: typeof told) => peer.got.map((event) => event.type === "position" && event.position)
        expect(places(told)).toEqual([144, 144, 143, 143, 99, 100])
        expect(places(fresh)).toEqual([146, 143, 143, 99, 100])
        yield* sendAll(Number.POSITIVE_INFINITY, 150)
        expect(told.got.at(-1)).toEqual(position(150))
      }),
    )

    channelTest(
      "sends nothing of a delivery to a connection that opens meanwhile, because that is told what is newer",
      Effect.gen(function* () {
        const names = ids(400)
        yield* Effect.forEach(names, (ticket) => open(ticket, ticket))
        const sent = yield* PushChannel.use(({ sendAll = () => Effect.die("it is a channel of this gate") }) =>
          sendAll(names.map((ticket, n) => [ticket, position(n)] as const)),
        ).pipe(Effect.forkChild({ startImmediately: true }))
        const again = yield* open("ticket-399", "ticket-399")
        yield* TestClock.adjust(500)
        yield* Fiber.join(sent)
        expect(again.got).toEqual([])
      }),
    )

    channelTest(
      "sends nothing more of a delivery that was interrupted",
      Effect.gen(function* () {
        const names = ids(400)
        const peers = yield* Effect.forEach(names, (ticket) => open(ticket, ticket))
        const sent = yield* PushChannel.use(({ sendAll = () => Effect.die("it is a channel of this gate") }) =>
          sendAll(names.map((ticket, n) => [ticket, position(n)] as const)),
        ).pipe(Effect.forkChild({ startImmediately: true }))
        const before = peers.filter(({ got }) => got.length > 0).length
        yield* Fiber.interrupt(sent)
        yield* TestClock.adjust(500)
        expect(peers.filter(({ got }) => got.length > 0)).toHaveLength(before)
      }),
    )

    channelTest(
      "sends an event once, and again when another event was sent in between",
      Effect.gen(function* () {
        const peer = yield* open("t")
        peer.opened.send(position(2))
        for (const event of [position(2), position(2), position(1), startCall, startCall, position(1)]) {
          yield* send("t", event)
        }
        expect(peer.got).toEqual([position(2), position(1), startCall, position(1)])
      }),
    )

    channelTest(
      "sends every reply, and still suppresses a repeated event after it",
      Effect.gen(function* () {
        const peer = yield* open("t")
        yield* send("t", position(2))
        peer.opened.send(error)
        peer.opened.send(error)
        yield* send("t", position(2))
        expect(peer.got).toEqual([position(2), error, error])
      }),
    )

    channelTest(
      "closes a connection when its ticket has ended",
      Effect.gen(function* () {
        const peer = yield* open("t")
        yield* send("t", ended)
        yield* send("t", position(1))
        expect(peer.got).toEqual([ended])
        expect(peer.closed).toEqual(["over"])
        expect(yield* tickets).toEqual([])
      }),
    )

    channelTest(
      "closes a peer that lags, and only that one, with the reason",
      Effect.gen(function* () {
        const slow = yield* open("t")
        const quick = yield* open("t")
        slow.lag(BACKLOG_BYTES + 1)
        quick.lag(BACKLOG_BYTES)
        yield* send("t", position(1))
        expect([slow.got, slow.closed]).toEqual([[], ["lagging"]])
        expect([quick.got, quick.closed]).toEqual([[position(1)], []])
      }),
    )

    channelTest(
      "closes a peer that answers no ping within half a minute of its death, and its ticket is no longer present",
      Effect.gen(function* () {
        const dead = yield* open("dead")
        const alive = yield* open("alive")
        yield* TestClock.adjust(PING_MILLIS)
        dead.die()
        const pings = dead.pings()
        yield* Effect.repeat(TestClock.adjust(500), { until: () => dead.pings() > pings })
        yield* TestClock.adjust(ANSWER_MILLIS - 1_000)
        expect(dead.closed).toEqual([])
        yield* TestClock.adjust(1_000)
        expect(dead.closed).toEqual(["dead"])
        expect(PING_MILLIS + ANSWER_MILLIS).toBeLessThanOrEqual(30_000)
        yield* TestClock.adjust(PING_MILLIS)
        expect(alive.closed).toEqual([])
        expect(yield* tickets).toEqual(["alive"])
      }),
    )

    channelTest(
      "pings each of many connections once in an interval, and the same few at a time",
      Effect.gen(function* () {
        const peers = yield* Effect.forEach(ids(5 * PING_STEPS), (ticket) => open(ticket, ticket))
        const sent = () => peers.reduce((sum, { pings }) => sum + pings(), 0)
        let before = 0
        for (let step = 0; step < PING_STEPS; step++) {
          yield* TestClock.adjust(PING_MILLIS / PING_STEPS)
          expect(sent() - before).toBe(5)
          before = sent()
        }
        expect(peers.map(({ pings }) => pings())).toEqual(peers.map(() => 1))
      }),
    )

    channelTest(
      "replaces the ticket's oldest connection when one more than the limit opens",
      Effect.gen(function* () {
        const peers = yield* Effect.forEach(Array.from({ length: CONNECTIONS_PER_TICKET + 1 }), () => open("t"))
        expect(peers.map(({ closed }) => closed)).toEqual([["replaced"], [], [], []])
        yield* send("t", position(1))
        expect(peers.map(({ got }) => got.length)).toEqual([0, 1, 1, 1])
      }),
    )

    channelTest(
      "limits the connections of one caller, and allows another when one of them is closed",
      Effect.gen(function* () {
        const peers = yield* Effect.forEach(Array.from({ length: CONNECTIONS_PER_CALLER }), (_, n) => open(`t${n}`))
        expect((yield* Effect.flip(open("more")))._tag).toBe("TooManyConnections")
        yield* open("more", "203.0.113.8")
        peers[7]?.opened.close()
        peers[7]?.opened.close()
        yield* open("more")
        expect((yield* Effect.flip(open("more")))._tag).toBe("TooManyConnections")
      }),
    )

    channelTest(
      "no longer counts a replaced, a lagging and a finished connection of a caller",
      Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: 3 * CONNECTIONS_PER_CALLER }), () => open("t"))
        const slow = yield* open("slow")
        slow.lag(BACKLOG_BYTES + 1)
        yield* send("slow", position(1))
        yield* open("over")
        yield* send("over", ended)
        const left = CONNECTIONS_PER_CALLER - CONNECTIONS_PER_TICKET
        yield* Effect.forEach(Array.from({ length: left }), (_, n) => open(`u${n}`))
        expect((yield* Effect.flip(open("v")))._tag).toBe("TooManyConnections")
      }),
    )

    channelTest(
      "tells every connection to reconnect when it drains, also those that open later",
      Effect.gen(function* () {
        const channel = yield* PushChannel
        const peer = yield* open("t")
        yield* channel.drain
        const late = yield* open("late")
        for (const { closed, got } of [peer, late]) {
          expect(got).toMatchObject([{ type: "reconnect" }])
          expect(closed).toEqual(["shutdown"])
        }
        expect(yield* tickets).toEqual([])
      }),
    )
  })
}

describe("two instances over one store", () => {
  /** Two channels and a queue on one store. */
  const two = <E>(
    body: (
      a: Context.Context<PushChannel>,
      b: Context.Context<PushChannel>,
    ) => Effect.Effect<void, E, FifoQueue | Store>,
  ) =>
    Effect.gen(function* () {
      const a = yield* Layer.build(Layer.fresh(layerShared))
      const b = yield* Layer.build(Layer.fresh(layerShared))
      yield* body(a, b)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        queueLayer.pipe(Layer.provideMerge(memory.layer), Layer.provide(settingsWith({ Queue: { MaxLength: 10 } }))),
      ),
    )

  it.effect("have addresses of their own, and a rule reaches the one that holds the ticket", () =>
    two((a, b) =>
      Effect.gen(function* () {
        const queue = yield* FifoQueue
        const at = (channel: Context.Context<PushChannel>) => ({
          campaign: "c",
          slots: 1,
          instance: Context.get(channel, PushChannel).address,
        })
        expect(at(a).instance).not.toBe(at(b).instance)
        const ticket = (id: string) => ({ id, caller: "", holds: false, network: "", data: "{}" })
        const admitted = yield* queue.admit(at(a), ticket("live"))
        expect(admitted.result._tag).toBe("starting")
        if (admitted.result._tag !== "starting") return
        yield* queue.bind(at(a), "live", admitted.result.lease, { ids: ["s"], data: {} })
        yield* queue.admit(at(a), ticket("next"))
        // the page is connected to b, and a takes the webhook
        const onA = yield* Effect.provide(open("next"), a)
        const onB = yield* Effect.provide(open("next"), b)
        yield* queue.attach(at(b), "next", true)
        const ended = yield* queue.end(at(a), ["s"])
        expect(ended.signals.map((signal) => signal.ticket)).toEqual(["live"])
        expect(onB.got).toMatchObject([
          { type: "start_call", startBefore: expect.stringMatching(/^1970-01-01T00:00:30/) },
        ])
        expect(onA.got).toEqual([])
      }),
    ),
  )

  it.effect("ignore what they do not understand", () =>
    two((a) =>
      Effect.gen(function* () {
        const store = yield* Store
        const { address } = Context.get(a, PushChannel)
        const peer = yield* Effect.provide(open("t"), a)
        for (const message of [
          "",
          "t",
          "null",
          "{}",
          '{"ticket":"t"}',
          '{"ticket":"t","kind":{"_tag":"ended"}}',
          '{"ticket":"t","kind":{"_tag":"ended","state":"?"}}',
          '{"ticket":"t","kind":{"_tag":"called"}}',
          '{"ticket":"t","kind":{"_tag":"called","startBefore":"soon","lease":"x"}}',
          '{"ticket":"t","kind":{"_tag":"renamed","state":"ended"}}',
          '{"ticket":"t","kind":{"_tag":"ended","state":"abandoned"}',
          "t ended A",
          "\u0000",
        ]) {
          yield* store.publish(INSTANCE_CHANNEL + address, message)
        }
        expect(peer.got).toEqual([])
        yield* store.publish(INSTANCE_CHANNEL + address, '{"ticket":"t","kind":{"_tag":"ended","state":"abandoned"}}')
        expect(peer.got).toMatchObject([{ type: "ended", reason: "abandoned" }])
      }),
    ),
  )
})
