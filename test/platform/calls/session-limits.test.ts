/** Limits of a session's WebSocket, and when the platform ends a session. Over loopback. */
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket, WebSocketServer } from "ws"
import { MAX_BUFFERED_BYTES, TEXT_BURST } from "../../../src/platform/calls/agent.ts"
import { MAX_UNREAD_BYTES, makeSessionSockets } from "../../../src/platform/http/session-socket.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { prepare, until } from "../support.ts"

const readEnvelope = Schema.decodeUnknownSync(
  Schema.Struct({ message: Schema.NullOr(Schema.String), data: Schema.Any }),
)
const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }

const running = Effect.fnUntraced(function* (options: Platform.Options = {}) {
  const context = yield* Layer.build(
    Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 }, ...options }),
  )
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const { baseUrl } = Context.get(context, Platform.Platform)
  const call = (method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(baseUrl + path, {
        method,
        headers: { authorization: `Token ${Redacted.value(keys.all)}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, ...readEnvelope(await response.json()) }
    })
  /** A session whose WebSocket is open and has greeted; terminated with the scope. */
  const open = Effect.gen(function* () {
    const { data } = yield* call("POST", "business/b1/websession/initiate", {
      transportType: 0,
      webCampaignId: "c1",
      regionId: "eu",
      audioInputConfiguration: audio,
      audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
    })
    const socket = new WebSocket(data.sessionWebSocketURL)
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.terminate()))
    const closed: Array<string> = []
    let texts = 0
    socket.on("message", (_data, binary) => {
      if (!binary) texts++
    })
    socket.on("error", () => {})
    socket.on("close", (code, reason) => closed.push(`${code} ${reason}`))
    yield* until(() => texts === 1)
    const session = Effect.map(
      call("POST", `business/b1/websession/history/${data.webSessionId}`),
      (found) => found.data,
    )
    return {
      socket,
      closed,
      session,
      texts: () => texts,
      conversation: `business/b1/conversations/${data.conversationSessionId}`,
    }
  })
  return { call, open }
})

const ended = { until: ({ endedAt }: { readonly endedAt: string | null }) => endedAt !== null }

describe.concurrent("a session's WebSocket", { timeout: 20_000 }, () => {
  it.live("is closed when its client sends and does not read", () =>
    Effect.gen(function* () {
      const { open } = yield* running()
      const { session, socket } = yield* open
      socket.pause()
      const frame = Buffer.alloc(64 * 1024)
      const timer = setInterval(() => {
        if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount < MAX_BUFFERED_BYTES) socket.send(frame)
      }, 1)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
      const { endedAt } = yield* session.pipe(Effect.delay(100), Effect.repeat(ended), Effect.timeout(15_000))
      assert.isString(endedAt)
    }),
  )

  it.live("is closed with 1013 and a reason when too much is unread", () =>
    Effect.gen(function* () {
      const { options } = makeSessionSockets()
      const server = new WebSocketServer({ ...options, host: "127.0.0.1", port: 0 })
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const accepted: Array<WebSocket> = []
      server.on("connection", (socket) => accepted.push(socket))
      yield* Effect.promise(() => once(server, "listening"))
      const address = server.address()
      if (address === null || typeof address === "string") return yield* Effect.die("a TCP server has a port")
      const near = new WebSocket(`ws://127.0.0.1:${address.port}`)
      yield* Effect.addFinalizer(() => Effect.sync(() => near.terminate()))
      yield* until(() => near.readyState === WebSocket.OPEN && accepted.length === 1)
      const [far] = accepted
      if (far === undefined) return yield* Effect.die("a connection")
      near.pause()
      // More than the kernel's buffers and the limit.
      while (far.bufferedAmount <= MAX_UNREAD_BYTES) {
        far.send(Buffer.alloc(256 * 1024))
        yield* Effect.sleep(1)
      }
      assert.strictEqual(far.readyState, WebSocket.OPEN)
      near.send("hello")
      yield* until(() => far.readyState === WebSocket.CLOSING)
      const closed = Effect.promise(() => once(near, "close"))
      near.resume()
      const [code, reason] = yield* closed
      assert.strictEqual(`${code} ${reason}`, "1013 the client does not read its data")
    }),
  )

  it.live(
    "accepts a burst of texts and then a few per second; a client that sends more is closed with a reason, and little is recorded",
    () =>
      Effect.gen(function* () {
        const { call, open } = yield* running()
        const { closed, conversation, socket, texts } = yield* open
        for (let i = 0; i < TEXT_BURST / 2; i++) socket.send("hello")
        yield* until(() => texts() === 1 + TEXT_BURST / 2)
        for (let i = 0; i < 2_000; i++) socket.send("ten bytes!")
        yield* until(() => closed.length > 0).pipe(Effect.timeout(10_000))
        assert.deepStrictEqual(closed, ["1008 more than 2 text messages per second"])
        const { data } = yield* call("GET", conversation)
        assert.isAtMost(data.turns.length, 1 + 2 * (TEXT_BURST + 10))
      }),
  )

  for (const [what, send] of [
    ["pongs", (socket: WebSocket) => socket.pong()],
    ["audio frames without audio", (socket: WebSocket) => socket.send(new Uint8Array())],
  ] as const) {
    it.live(`is closed with a reason when it sends a flood of ${what}`, () =>
      Effect.gen(function* () {
        const { open } = yield* running()
        const { closed, socket } = yield* open
        for (let i = 0; i < 20_000; i++) send(socket)
        yield* until(() => closed.length > 0).pipe(Effect.timeout(10_000))
        assert.deepStrictEqual(closed, ["1008 more than 1000 frames per second"])
      }),
    )
  }

  it.live("is closed when it sends a flood of pings faster than it reads the pongs", () =>
    Effect.gen(function* () {
      const { open } = yield* running()
      const { closed, socket } = yield* open
      for (let i = 0; i < 20_000; i++) socket.ping()
      yield* until(() => closed.length > 0).pipe(Effect.timeout(10_000))
      // ws terminates a connection with 60 unsent pongs.
      assert.match(closed[0] ?? "", /^(1006 |1008 more than 1000 frames per second)$/)
    }),
  )

  it.live("is closed when a message comes in a flood of fragments", () =>
    Effect.gen(function* () {
      const { open } = yield* running()
      const { closed, socket } = yield* open
      for (let i = 0; i < 200; i++) socket.send(Buffer.alloc(1), { fin: false })
      yield* until(() => closed.length > 0).pipe(Effect.timeout(10_000))
      assert.match(closed[0] ?? "", /^1008/)
    }),
  )

  it.live("accepts ten seconds of audio at once when the client reads the echo", () =>
    Effect.gen(function* () {
      const { open } = yield* running()
      const { closed, socket } = yield* open
      let bytes = 0
      socket.on("message", (data, binary) => {
        if (binary && Buffer.isBuffer(data)) bytes += data.length
      })
      for (let i = 0; i < 500; i++) socket.send(Buffer.alloc(640))
      yield* until(() => bytes === 500 * 640).pipe(Effect.timeout(10_000))
      assert.deepStrictEqual(closed, [])
    }),
  )

  it.effect(
    "is closed, and its session ends, when the caller was silent for the idle time, whatever pings it sent",
    () =>
      Effect.gen(function* () {
        const { open } = yield* running({ idleSeconds: 60 })
        const { closed, session, socket, texts } = yield* open
        const quiet = yield* open
        yield* TestClock.adjust("40 seconds")
        socket.send("still here")
        yield* until(() => texts() === 2)
        quiet.socket.ping()
        yield* Effect.callback<void>((resume) => {
          quiet.socket.once("pong", () => resume(Effect.void))
        })
        yield* TestClock.adjust("21 seconds")
        yield* until(() => quiet.closed.length > 0)
        assert.deepStrictEqual(quiet.closed, ["1000 the caller was silent for 60 s"])
        yield* quiet.session.pipe(Effect.repeat(ended))
        assert.deepStrictEqual(closed, [])
        assert.isNull((yield* session).endedAt)
      }),
  )

  it.effect("is not closed for being idle when the idle time is 0", () =>
    Effect.gen(function* () {
      const { open } = yield* running({ idleSeconds: 0 })
      const { closed, session } = yield* open
      yield* TestClock.adjust("29 minutes")
      assert.isNull((yield* session).endedAt)
      assert.deepStrictEqual(closed, [])
    }),
  )

  it.effect("is closed, and its session ends, at the longest call of its campaign, counted from its start", () =>
    Effect.gen(function* () {
      const { call, open } = yield* running({ idleSeconds: 0 })
      assert.strictEqual((yield* call("PATCH", "business/b1/webcampaigns/c1", { maxCallMinutes: 2 })).status, 200)
      yield* TestClock.setTime(1_000)
      const { closed, session } = yield* open
      assert.strictEqual((yield* session).endsBy, "1970-01-01T00:02:01.000Z")
      yield* TestClock.setTime(120_000)
      assert.isNull((yield* session).endedAt)
      yield* TestClock.setTime(121_000)
      yield* until(() => closed.length > 0)
      assert.deepStrictEqual(closed, ["1000 the call has reached the longest duration of its campaign"])
      const { endedAt } = yield* session.pipe(Effect.repeat(ended))
      assert.strictEqual(endedAt, "1970-01-01T00:02:01.000Z")
    }),
  )

  it.effect("belongs to a campaign whose longest call is 1 to 1440 minutes, 30 by default", () =>
    Effect.gen(function* () {
      const { call } = yield* running()
      const path = "business/b1/webcampaigns"
      assert.strictEqual((yield* call("GET", `${path}/c1`)).data.maxCallMinutes, 30)
      const made = yield* call("POST", path, { name: "Short", maxCallMinutes: 15 })
      assert.strictEqual(made.data.maxCallMinutes, 15)
      const renamed = yield* call("PATCH", `${path}/${made.data.id}`, { name: "Shorter" })
      assert.strictEqual(renamed.data.maxCallMinutes, 15)
      for (const wrong of [0, 1441, 1.5, "60"]) {
        const { message, status } = yield* call("POST", path, { name: "Wrong", maxCallMinutes: wrong })
        assert.strictEqual(status, 400)
        assert.match(message ?? "", /^maxCallMinutes: Expected/)
      }
    }),
  )
})
