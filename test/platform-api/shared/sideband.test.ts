/** The connection to a running call, over a real WebSocket on loopback. */
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import { type Listening, Sideband } from "../../../src/platform-api/shared/sideband.ts"
import { eventually } from "../../harness/process.ts"

/** A vendor's server; `refuse` is the status with which it refuses. */
const serve = Effect.acquireRelease(
  Effect.promise(async () => {
    const asked: Array<IncomingMessage> = []
    const sockets: Array<WebSocket> = []
    const state = { refuse: 0 }
    const webSockets = new WebSocketServer({ noServer: true })
    const server = createServer()
    server.on("upgrade", (request, socket, head) => {
      asked.push(request)
      if (state.refuse > 0) {
        socket.end(`HTTP/1.1 ${state.refuse} No\r\ncontent-length: 0\r\n\r\n`)
        return
      }
      webSockets.handleUpgrade(request, socket, head, (opened) => sockets.push(opened))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { asked, sockets, state, server, port, url: `ws://127.0.0.1:${port}/v1/realtime?call_id=rtc_1` }
  }),
  ({ server, sockets }) =>
    Effect.sync(() => {
      for (const socket of sockets) socket.terminate()
      server.close()
      server.closeAllConnections()
    }),
)

const open = (url: string, overEvent?: string, listening?: Listening) =>
  Effect.flatMap(Sideband, (sideband) => sideband(url, { authorization: "Bearer key" }, overEvent, listening))

/** The status of a refusal. */
const refusal = (url: string) => Effect.flip(Effect.scoped(Effect.asVoid(open(url))))

describe("a sideband connection", () => {
  it.live("is opened with the key, and completes when the vendor closes it", () =>
    Effect.gen(function* () {
      const vendor = yield* serve
      const { closed } = yield* open(vendor.url)
      assert.strictEqual(vendor.asked[0]?.headers.authorization, "Bearer key")
      assert.strictEqual(vendor.asked[0]?.url, "/v1/realtime?call_id=rtc_1")
      const waiting = yield* Effect.forkChild(closed)
      // what the vendor says is not read, and ends nothing
      vendor.sockets[0]?.send('{"type":"session.created"}')
      assert.isUndefined(waiting.pollUnsafe())
      vendor.sockets[0]?.close(1000)
      assert.isFalse(yield* Fiber.join(waiting))
    }).pipe(Effect.scoped),
  )

  it.live("carries an event of the gate, and says whether the vendor named the end before it closed", () =>
    Effect.gen(function* () {
      const vendor = yield* serve
      for (const [said, isOver] of [
        ['{"type": "session.closed","reason":"close_requested"}', true],
        ['{"type":"session.output_transcript.delta","delta":"\\"type\\":\\"session.closed\\""}', false],
        ["session.closed", false],
      ] as const) {
        const { closed, send } = yield* open(vendor.url, "session.closed")
        const socket = vendor.sockets.at(-1)
        if (socket === undefined) throw new Error("the vendor has no connection")
        const heard = once(socket, "message")
        yield* send({ type: "session.close" })
        const [message] = yield* Effect.promise(() => heard)
        assert.strictEqual(String(message), '{"type":"session.close"}')
        socket.send(said)
        socket.close(1000)
        assert.strictEqual(yield* closed, isOver, said)
      }
    }).pipe(Effect.scoped),
  )

  it.live("is told who speaks by the events that say so, and by nothing that only contains their names", () =>
    Effect.gen(function* () {
      const vendor = yield* serve
      const heard: Array<string> = []
      const listening: Listening = {
        events: new Map([
          ["speech_started", { side: "caller", speaks: true }],
          ["speech_stopped", { side: "caller", speaks: false }],
        ]),
        hears: ({ side, speaks }) => heard.push(`${side} ${speaks}`),
      }
      const { closed } = yield* open(vendor.url, undefined, listening)
      const [socket] = vendor.sockets
      for (const said of [
        '{"type":"speech_started","audio_start_ms":10}',
        '{"type":"transcript","text":"\\"type\\":\\"speech_started\\""}',
        "speech_started",
        `{"type":"speech_started","more":"${"x".repeat(5_000)}"}`,
        '{"type":"speech_stopped","audio_end_ms":20}',
      ]) {
        socket?.send(said)
      }
      socket?.close(1000)
      assert.isFalse(yield* closed)
      assert.deepStrictEqual(heard, ["caller true", "caller false"])
    }).pipe(Effect.scoped),
  )

  it.live("a sideband connection that is refused fails with the status", () =>
    Effect.gen(function* () {
      const vendor = yield* serve
      for (const status of [401, 404, 503, 302]) {
        vendor.state.refuse = status
        assert.strictEqual(yield* refusal(vendor.url), status)
      }
      assert.lengthOf(vendor.asked, 4)
    }).pipe(Effect.scoped),
  )

  it.live("a sideband connection that nobody answers, or whose address is none, fails with 0", () =>
    Effect.gen(function* () {
      const vendor = yield* serve
      yield* Effect.promise(() => new Promise((resolve) => vendor.server.close(resolve)))
      assert.strictEqual(yield* refusal(vendor.url), 0)
      assert.strictEqual(yield* refusal("no address"), 0)
    }).pipe(Effect.scoped),
  )

  it.live("is closed with its scope", () =>
    Effect.gen(function* () {
      const vendor = yield* serve
      const scope = yield* Scope.make()
      yield* Effect.asVoid(Scope.provide(open(vendor.url), scope))
      yield* Effect.promise(() => eventually("it is open", () => vendor.sockets[0]?.readyState === 1))
      yield* Scope.close(scope, Exit.void)
      yield* Effect.promise(() => eventually("it is closed", () => vendor.sockets[0]?.readyState === 3))
    }).pipe(Effect.scoped),
  )
})
