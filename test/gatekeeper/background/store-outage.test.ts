/** Pages of an instance that has no store, and what it missed while it did not hear the others. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { OUTAGE_MILLIS, RETURN_MILLIS, reconnectTimes } from "../../../src/gatekeeper/background/StoreOutage.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import type { PushEvent } from "../../../src/protocol/events.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { layerShared } from "../../../src/push-channel/layer.ts"
import { PushChannel } from "../../../src/push-channel/PushChannel.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { BEGIN, begin, caller, enqueue, type GateServices, gateLayer, makeWorld, stateOf } from "../../support/gate.ts"

/** A store that the test makes unavailable, full or silent, and that can lose published messages; `gap` reports a lost subscription. */
const makeStore = () => {
  const waiting: Array<() => void> = []
  const state = {
    is: "there" as "there" | "away" | "full" | "silent",
    losesMessages: false,
    gap: () => {},
    /** what was asked while it was silent is answered */
    answer: () => {
      for (const answered of waiting.splice(0)) answered()
    },
  }
  const answered = Effect.callback<void>((resume) => {
    if (state.is === "silent") waiting.push(() => resume(Effect.void))
    else resume(Effect.void)
  })
  const failure = () =>
    new StoreUnavailable({ message: "simulated", ...(state.is === "full" ? { refusal: "OOM" } : { unasked: true }) })
  const layer = Layer.effect(
    Store,
    Effect.map(Store, (real) => ({
      ...real,
      run: (rule, ask) =>
        Effect.flatMap(answered, () => (state.is === "there" ? real.run(rule, ask) : Effect.fail(failure()))),
      subscribe: (channel, onMessage, onGap) => {
        if (onGap !== undefined) state.gap = onGap
        return real.subscribe(channel, (message) => {
          if (!state.losesMessages) onMessage(message)
        })
      },
    })),
  ).pipe(Layer.provide(memory.layer))
  return { state, layer }
}
type State = ReturnType<typeof makeStore>["state"]

const makePeer = () => {
  const got: Array<PushEvent> = []
  const closed: Array<string> = []
  return {
    got,
    closed,
    connection: {
      send: (event: PushEvent) => void got.push(event),
      backlog: () => 0,
      ping: () => true,
      close: (reason: string) => void closed.push(reason),
    },
  }
}
type Peer = ReturnType<typeof makePeer>

/** A page of this ticket, connected here. */
const connect = Effect.fnUntraced(function* (ticket: string) {
  const peer = makePeer()
  const opened = yield* PushChannel.use((channel) => channel.open(ticket, ticket, peer.connection))
  const event = yield* Effect.tapError(
    Gatekeeper.use((gate) => gate.attach(ticket)),
    () => Effect.sync(() => opened.close()),
  )
  if (event !== undefined) opened.send(event)
  return peer
})

/** So many pages that wait. */
const pages = Effect.fnUntraced(function* (count: number) {
  yield* begin()
  const tickets: Array<string> = []
  const peers: Array<Peer> = []
  for (let n = 0; n < count; n++) {
    const ticket = yield* enqueue(caller(n))
    tickets.push(ticket)
    peers.push(yield* connect(ticket))
  }
  // somebody has swept and ticked
  yield* TestClock.adjust("3 seconds")
  return { tickets, peers }
})

const reconnectCount = (peers: ReadonlyArray<Peer>): number =>
  peers.filter(({ closed, got }) => got.at(-1)?.type === "reconnect" && closed.join() === "shutdown").length

const gateTest = (
  name: string,
  graceSeconds: number,
  body: (state: State) => Effect.Effect<void, unknown, GateServices | Scope.Scope>,
): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      const { layer: store, state } = makeStore()
      yield* TestClock.setTime(BEGIN)
      const limits = { RateLimitHourly: 0, RateLimitDaily: 0, RateLimitConcurrency: 0 }
      const given = { Queue: { DisconnectGraceSeconds: graceSeconds }, Security: limits }
      yield* Effect.provide(body(state), gateLayer(makeWorld(), given, { store, push: layerShared }))
    }),
  )
}

const PAGES = 100
const WITHIN = reconnectTimes(30_000).within

describe("pages of an instance that has lost the store", () => {
  gateTest("are told to reconnect, each once and not all at once", 30, (state) =>
    Effect.gen(function* () {
      const { peers } = yield* pages(PAGES)
      state.is = "away"
      // the first sweep that fails comes within a second
      yield* TestClock.adjust(OUTAGE_MILLIS)
      assert.strictEqual(reconnectCount(peers), 0)
      yield* TestClock.adjust(1_000 + WITHIN / 2)
      assert.isAbove(reconnectCount(peers), PAGES / 5)
      assert.isBelow(reconnectCount(peers), (PAGES * 4) / 5)
      yield* TestClock.adjust(1_000 + WITHIN / 2)
      assert.strictEqual(reconnectCount(peers), PAGES)
      for (const { got } of peers)
        assert.lengthOf(
          got.filter(({ type }) => type === "reconnect"),
          1,
        )
      assert.isEmpty(yield* PushChannel.use((channel) => channel.tickets))
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(reconnectCount(peers), PAGES)
    }),
  )

  gateTest("are not told to reconnect in a shorter outage, such as a failover", 30, (state) =>
    Effect.gen(function* () {
      const { peers } = yield* pages(3)
      for (let n = 0; n < 3; n++) {
        state.is = "away"
        yield* TestClock.adjust(OUTAGE_MILLIS - 1_000)
        state.is = "there"
        yield* TestClock.adjust(2_000)
      }
      assert.strictEqual(reconnectCount(peers), 0)
    }),
  )

  gateTest("stay if the store is back before all were told to reconnect", 30, (state) =>
    Effect.gen(function* () {
      const { peers } = yield* pages(PAGES)
      state.is = "away"
      yield* TestClock.adjust(OUTAGE_MILLIS + 1_000 + WITHIN / 2)
      state.is = "there"
      yield* TestClock.adjust(1_000)
      const toldCount = reconnectCount(peers)
      assert.isBelow(toldCount, PAGES)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(reconnectCount(peers), toldCount)
      assert.lengthOf(yield* PushChannel.use((channel) => channel.tickets), PAGES - toldCount)
    }),
  )

  gateTest("stay if this process was suspended and the store then failed only once", 30, (state) =>
    Effect.gen(function* () {
      const { peers } = yield* pages(3)
      state.is = "silent"
      yield* TestClock.adjust("40 seconds")
      state.is = "away"
      state.answer()
      yield* TestClock.adjust(500)
      state.is = "there"
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(reconnectCount(peers), 0)
    }),
  )

  gateTest("stay if the store answers with errors, which all instances would get", 30, (state) =>
    Effect.gen(function* () {
      const { peers } = yield* pages(3)
      state.is = "full"
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(reconnectCount(peers), 0)
    }),
  )

  gateTest("are told to reconnect in time if the grace is short", 5, (state) =>
    Effect.gen(function* () {
      const { peers } = yield* pages(PAGES)
      state.is = "away"
      yield* TestClock.adjust(4_500)
      assert.strictEqual(reconnectCount(peers), PAGES)
    }),
  )

  gateTest("keep their places until they had time to return, and no longer", 5, (state) =>
    Effect.gen(function* () {
      const { tickets } = yield* pages(2)
      const [returns = "", stays = ""] = tickets
      state.is = "away"
      yield* TestClock.adjust("30 seconds")
      state.is = "there"
      // longer than the grace and what an outage adds to it
      yield* TestClock.adjust(RETURN_MILLIS)
      assert.strictEqual(yield* stateOf(returns), "waiting")
      yield* connect(returns)
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* stateOf(returns), "waiting")
      assert.strictEqual(yield* stateOf(stays), "abandoned")
    }),
  )

  gateTest("pages that return during the outage of their instance are refused, and are not held", 30, (state) =>
    Effect.gen(function* () {
      const { tickets } = yield* pages(1)
      state.is = "away"
      yield* TestClock.adjust("1 minute")
      const refused = yield* Effect.flip(connect(tickets[0] ?? ""))
      assert.strictEqual(refused._tag, "StoreUnavailable")
      assert.isEmpty(yield* PushChannel.use((channel) => channel.tickets))
    }),
  )
})

describe("an instance that has lost its subscription", () => {
  gateTest("sends a heartbeat at once when it is subscribed again", 30, (state) =>
    Effect.gen(function* () {
      const { peers, tickets } = yield* pages(1)
      // just after a tick, so that the next one is far
      yield* TestClock.adjust("1 second")
      state.losesMessages = true
      const called = () => peers[0]?.got.some(({ type }) => type === "start_call")
      // another instance takes the webhook
      const ended = yield* FifoQueue.use((queue) =>
        queue.end({ campaign: "business/campaign", slots: 1, instance: "another" }, ["web-1"]),
      )
      assert.strictEqual(ended.result, "released")
      assert.strictEqual(yield* stateOf(tickets[0] ?? ""), "called")
      assert.isFalse(called())
      state.losesMessages = false
      state.gap()
      yield* TestClock.adjust(1)
      assert.isTrue(called())
    }),
  )
})
