/** Push connections that are told to reconnect, and starts that are in progress then. */
import { expect } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { PushChannel } from "../../../src/push-channel/PushChannel.ts"
import { eventually } from "../../harness/process.ts"
import { hangUp, session } from "../../support/gate.ts"
import { call, eventStream, servedTest, webSocket } from "../../support/gate-server.ts"
import { eventsOf, has, START, waiting } from "./support.ts"

servedTest(
  "a gate that drains tells push connections to reconnect, and also those that still connect",
  {},
  ({ drain, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const socket = yield* webSocket(eventsOf(url, ticket))
      const stream = yield* eventStream(eventsOf(url, ticket))
      yield* stream.waitFor("the position", has("position"))
      yield* drain
      expect(yield* socket.waitClosed).toBe(1001)
      yield* stream.waitClosed
      const late = yield* webSocket(eventsOf(url, ticket))
      expect(yield* late.waitClosed).toBe(1001)
      for (const { events } of [socket, stream, late])
        expect(events.some(({ type }) => type === "reconnect")).toBe(true)
      // its place is kept until it reconnects
      expect((yield* call(`${url}/api/session/${ticket}`)).body.state).toBe("waiting")
    }),
)

servedTest("pages are told to reconnect, and pages that still connect are served", {}, ({ url }) =>
  Effect.gen(function* () {
    const ticket = yield* waiting
    const socket = yield* webSocket(eventsOf(url, ticket))
    const stream = yield* eventStream(eventsOf(url, ticket))
    yield* stream.waitFor("the position", has("position"))
    yield* PushChannel.use(({ sendAway = () => Effect.die("it is a channel of this gate") }) => sendAway(100))
    expect(yield* socket.waitClosed).toBe(1001)
    yield* stream.waitClosed
    for (const { events } of [socket, stream]) {
      expect(events.filter(({ type }) => type === "reconnect")).toHaveLength(1)
    }
    const late = yield* webSocket(eventsOf(url, ticket))
    yield* late.waitFor("the position", has("position"))
    expect(late.closed()).toBeUndefined()
  }),
)

servedTest(
  "a gate that drains answers a start on the connection that requested it, and then tells it to reconnect",
  {},
  ({ drain, url, world }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const requester = yield* webSocket(eventsOf(url, ticket))
      const observer = yield* webSocket(eventsOf(url, ticket))
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      yield* hangUp("web-1")
      yield* requester.waitFor("the start call", has("start_call"))
      requester.send(START)
      yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
      const draining = yield* Effect.forkChild(drain)
      // the other connection has no start in progress
      expect(yield* observer.waitClosed).toBe(1001)
      expect(requester.closed()).toBe(undefined)
      expect(requester.events.some(({ type }) => type === "reconnect")).toBe(false)
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(draining)
      expect(yield* requester.waitClosed).toBe(1001)
      expect(requester.events.slice(-2)).toEqual([
        { type: "session", webSocketUrl: session(2).webSocketUrl, sessionId: "web-2" },
        { type: "reconnect", message: expect.any(String) },
      ])
    }),
)

servedTest(
  "a start over a WebSocket is refused when the gate drains, and the one in progress is answered",
  {},
  ({ drain, url, world }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const socket = yield* webSocket(eventsOf(url, ticket))
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      yield* hangUp("web-1")
      yield* socket.waitFor("the start call", has("start_call"))
      socket.send(START)
      yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
      yield* Effect.forkChild(drain)
      yield* Effect.promise(() =>
        eventually("it drains", async () => (await fetch(`${url}/health/ready`)).status === 503),
      )
      socket.send(START)
      yield* socket.waitFor("the refusal", has("error"))
      expect(socket.events.at(-1)).toMatchObject({ type: "error", code: "draining" })
      yield* Deferred.succeed(answer, undefined)
      yield* socket.waitFor("the session", has("session"))
      expect(yield* socket.waitClosed).toBe(1001)
      expect(world.initiated).toHaveLength(2)
    }),
)
