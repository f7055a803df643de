/** The gate's client against the platform, over loopback. */
import { once } from "node:events"
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { sign } from "../../src/lib/standard-webhooks.ts"
import { TOKEN_LIFETIME_MILLIS } from "../../src/platform/calls/WebSessions.ts"
import { SHUTDOWN_MILLIS } from "../../src/platform/http/server.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { running } from "./running.ts"
import { type Scripted, scriptedServer, sessionConfig, until } from "./support.ts"

const signingSecret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

/** Opens a WebSocket; closed with the scope. Frames arrive as text or bytes, in order. */
const open = Effect.fnUntraced(function* (url: string) {
  const socket = new WebSocket(url)
  const frames: Array<string | Buffer> = []
  socket.on("message", (data, binary) => {
    const bytes = Array.isArray(data)
      ? Buffer.concat(data)
      : Buffer.from(data instanceof ArrayBuffer ? new Uint8Array(data) : data)
    frames.push(binary ? bytes : bytes.toString())
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => socket.terminate()))
  yield* Effect.callback<void, string>((resume) => {
    socket.once("open", () => resume(Effect.void))
    socket.once("error", (error) => resume(Effect.fail(error.message)))
  })
  return { socket, frames }
})

describe("the local platform", () => {
  it.live("says the address and the reason when it cannot listen", () =>
    Effect.gen(function* () {
      const { origin } = Context.get(yield* Layer.build(Platform.layer()), Platform.Platform)
      const port = Number(new URL(origin).port)
      const failed = yield* Effect.flip(Layer.build(Platform.layer({ port })))
      assert.strictEqual(failed._tag, "ListenFailed")
      assert.include(failed.message, `cannot listen on 127.0.0.1:${port} (EADDRINUSE): another program listens there`)
    }),
  )

  it.effect("starts sessions for the gate's client until its limit, and again after one ended", () =>
    Effect.gen(function* () {
      const { keys, client } = yield* running()
      const api = yield* client(keys.users)
      assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 2, inUse: 0 })
      const first = yield* api.initiate(sessionConfig(), "a")
      yield* api.initiate(
        sessionConfig({ clientIdentifier: "me", dynamicVariables: { a: "b" }, metadata: { c: "d" } }),
        "a",
      )
      assert.lengthOf(first.sessionIds, 2)
      assert.match(first.webSocketUrl, /^ws:\/\/127\.0\.0\.1:\d+\/session\//)
      assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 2, inUse: 2 })
      assert.strictEqual((yield* Effect.flip(api.initiate(sessionConfig(), "a"))).reason._tag, "AtCapacity")
      const [id = ""] = first.sessionIds
      assert.strictEqual((yield* api.sessionStatus("default", id)).status, "running")
      yield* TestClock.adjust(TOKEN_LIFETIME_MILLIS)
      assert.strictEqual((yield* api.sessionStatus("default", id)).status, "over")
      assert.strictEqual((yield* api.sessionStatus("default", "nobody")).status, "unknown")
      assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 2, inUse: 0 })
      yield* api.initiate(sessionConfig(), "a")
    }),
  )

  it.live("greets in text and echoes the caller's bytes a second later, in order", () =>
    Effect.gen(function* () {
      const { keys, client } = yield* running()
      const api = yield* client(keys.gate)
      const { webSocketUrl } = yield* api.initiate(sessionConfig(), "a")
      const { socket, frames } = yield* open(webSocketUrl)
      yield* until(() => frames.length === 1)
      assert.deepInclude(JSON.parse(String(frames[0])), { type: "greeting" })
      const sent = Array.from({ length: 50 }, (_, i) => Buffer.alloc(640, i))
      const before = yield* Clock.currentTimeMillis
      for (const frame of sent) socket.send(frame)
      yield* until(() => frames.length > 1)
      const after = yield* Clock.currentTimeMillis
      assert.isAtLeast(after - before, 990)
      yield* until(() => frames.length === 51)
      assert.isTrue(Buffer.concat(sent).equals(Buffer.concat(frames.slice(1).map((frame) => Buffer.from(frame)))))
      assert.deepStrictEqual(
        frames.slice(1).map((frame) => frame.length),
        sent.map((frame) => frame.length),
      )
    }),
  )

  it.effect("opens a session's WebSocket once, and only with its token", () =>
    Effect.gen(function* () {
      const { keys, client } = yield* running()
      const api = yield* client(keys.gate)
      const { webSocketUrl } = yield* api.initiate(sessionConfig(), "a")
      assert.include(yield* Effect.flip(open(`${webSocketUrl}x`)), "401")
      assert.include(yield* Effect.flip(open(webSocketUrl.replace(/\?.*/, ""))), "401")
      yield* open(webSocketUrl)
      assert.include(yield* Effect.flip(open(webSocketUrl)), "401")
      const plain = yield* Effect.promise(() => fetch(webSocketUrl.replace("ws:", "http:")))
      assert.strictEqual(plain.status, 426)
    }),
  )

  it.effect("sends session-ended, signed, when the socket closes, and frees the call", () =>
    Effect.gen(function* () {
      const receiver = yield* scriptedServer(() => ({ status: 200, body: "{}" }))
      const headers = { "X-Api-Token": Redacted.make("t0ken") }
      const { keys, client } = yield* running({
        url: `${receiver.url}api/webhook/session-ended`,
        headers,
        signingSecret,
      })
      const api = yield* client(keys.users)
      const session = yield* api.initiate(sessionConfig(), "a")
      const { socket } = yield* open(session.webSocketUrl)
      assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 2, inUse: 1 })
      assert.lengthOf(receiver.received, 0)
      socket.close()
      yield* until(() => receiver.received.length === 1)
      const [sent] = receiver.received
      const [webSessionId = "", conversationSessionId] = session.sessionIds
      assert.strictEqual(sent?.method, "POST")
      assert.strictEqual(sent?.url, "/api/webhook/session-ended")
      assert.deepStrictEqual(JSON.parse(sent?.body ?? ""), {
        ConversationSessionId: conversationSessionId,
        WebSessionId: webSessionId,
      })
      assert.strictEqual(sent?.headers["x-api-token"], "t0ken")
      const id = String(sent?.headers["webhook-id"])
      const timestamp = String(sent?.headers["webhook-timestamp"])
      assert.strictEqual(
        sent?.headers["webhook-signature"],
        sign(Redacted.value(signingSecret), id, timestamp, sent?.body ?? ""),
      )
      assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 2, inUse: 0 })
      assert.strictEqual((yield* api.sessionStatus("default", webSessionId)).status, "over")
    }),
  )

  it.effect("ends a session for the gate's client, closes its WebSocket and sends session-ended once", () =>
    Effect.gen(function* () {
      const receiver = yield* scriptedServer(() => ({ status: 200, body: "{}" }))
      const { keys, client } = yield* running({ url: receiver.url, headers: {} })
      const api = yield* client(keys.gate)
      const session = yield* api.initiate(sessionConfig(), "a")
      const { socket } = yield* open(session.webSocketUrl)
      const closed: Array<number> = []
      socket.on("close", (code) => closed.push(code))
      assert.isTrue(yield* api.end?.("default", session) ?? Effect.succeed(false))
      yield* until(() => closed.length === 1)
      yield* until(() => receiver.received.length === 1)
      assert.isTrue(yield* api.end?.("default", session) ?? Effect.succeed(false))
      assert.strictEqual((yield* api.sessionStatus("default", session.sessionIds[0] ?? "")).status, "over")
      const unopened = yield* api.initiate(sessionConfig(), "a")
      assert.isTrue(yield* api.end?.("default", unopened) ?? Effect.succeed(false))
      assert.include(yield* Effect.flip(open(unopened.webSocketUrl)), "401")
      yield* until(() => receiver.received.length === 2)
    }),
  )

  it.live("announces in its greeting that it answers pings, which are no texts of the caller", () =>
    Effect.gen(function* () {
      const { keys, client } = yield* running()
      const api = yield* client(keys.gate)
      const { socket, frames } = yield* open((yield* api.initiate(sessionConfig(), "a")).webSocketUrl)
      yield* until(() => frames.length === 1)
      assert.deepInclude(JSON.parse(String(frames[0])), { type: "greeting", capabilities: ["ping", "text"] })
      for (let n = 0; n < 30; n++) socket.send('{"type":"ping"}')
      yield* until(() => frames.length === 31)
      assert.deepStrictEqual(new Set(frames.slice(1)), new Set(['{"type":"pong"}']))
      socket.send('{"type":"text","text":"ping"}')
      yield* until(() => frames.length === 32)
      assert.deepInclude(JSON.parse(String(frames[31])), { text: "You wrote: ping" })
    }),
  )

  it.effect("retries session-ended with the same id until a failing receiver accepts it", () =>
    Effect.gen(function* () {
      const receiver = yield* scriptedServer((_, index): Scripted => {
        if (index === 0) return "reset"
        return { status: index === 1 ? 500 : 200, body: "{}" }
      })
      const { keys, client } = yield* running({ url: receiver.url, headers: {} })
      const api = yield* client(keys.gate)
      const { socket } = yield* open((yield* api.initiate(sessionConfig(), "a")).webSocketUrl)
      socket.terminate()
      // Ten times as fast as real time, which is still far slower than the receiver's answers.
      const pass = Effect.andThen(TestClock.adjust("100 millis"), Effect.promise(pause))
      yield* Effect.raceFirst(
        Effect.forever(pass),
        until(() => receiver.received.length === 3),
      )
      assert.strictEqual(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 1)
      assert.strictEqual(new Set(receiver.received.map(({ body }) => body)).size, 1)
      assert.notProperty(receiver.received[0]?.headers, "webhook-signature")
    }),
  )

  it.effect("refuses a key out of its scope, with the reason", () =>
    Effect.gen(function* () {
      const { keys, client } = yield* running()
      const start = (secret: Redacted.Redacted<string>) =>
        Effect.flatMap(client(secret), (api) =>
          Effect.map(Effect.flip(api.initiate(sessionConfig(), "a")), ({ reason }) => reason),
        )
      assert.deepInclude(yield* start(keys.restricted), { status: 403, code: "RESTRICTED_API_KEY" })
      assert.deepInclude(yield* start(keys.none), { status: 403, code: "RESTRICTED_API_KEY" })
      assert.deepInclude(yield* start(keys.other), { status: 404, code: "BUSINESS_NOT_FOUND" })
      assert.deepInclude(yield* start(Redacted.make("vgp_wrong")), { status: 401, code: "API_KEY_INVALID" })
      const restricted = yield* client(keys.restricted, "b2")
      const [business, ...others] = yield* restricted.verify("default")
      assert.deepInclude(business, { subject: "platform", state: "ok" })
      assert.include(business?.detail, "Cafe")
      // the campaign belongs to another business, and the region exists
      assert.deepEqual(
        others.map(({ state, subject }) => [subject, state]),
        [
          ["web campaign", "failed"],
          ["region", "ok"],
        ],
      )
      const { reason } = yield* Effect.flip(restricted.concurrency("default"))
      assert.deepInclude(reason, { status: 403, code: "API_ACCESS_MANAGEMENT_RESTRICTION" })
    }),
  )

  it.live("stops in time whatever its clients do, and closes running calls", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { platform, keys, client } = yield* Scope.provide(running(), scope)
      const api = yield* client(keys.users)
      const { hostname, host, port } = new URL(platform.origin)
      /** A connection that sends this text and then nothing; it stays open on the client's side. */
      const sendText = Effect.fnUntraced(function* (text: string) {
        const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
        yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
        socket.on("error", () => {})
        yield* Effect.promise(() => once(socket, "connect"))
        socket.write(text)
        return socket
      })
      const handshake = (path: string) =>
        [
          `GET ${path} HTTP/1.1`,
          `Host: ${host}`,
          "Connection: Upgrade",
          "Upgrade: websocket",
          "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
          "\r\n",
        ].join("\r\n")
      yield* sendText("")
      yield* sendText("GET /docs HTTP/1.1\r\nHos")
      const { pathname, search } = new URL((yield* api.initiate(sessionConfig(), "a")).webSocketUrl)
      const silent = yield* sendText(handshake(pathname + search))
      yield* Effect.promise(() => once(silent, "data"))
      const { socket } = yield* open((yield* api.initiate(sessionConfig(), "a")).webSocketUrl)
      const closed = once(socket, "close")
      // read by the server in the same turn as its end, or not at all
      yield* sendText(handshake("/session/x?token=y")).pipe(Effect.map((late) => late.destroySoon()))

      const began = performance.now()
      yield* Scope.close(scope, Exit.void)
      assert.isBelow(performance.now() - began, SHUTDOWN_MILLIS + 2_000)
      assert.strictEqual((yield* Effect.promise(() => closed))[0], 1001)
      const again = yield* Effect.exit(sendText(""))
      assert.isTrue(Exit.isFailure(again))
    }),
  )
})

/** Waits ten milliseconds of real time, so that this process reads its sockets. */
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 10))
