/** Push over a real server, by WebSocket and by Server-Sent Events. */
import { once } from "node:events"
import { connect } from "node:net"
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { WebSocket } from "ws"
import { eventually } from "../../scripts/harness/process.ts"
import { Gatekeeper } from "../../src/Gatekeeper.ts"
import { PushChannel } from "../../src/PushChannel.ts"
import { begin, enqueue, hangUp, session, type World } from "../support/gate.ts"
import { call, eventStream, post, refusedUpgrade, servedTest, webSocket } from "../support/gate-server.ts"

const eventsOf = (url: string, ticket: string): string => `${url}/api/session/${ticket}/events`
const has = (type: string) => (events: ReadonlyArray<{ readonly type: string }>) =>
  events.some((event) => event.type === type)

/** A running call and a ticket that waits behind it. */
const waiting = Effect.andThen(begin("203.0.113.1"), enqueue("203.0.113.2"))

const START = JSON.stringify({ type: "start" })
const LEAVE = JSON.stringify({ type: "leave" })

describe("a stream of Server-Sent Events", () => {
  servedTest("sends position, start call and end, and then closes", {}, ({ connected, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const stream = yield* eventStream(eventsOf(url, ticket))
      expect(stream.headers.get("content-type")).toMatch(/^text\/event-stream/)
      expect(stream.headers.get("cache-control")).toBe("no-store")
      yield* stream.waitFor("the position", has("position"))
      expect(stream.events).toEqual([{ type: "position", position: 1, queueLength: 1, estimatedWaitSeconds: null }])
      expect(stream.text()).toMatch(/^event: position\ndata: \{"type":"position",.*\}\n\n$/)
      expect(yield* connected).toEqual([ticket])
      yield* hangUp("web-1")
      yield* stream.waitFor("the start call", has("start_call"))
      expect((yield* post(`${url}/api/session/${ticket}/start`)).status).toBe(200)
      yield* hangUp("web-2")
      yield* stream.waitFor("the end", has("ended"))
      yield* stream.waitClosed
      expect(stream.events.map(({ type }) => type)).toEqual(["position", "start_call", "ended"])
      expect(yield* connected).toEqual([])
    }),
  )

  servedTest("of a called ticket begins with the start call", {}, ({ url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      yield* hangUp("web-1")
      const stream = yield* eventStream(eventsOf(url, ticket))
      yield* stream.waitFor("the start call", has("start_call"))
      expect(stream.events).toHaveLength(1)
    }),
  )

  servedTest("ends its presence when the page closes", {}, ({ connected, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      yield* Effect.scoped(
        Effect.andThen(
          eventStream(eventsOf(url, ticket)),
          Effect.promise(() =>
            eventually("it is connected", async () => (await Effect.runPromise(connected)).length === 1),
          ),
        ),
      )
      yield* Effect.promise(() =>
        eventually("it is gone", async () => (await Effect.runPromise(connected)).length === 0),
      )
    }),
  )
})

servedTest("a page that stops reading its stream is cut off", {}, ({ connected, port }) =>
  Effect.gen(function* () {
    const ticket = yield* waiting
    const channel = yield* PushChannel
    let closed = false
    const socket = connect(port, "127.0.0.1")
    socket.on("close", () => {
      closed = true
    })
    socket.on("error", () => {})
    socket.pause()
    socket.write(`GET /api/session/${ticket}/events HTTP/1.1\r\nhost: gate\r\n\r\n`)
    const isConnected = async () => (await Effect.runPromise(connected)).length === 1
    yield* Effect.promise(() => eventually("it is connected", isConnected))
    for (let n = 0; n < 500_000 && (yield* connected).length > 0; n++) {
      yield* channel.send(ticket, { type: "position", position: n, queueLength: n, estimatedWaitSeconds: null })
      // lets the kernel take what it will
      if (n % 1000 === 0) yield* Effect.sleep(0)
    }
    expect(yield* connected).toEqual([])
    socket.resume()
    yield* Effect.promise(() => eventually("it is closed", () => closed))
  }),
)

/** A ticket whose start the platform has not answered yet, and the answer. */
const beingStarted = (url: string, world: World) =>
  Effect.gen(function* () {
    const ticket = yield* waiting
    const answer = yield* Deferred.make<void>()
    world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
    yield* hangUp("web-1")
    yield* Effect.forkScoped(post(`${url}/api/session/${ticket}/start`))
    yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
    return { ticket, answered: Deferred.succeed(answer, undefined) }
  })

describe("a page that returns during its start", () => {
  servedTest("gets the session over its WebSocket", {}, ({ url, world }) =>
    Effect.gen(function* () {
      const { answered, ticket } = yield* beingStarted(url, world)
      const socket = yield* webSocket(eventsOf(url, ticket))
      yield* answered
      yield* socket.waitFor("the session", has("session"))
      expect(socket.events).toEqual([
        { type: "session", webSocketUrl: session(2).webSocketUrl, sessionId: session(2).sessionIds[0] },
      ])
    }),
  )

  servedTest("gets it in its event stream too", {}, ({ url, world }) =>
    Effect.gen(function* () {
      const { answered, ticket } = yield* beingStarted(url, world)
      const stream = yield* eventStream(eventsOf(url, ticket))
      yield* answered
      yield* stream.waitFor("the session", has("session"))
    }),
  )

  servedTest("and closes again is not waited for", {}, ({ connected, url, world }) =>
    Effect.gen(function* () {
      const { answered, ticket } = yield* beingStarted(url, world)
      const socket = yield* webSocket(eventsOf(url, ticket))
      socket.close()
      yield* socket.waitClosed
      yield* answered
      yield* Effect.promise(() =>
        eventually("it is gone", async () => (await Effect.runPromise(connected)).length === 0),
      )
      expect(socket.events).toEqual([])
    }),
  )
})

describe("a WebSocket", () => {
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

  servedTest("that starts too early is refused each time", {}, ({ url }) =>
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

  servedTest("that leaves gives up the place, on all its connections", {}, ({ url }) =>
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

  servedTest("that sends anything else is answered with an error and stays open", {}, ({ url }) =>
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

  servedTest("that floods the gate with messages is closed", {}, ({ connected, url }) =>
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
    "that floods the gate and does not answer its close is terminated soon, and read no more",
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

  servedTest("that floods the gate with pings is closed", {}, ({ url }) =>
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

  servedTest("that sends a long message is closed", {}, ({ url }) =>
    Effect.gen(function* () {
      const socket = yield* webSocket(eventsOf(url, yield* waiting))
      socket.send("x".repeat(2048))
      expect([1006, 1009]).toContain(yield* socket.waitClosed)
    }),
  )

  servedTest("beyond the third of a ticket replaces the first", {}, ({ url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const sockets = yield* Effect.forEach([1, 2, 3, 4], () => webSocket(eventsOf(url, ticket)))
      expect(yield* sockets[0]?.waitClosed ?? Effect.succeed(0)).toBe(1008)
      expect(sockets.slice(1).map((socket) => socket.closed())).toEqual([undefined, undefined, undefined])
    }),
  )
})

describe("an upgrade", () => {
  const shop = { Security: { AllowedOrigins: ["https://shop.example"] } }
  servedTest("of a foreign page is refused, of an allowed one accepted", shop, ({ port, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const path = `/api/session/${ticket}/events`
      const foreign = yield* refusedUpgrade(port, path, { origin: "https://evil.example" })
      expect([foreign.status, foreign.body.code]).toEqual([403, "origin_not_allowed"])
      const socket = yield* webSocket(eventsOf(url, ticket), { origin: "https://shop.example" })
      yield* socket.waitFor("the position", has("position"))
    }),
  )

  servedTest("for an unknown ticket or another path is refused with the reason", {}, ({ port }) =>
    Effect.gen(function* () {
      const unknown = yield* refusedUpgrade(port, "/api/session/nobody/events")
      expect([unknown.status, unknown.body.code]).toEqual([404, "ticket_unknown"])
      for (const path of ["/", "/api/session/request", "/health/live"]) {
        const { body, status } = yield* refusedUpgrade(port, path)
        expect([path, status, body.code]).toEqual([path, 404, "not_found"])
      }
    }),
  )

  servedTest("with a broken handshake is refused and leaves no connection behind", {}, ({ connected, port }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const path = `/api/session/${ticket}/events`
      expect((yield* refusedUpgrade(port, path, { "sec-websocket-key": "short" })).status).toBe(400)
      expect((yield* refusedUpgrade(port, path, { "sec-websocket-version": "7" })).status).toBe(400)
      yield* Effect.promise(() =>
        eventually("none is left", async () => (await Effect.runPromise(connected)).length === 0),
      )
    }),
  )
})

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
      const asks = yield* webSocket(eventsOf(url, ticket))
      const looks = yield* webSocket(eventsOf(url, ticket))
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      yield* hangUp("web-1")
      yield* asks.waitFor("the start call", has("start_call"))
      asks.send(START)
      yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
      const draining = yield* Effect.forkChild(drain)
      // the other connection has no start in progress
      expect(yield* looks.waitClosed).toBe(1001)
      expect(asks.closed()).toBe(undefined)
      expect(asks.events.some(({ type }) => type === "reconnect")).toBe(false)
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(draining)
      expect(yield* asks.waitClosed).toBe(1001)
      expect(asks.events.slice(-2)).toEqual([
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

servedTest(
  "push works below the path where a host mounted the gate",
  {},
  ({ url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const socket = yield* webSocket(eventsOf(`${url}/voice`, ticket))
      const stream = yield* eventStream(eventsOf(`${url}/voice`, ticket))
      yield* socket.waitFor("the position", has("position"))
      yield* stream.waitFor("the position", has("position"))
    }),
  { basePath: "/voice" },
)
