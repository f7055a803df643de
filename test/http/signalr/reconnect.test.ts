/** A widget that reconnects, by the stock SignalR client over a real server. */
import { assert, describe } from "@effect/vitest"
import { type HubConnection, HubConnectionState } from "@microsoft/signalr"
import { Effect, Fiber } from "effect"
import type { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as PushChannelLayer from "../../../src/push-channel/layer.ts"
import { PushChannel } from "../../../src/push-channel/PushChannel.ts"
import { eventually } from "../../harness/process.ts"
import { begin, enqueue, hangUp, session, stateOf } from "../../support/gate.ts"
import { post, servedTest } from "../../support/gate-server.ts"
import { connectWidget, registeredWidget } from "./client.ts"

const shared = { push: PushChannelLayer.layerShared }

const reconnected = (connection: HubConnection) =>
  new Promise<void>((resolve) => connection.onreconnected(() => resolve()))
const reconnecting = (connection: HubConnection) =>
  new Promise<void>((resolve) => connection.onreconnecting(() => resolve()))

/** Waits until the ticket is being started. */
const isStarting = Effect.fnUntraced(function* (ticket: string) {
  const run = Effect.runPromiseWith(yield* Effect.context<Gatekeeper>())
  yield* Effect.promise(() =>
    eventually("it is being started", async () => (await run(stateOf(ticket))) === "starting"),
  )
})

describe.concurrent("the SignalR hub, by the stock client", () => {
  servedTest(
    "a widget that reconnects without registering is identified by its browser's cookie",
    {},
    ({ cut, url }) =>
      Effect.gen(function* () {
        const { connection, nextEvent } = yield* registeredWidget(url)
        const back = reconnected(connection)
        cut()
        yield* Effect.promise(() => back)
        yield* hangUp("web-1")
        assert.strictEqual((yield* nextEvent)[0], "SessionReady")
      }),
    {},
    shared,
  )

  servedTest(
    "a widget that is told to reconnect does so and is identified",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const { connection, nextEvent } = yield* registeredWidget(url)
        const back = reconnected(connection)
        yield* PushChannel.use(({ sendAway = () => Effect.die("it is a channel of this gate") }) => sendAway(100))
        yield* Effect.promise(() => back)
        yield* hangUp("web-1")
        assert.strictEqual((yield* nextEvent)[0], "SessionReady")
      }),
    {},
    shared,
  )

  servedTest(
    "a widget that reconnects during its start gets SessionReady",
    {},
    ({ url, world }) =>
      Effect.gen(function* () {
        yield* begin()
        const ticket = yield* enqueue()
        world.initiate = (n) => Effect.delay(Effect.succeed(session(n)), "1 second")
        yield* hangUp("web-1")
        yield* Effect.forkScoped(post(`${url}/api/session/${ticket}/start`))
        yield* isStarting(ticket)
        const { nextEvent, register } = yield* connectWidget(url)
        yield* register(ticket)
        assert.deepStrictEqual(yield* nextEvent, ["SessionReady", { webSocketUrl: session(2).webSocketUrl }])
      }),
    {},
    shared,
  )

  servedTest(
    "a gate that drains answers the start of a registered ticket, and then lets its client reconnect",
    {},
    ({ drain, url, world }) =>
      Effect.gen(function* () {
        const { connection, nextEvent, ticket } = yield* registeredWidget(url)
        const idle = yield* connectWidget(url)
        const registeredLost = reconnecting(connection)
        const idleLost = reconnecting(idle.connection)
        world.initiate = (n) => Effect.delay(Effect.succeed(session(n)), "1 second")
        yield* hangUp("web-1")
        yield* isStarting(ticket)
        const draining = yield* Effect.forkChild(drain)
        // this one has no start in progress
        yield* Effect.promise(() => idleLost)
        assert.strictEqual(connection.state, HubConnectionState.Connected)
        assert.deepStrictEqual(yield* nextEvent, ["SessionReady", { webSocketUrl: session(2).webSocketUrl }])
        yield* Effect.promise(() => registeredLost)
        yield* Fiber.join(draining)
      }),
    {},
    shared,
  )
})
