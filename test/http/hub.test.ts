/** The existing widget's side: the stock SignalR client against the hub, over a real server. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import {
  HttpTransportType,
  type HubConnection,
  HubConnectionBuilder,
  HubConnectionState,
  LogLevel,
} from "@microsoft/signalr"
import { Context, Effect, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { eventually } from "../../scripts/harness/process.ts"
import * as Gate from "../../src/Gate.ts"
import { PING_MILLIS } from "../../src/http/hub/hub.ts"
import * as Listeners from "../../src/http/listeners.ts"
import { IpIntel, noFacts } from "../../src/IpIntel.ts"
import { PlatformApi } from "../../src/PlatformApi.ts"
import * as PushChannel from "../../src/PushChannel.ts"
import { unavailable } from "../../src/platform-api/errors.ts"
import { StoreUnavailable } from "../../src/Session.ts"
import { Store } from "../../src/Store.ts"
import { layerFrom } from "../../src/settings/load.ts"
import * as memory from "../../src/store/memory.ts"

const ORIGIN = "https://shop.example"

const settings = layerFrom({
  VoiceAiPlatform: {
    ApiSecretToken: "key",
    BaseUrl: "http://127.0.0.1:1/",
    BusinessId: "b",
    WebCampaignId: "c",
    DefaultRegionId: "r",
    MaxConcurrency: 1,
  },
  Security: { AllowedOrigins: [ORIGIN] },
  Server: { Host: "127.0.0.1" },
})

/** How many starts cannot reach the platform, or are answered with an error by it. */
const failing = { unreachable: 0, answered: 0 }

const concerns = Layer.mergeAll(
  Layer.succeed(IpIntel, IpIntel.of({ provider: "none", lookup: () => Effect.succeed(noFacts), probe: Effect.void })),
  Layer.effect(
    PlatformApi,
    Effect.sync(() => {
      let sessions = 0
      return PlatformApi.of({
        initiate: ({ metadata }) =>
          Effect.gen(function* () {
            if (failing.unreachable-- > 0) return yield* Effect.fail(unavailable("unreachable", false, "refused"))
            if (failing.answered-- > 0) return yield* Effect.fail(unavailable("server_error", false, "HTTP 503"))
            const n = ++sessions
            if (metadata.slow === "yes") yield* Effect.sleep("1 second")
            return { sessionIds: [`s${n}`], webSocketUrl: `wss://platform.example/${n}` }
          }),
        concurrency: () => Effect.succeed({ limit: 1, inUse: 0 }),
        sessionStatus: () => Effect.succeed({ status: "unknown", sessionIds: [] }),
        sessionsOf: () => Effect.undefined,
        verify: () => Effect.succeed([]),
      })
    }),
  ),
)

/** The gate on a free port; `cut` destroys every open socket, as a lost network does. */
const gate = Effect.gen(function* () {
  const listeners = yield* Listeners.Listeners
  const sockets = new Set<Socket>()
  const server = createServer(listeners.request)
  server.on("upgrade", listeners.upgrade)
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    cut: Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
    }),
  }
})

/** How many starts fail because the store is unavailable. */
const away = { starts: 0 }
const store = Layer.effect(
  Store,
  Effect.map(Store, (inner) =>
    Store.of({
      ...inner,
      run: (rule, ask) =>
        rule.name === "queue.start" && away.starts-- > 0
          ? Effect.fail(new StoreUnavailable({ message: "away" }))
          : inner.run(rule, ask),
    }),
  ),
).pipe(Layer.provide(memory.layer))

const layer = Listeners.layer().pipe(
  Layer.provide(Gate.layerNoDeps),
  Layer.provide(concerns),
  Layer.provideMerge(PushChannel.layerShared),
  Layer.provide(store),
  Layer.provide(settings),
)

const running = <A>(
  test: (
    url: string,
    cut: Effect.Effect<void>,
    channel: PushChannel.PushChannel["Service"],
  ) => Effect.Effect<A, unknown, Scope.Scope>,
) =>
  Effect.gen(function* () {
    const { cut, url } = yield* gate
    return yield* test(url, cut, yield* PushChannel.PushChannel)
  }).pipe(Effect.provide(layer), Effect.scoped)

interface Widget {
  readonly connection: HubConnection
  readonly next: () => Promise<readonly [string, Record<string, string>]>
}

/** The stock client as the widget uses it. */
const widget = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Widget> => {
      const connection = new HubConnectionBuilder()
        .withUrl(`${url}/sessionHub`)
        .withAutomaticReconnect([0, 100])
        .configureLogging(LogLevel.None)
        .build()
      const events: Array<readonly [string, Record<string, string>]> = []
      let wake = (): void => {}
      for (const name of ["SessionReady", "SessionFailed"]) {
        connection.on(name, (argument: Record<string, string>) => {
          events.push([name, argument])
          wake()
        })
      }
      await connection.start()
      return {
        connection,
        next: async () => {
          for (;;) {
            const event = events.shift()
            if (event !== undefined) return event
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        },
      }
    }),
    ({ connection }) => Effect.promise(() => connection.stop()),
  )

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })
    const answered: Record<string, unknown> = JSON.parse(await response.text())
    return { status: response.status, body: answered }
  })

const ended = (url: string, session: string) =>
  post(`${url}/api/webhook/session-ended`, { ConversationSessionId: session })

const request = (url: string, body: object = {}) =>
  Effect.map(post(`${url}/api/session/request`, body), (answer) => answer.body)

/** A widget whose ticket waits behind a call. */
const registered = (url: string) =>
  Effect.gen(function* () {
    yield* request(url)
    const second = yield* request(url)
    const { connection, next } = yield* widget(url)
    yield* Effect.promise(() => connection.invoke("Register", second.uniqueRequestId))
    return { next, second }
  })

describe("the SignalR hub, by the stock client", () => {
  for (const kind of ["unreachable", "answered"] as const) {
    it.live(
      `a ticket whose start found the platform ${kind === "unreachable" ? "away" : "failing"} waits on, and hears of nothing until it is ready`,
      () =>
        running((url) =>
          Effect.gen(function* () {
            const { next } = yield* registered(url)
            failing[kind] = 1
            yield* ended(url, "s1")
            assert.deepStrictEqual(yield* Effect.promise(next), [
              "SessionReady",
              { webSocketUrl: "wss://platform.example/2" },
            ])
            assert.isBelow(failing[kind], 0)
          }),
        ),
    )
  }

  it.live("a registered ticket gets SessionReady when the slot opens, without a start of its own", () =>
    running((url) =>
      Effect.gen(function* () {
        const first = yield* request(url)
        assert.strictEqual(first.webSocketUrl, "wss://platform.example/1")
        const second = yield* request(url)
        assert.strictEqual(second.status, "queued")
        const { connection, next } = yield* widget(url)
        yield* Effect.promise(() => connection.invoke("Register", second.uniqueRequestId))
        yield* ended(url, "s1")
        assert.deepStrictEqual(yield* Effect.promise(next), [
          "SessionReady",
          { webSocketUrl: "wss://platform.example/2" },
        ])
        // registering again brings what was missed, and starts nothing twice
        yield* Effect.promise(() => connection.invoke("Register", second.uniqueRequestId))
        assert.deepStrictEqual(yield* Effect.promise(next), [
          "SessionReady",
          { webSocketUrl: "wss://platform.example/2" },
        ])
      }),
    ),
  )

  it.live("a ticket called while the store is unavailable starts when it is back", () =>
    running((url) =>
      Effect.gen(function* () {
        const { next } = yield* registered(url)
        away.starts = 2
        yield* ended(url, "s1")
        assert.strictEqual((yield* Effect.promise(next))[0], "SessionReady")
        assert.isBelow(away.starts, 1)
      }),
    ),
  )

  it.live("a widget that reconnects without registering is identified by its browser's cookie", () =>
    running((url, cut) =>
      Effect.gen(function* () {
        yield* request(url)
        const second = yield* request(url)
        const { connection, next } = yield* widget(url)
        yield* Effect.promise(() => connection.invoke("Register", second.uniqueRequestId))
        const back = new Promise<void>((resolve) => connection.onreconnected(() => resolve()))
        yield* cut
        yield* Effect.promise(() => back)
        yield* ended(url, "s1")
        assert.strictEqual((yield* Effect.promise(next))[0], "SessionReady")
      }),
    ),
  )

  it.live("a widget that is told to reconnect does so and is identified", () =>
    running((url, _, channel) =>
      Effect.gen(function* () {
        yield* request(url)
        const second = yield* request(url)
        const { connection, next } = yield* widget(url)
        yield* Effect.promise(() => connection.invoke("Register", second.uniqueRequestId))
        const back = new Promise<void>((resolve) => connection.onreconnected(() => resolve()))
        yield* channel.sendAway?.(100) ?? Effect.die("it is a channel of this gate")
        yield* Effect.promise(() => back)
        yield* ended(url, "s1")
        assert.strictEqual((yield* Effect.promise(next))[0], "SessionReady")
      }),
    ),
  )

  it.live("a widget that reconnects during its start gets SessionReady", () =>
    running((url) =>
      Effect.gen(function* () {
        yield* request(url)
        const { uniqueRequestId } = yield* request(url, { metadata: { slow: "yes" } })
        yield* ended(url, "s1")
        yield* Effect.forkScoped(post(`${url}/api/session/${uniqueRequestId}/start`, {}))
        yield* Effect.promise(() =>
          eventually("it is being started", async () => {
            const response = await fetch(`${url}/api/session/${uniqueRequestId}`)
            return (await response.text()).includes('"starting"')
          }),
        )
        const { connection, next } = yield* widget(url)
        yield* Effect.promise(() => connection.invoke("Register", uniqueRequestId))
        assert.deepStrictEqual(yield* Effect.promise(next), [
          "SessionReady",
          { webSocketUrl: "wss://platform.example/2" },
        ])
      }),
    ),
  )

  it.live("a gate that drains answers the start of a registered ticket, and then lets its client reconnect", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(layer)
        const { drain } = Context.get(context, Listeners.Listeners)
        const { url } = yield* Effect.provideContext(gate, context)
        yield* request(url)
        const { uniqueRequestId } = yield* request(url, { metadata: { slow: "yes" } })
        const { connection, next } = yield* widget(url)
        const idle = yield* widget(url)
        yield* Effect.promise(() => connection.invoke("Register", uniqueRequestId))
        const lost = (one: HubConnection) => new Promise<void>((resolve) => one.onreconnecting(() => resolve()))
        const [mine, idles] = [lost(connection), lost(idle.connection)]
        yield* ended(url, "s1")
        yield* Effect.promise(() =>
          eventually("it is being started", async () => {
            const response = await fetch(`${url}/api/session/${uniqueRequestId}`)
            return (await response.text()).includes('"starting"')
          }),
        )
        const draining = yield* Effect.forkChild(drain)
        // this one has no start in progress
        yield* Effect.promise(() => idles)
        assert.strictEqual(connection.state, HubConnectionState.Connected)
        assert.deepStrictEqual(yield* Effect.promise(next), [
          "SessionReady",
          { webSocketUrl: "wss://platform.example/2" },
        ])
        yield* Effect.promise(() => mine)
        yield* Fiber.join(draining)
      }),
    ),
  )

  it.live("an unknown ticket is refused with SessionFailed and an error of the invocation", () =>
    running((url) =>
      Effect.gen(function* () {
        const { connection, next } = yield* widget(url)
        const error = yield* Effect.promise(() =>
          connection.invoke("Register", "nobody").then(
            () => "",
            (cause: Error) => cause.message,
          ),
        )
        assert.include(error, "No request has this id")
        assert.strictEqual((yield* Effect.promise(next))[0], "SessionFailed")
      }),
    ),
  )

  it.live("a ticket that was given up elsewhere fails", () =>
    running((url) =>
      Effect.gen(function* () {
        const { next, second } = yield* registered(url)
        yield* Effect.promise(() => fetch(`${url}/api/session/${second.uniqueRequestId}`, { method: "DELETE" }))
        const [name, { message }] = yield* Effect.promise(next)
        assert.strictEqual(name, "SessionFailed")
        assert.include(message ?? "", "left")
      }),
    ),
  )

  it.live("a negotiated connection opens once, an unknown one never", () =>
    running((url) =>
      Effect.gen(function* () {
        const negotiated = yield* post(`${url}/sessionHub/negotiate?negotiateVersion=1`, {})
        const open = (id: string) =>
          Effect.promise(
            () =>
              new Promise<number>((resolve) => {
                const ws = new WebSocket(`${url.replace("http", "ws")}/sessionHub?id=${id}`)
                ws.on("open", () => {
                  ws.close()
                  resolve(101)
                })
                ws.on("unexpected-response", (_, response) => resolve(response.statusCode ?? 0))
                ws.on("error", () => {})
              }),
          )
        const token = String(negotiated.body.connectionToken)
        assert.strictEqual(yield* open(token), 101)
        assert.strictEqual(yield* open(token), 409)
        assert.strictEqual(yield* open("unknown"), 404)
      }),
    ),
  )

  it.effect("pings begin after the handshake, which the stock client requires to come first", () =>
    running((url) =>
      Effect.gen(function* () {
        const ws = yield* Effect.acquireRelease(
          Effect.sync(() => new WebSocket(`${url.replace("http", "ws")}/sessionHub`)),
          (open) => Effect.sync(() => open.terminate()),
        )
        const words: Array<string> = []
        const said = (many: number) => Effect.promise(() => eventually("a word", () => words.length >= many))
        ws.on("message", (data) => words.push(String(data)))
        yield* Effect.promise(() => once(ws, "open"))
        yield* TestClock.adjust(PING_MILLIS)
        ws.send('{"protocol":"json","version":1}\u001e')
        yield* said(1)
        yield* TestClock.adjust(PING_MILLIS)
        yield* said(2)
        assert.deepStrictEqual(words, ["{}\u001e", '{"type":6}\u001e'])
      }),
    ),
  )

  it.live("an allowed page may negotiate with credentials, a foreign one may not", () =>
    running((url) =>
      Effect.gen(function* () {
        const preflight = yield* Effect.promise(() =>
          fetch(`${url}/sessionHub/negotiate?negotiateVersion=1`, {
            method: "OPTIONS",
            headers: {
              origin: ORIGIN,
              "access-control-request-method": "POST",
              "access-control-request-headers": "x-requested-with,x-signalr-user-agent",
            },
          }),
        )
        assert.strictEqual(preflight.status, 204)
        assert.strictEqual(preflight.headers.get("access-control-allow-origin"), ORIGIN)
        assert.strictEqual(preflight.headers.get("access-control-allow-credentials"), "true")
        assert.include(preflight.headers.get("access-control-allow-headers") ?? "", "x-signalr-user-agent")
        const foreign = yield* post(
          `${url}/sessionHub/negotiate?negotiateVersion=1`,
          {},
          { origin: "https://evil.example" },
        )
        assert.strictEqual(foreign.status, 403)
      }),
    ),
  )

  it.live("the stock client's transport is the WebSocket alone", () =>
    running((url) =>
      Effect.gen(function* () {
        const answer = yield* post(`${url}/sessionHub/negotiate?negotiateVersion=1`, {})
        assert.deepStrictEqual(answer.body.availableTransports, [
          { transport: HttpTransportType[HttpTransportType.WebSockets], transferFormats: ["Text"] },
        ])
      }),
    ),
  )
})
