/** Push by WebSocket, over a real server: what it sends, what it accepts, and its limits. */
import { once } from "node:events"
import { connect } from "node:net"
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { WebSocket } from "ws"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { delayStarts } from "../../gatekeeper/ticket-support.ts"
import { eventually } from "../../harness/process.ts"
import { hangUp, session } from "../../support/gate.ts"
import { call, servedTest, webSocket } from "../../support/gate-server.ts"
import { eventsOf, has, START, waiting } from "./support.ts"

const HIDDEN = JSON.stringify({ type: "hidden" })
const LEAVE = JSON.stringify({ type: "leave" })

/** A connection that was upgraded, below any client of WebSockets. */
const upgraded = (port: number, path: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true })
      socket.on("error", () => {})
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
      )
      await once(socket, "data")
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy()),
  )

describe.concurrent("a WebSocket", () => {
  servedTest("sends the current state, starts on its turn, and closes after the call", {}, ({ url, world }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const socket = yield* webSocket(eventsOf(url, ticket))
      yield* socket.waitFor("the position", has("position"))
      yield* hangUp("web-1")
      yield* socket.waitFor("the start call", has("start_call"))
      socket.send(START)
      yield* socket.waitFor("the session", has("session"))
      expect(socket.events.at(-1)).toEqual({
        type: "session",
        webSocketUrl: session(2).webSocketUrl,
        sessionId: "web-2",
      })
      // asked again, the same is answered again
      socket.send(START)
      yield* socket.waitFor(
        "the session again",
        (events) => events.filter(({ type }) => type === "session").length === 2,
      )
      expect(world.initiated).toHaveLength(2)
      const again = yield* webSocket(eventsOf(url, ticket))
      yield* again.waitFor("the session, after a reload", has("session"))
      yield* hangUp("conversation-2")
      expect(yield* socket.waitClosed).toBe(1000)
      expect(socket.events.at(-1)).toMatchObject({ type: "ended", reason: "ended" })
    }),
  )

  servedTest("a WebSocket that starts too early is refused each time", {}, ({ url }) =>
    Effect.gen(function* () {
      const socket = yield* webSocket(eventsOf(url, yield* waiting))
      socket.send(START)
      socket.send(START)
      yield* socket.waitFor("two answers", (events) => events.filter(({ type }) => type === "error").length === 2)
      expect(socket.events.filter(({ type }) => type === "error")[1]).toMatchObject({
        code: "not_your_turn",
        message: expect.stringContaining("number 1"),
      })
      expect(socket.closed()).toBeUndefined()
    }),
  )

  servedTest(
    "a WebSocket that says that its page is hidden has twice the time to start, told once more",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const socket = yield* webSocket(eventsOf(url, yield* waiting))
        yield* socket.waitFor("the position", has("position"))
        socket.send(HIDDEN)
        yield* hangUp("web-1")
        yield* socket.waitFor("the start call", has("start_call"))
        socket.send(HIDDEN)
        yield* socket.waitFor(
          "the later time",
          (events) => events.filter(({ type }) => type === "start_call").length === 2,
        )
        const [first, second] = socket.events.flatMap((event) =>
          event.type === "start_call" ? [Date.parse(event.startBefore)] : [],
        )
        expect((second ?? 0) - (first ?? 0)).toBe(30_000)
      }),
  )

  servedTest("a WebSocket that leaves gives up the place, on all its connections", {}, ({ url }) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const ticket = yield* waiting
      const socket = yield* webSocket(eventsOf(url, ticket))
      const other = yield* webSocket(eventsOf(url, ticket))
      socket.send(LEAVE)
      expect(yield* socket.waitClosed).toBe(1000)
      expect(socket.events.at(-1)).toMatchObject({ type: "ended", reason: "left" })
      expect(yield* gate.status(ticket)).toMatchObject({ state: "left" })
      // sent with the next heartbeat
      expect(yield* other.waitClosed).toBe(1000)
      expect(other.events.at(-1)).toMatchObject({ type: "ended", reason: "left" })
    }),
  )

  servedTest(
    "a WebSocket that leaves during a start is told of its end once, when that is over",
    {},
    ({ url, world }) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const ticket = yield* waiting
        const socket = yield* webSocket(eventsOf(url, ticket))
        yield* hangUp("web-1")
        yield* socket.waitFor("the start call", has("start_call"))
        const answer = yield* delayStarts(world)
        socket.send(START)
        yield* Effect.promise(() => eventually("the start", () => world.initiated.length === 2))
        socket.send(LEAVE)
        // answered after the leave was handled
        socket.send("x")
        yield* socket.waitFor("an answer", has("error"))
        yield* answer
        yield* socket.waitFor("the session", has("session"))
        yield* hangUp("web-2")
        expect(yield* socket.waitClosed).toBe(1000)
        const ends = socket.events.filter(({ type }) => type === "ended")
        expect(ends).toMatchObject([{ reason: "ended" }])
        expect(yield* gate.status(ticket)).toMatchObject({ state: "ended" })
      }),
  )

  servedTest("a WebSocket that sends anything else is answered with an error and stays open", {}, ({ url }) =>
    Effect.gen(function* () {
      const socket = yield* webSocket(eventsOf(url, yield* waiting))
      const messages = [
        "",
        "start",
        "{",
        "null",
        "[]",
        '{"type":5}',
        '{"type":"__proto__"}',
        Uint8Array.of(1, 2),
        START,
      ]
      for (const message of messages) socket.send(message)
      yield* socket.waitFor(
        "an answer to each",
        (events) => events.filter(({ type }) => type === "error").length === messages.length,
      )
      const codes = socket.events.flatMap((event) => (event.type === "error" ? [event.code] : []))
      expect(new Set(codes)).toEqual(new Set(["invalid_message", "not_your_turn"]))
      expect(codes.filter((code) => code === "not_your_turn")).toHaveLength(1)
      expect(socket.closed()).toBeUndefined()
    }),
  )

  servedTest("a WebSocket that floods the gate with messages is closed", {}, ({ connected, url }) =>
    Effect.gen(function* () {
      const socket = yield* webSocket(eventsOf(url, yield* waiting))
      for (let n = 0; n < 500; n++) socket.send("{}")
      expect(yield* socket.waitClosed).toBe(1008)
      expect(socket.events.length).toBeLessThan(110)
      yield* Effect.promise(() =>
        eventually("it is gone", async () => (await Effect.runPromise(connected)).length === 0),
      )
    }),
  )

  servedTest(
    "a WebSocket that floods the gate and does not answer its close is terminated soon, and read no more",
    {},
    ({ port, url }) =>
      Effect.gen(function* () {
        const path = new URL(eventsOf(url, yield* waiting)).pathname
        const socket = connect(port, "127.0.0.1")
        yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
        socket.on("error", () => {}).resume()
        socket.write(
          `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
        )
        yield* Effect.promise(() => once(socket, "data"))
        // a text of one letter, masked with zeros
        socket.write(Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78]))))
        yield* Effect.promise(() => eventually("it is gone", () => socket.destroyed, 6_000))
      }),
  )

  servedTest("a WebSocket that floods the gate with pings is closed", {}, ({ url }) =>
    Effect.gen(function* () {
      const ws = new WebSocket(eventsOf(url, yield* waiting).replace(/^http/, "ws"))
      yield* Effect.addFinalizer(() => Effect.sync(() => ws.terminate()))
      const closed: Array<number> = []
      ws.on("close", (code) => closed.push(code))
      yield* Effect.promise(() => once(ws, "open"))
      for (let n = 0; n < 120; n++) {
        ws.ping()
        // not more at once than may wait for their pongs
        if (n % 20 === 0) yield* Effect.sleep(5)
      }
      yield* Effect.promise(() => eventually("it is closed", () => closed.length > 0, 6_000))
      expect(closed).toEqual([1008])
    }),
  )

  servedTest("a WebSocket that floods the gate with pongs is closed", {}, ({ port, url }) =>
    Effect.gen(function* () {
      const socket = yield* upgraded(port, `/api/session/${yield* waiting}/events`)
      socket.write(Buffer.from("8a8000000000".repeat(150), "hex"))
      yield* Effect.promise(() => once(socket, "close"))
      expect((yield* call(`${url}/health/live`)).status).toBe(200)
    }),
  )

  servedTest("a WebSocket that sends a long message is closed", {}, ({ url }) =>
    Effect.gen(function* () {
      const socket = yield* webSocket(eventsOf(url, yield* waiting))
      socket.send("x".repeat(2048))
      expect([1006, 1009]).toContain(yield* socket.waitClosed)
    }),
  )

  servedTest(
    "a WebSocket that sends one message in many fragments, or one frame in many pieces, is closed",
    {},
    ({ port, url }) =>
      Effect.gen(function* () {
        const path = `/api/session/${yield* waiting}/events`
        const fragments = yield* upgraded(port, path)
        // masked with zeros: the beginning of a text, and its continuation, a byte each
        fragments.write(Buffer.from("018100000000".concat("61", "00810000000061".repeat(30)), "hex"))
        yield* Effect.promise(() => once(fragments, "close"))
        const pieces = yield* upgraded(port, path)
        pieces.write(Buffer.from("81fe02580000000061", "hex"))
        let closed = false
        pieces.on("close", () => {
          closed = true
        })
        for (let sent = 1; sent < 0x258 && !closed; sent++) {
          pieces.write("a")
          // apart from the one before, or the network would join them
          yield* Effect.sleep(1)
        }
        expect(closed).toBe(true)
        expect((yield* call(`${url}/health/live`)).status).toBe(200)
      }),
  )

  servedTest("a WebSocket beyond the third of a ticket replaces the first", {}, ({ url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const sockets = yield* Effect.forEach([1, 2, 3, 4], () => webSocket(eventsOf(url, ticket)))
      expect(yield* sockets[0]?.waitClosed ?? Effect.succeed(0)).toBe(1008)
      expect(sockets.slice(1).map((socket) => socket.closed())).toEqual([undefined, undefined, undefined])
    }),
  )
})
