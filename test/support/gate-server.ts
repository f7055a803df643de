/** The gate of `gate.ts` behind a Node HTTP server on a free port of 127.0.0.1, and clients for it. */

import { once } from "node:events"
import { type Server as HttpServer, type IncomingMessage, request as nodeRequest, type RequestOptions } from "node:http"
import type { Socket as NetSocket } from "node:net"
import { it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { WebSocket } from "ws"
import * as AccessLog from "../../src/http/access-log/access-log.ts"
import { Listeners, type Options } from "../../src/http/Listeners.ts"
import * as ListenersLayer from "../../src/http/server/listeners.ts"
import * as Server from "../../src/http/server/server.ts"
import type { PushEvent } from "../../src/protocol/events.ts"
import { layerLocal } from "../../src/push-channel/layer.ts"
import { PushChannel } from "../../src/push-channel/PushChannel.ts"
import { eventually } from "../harness/process.ts"
import { type GateServices, type Given, gateLayer, makeWorld, type Wiring, type World } from "./gate.ts"

export interface Served {
  readonly url: string
  readonly port: number
  readonly world: World
  readonly server: HttpServer
  /** the access log so far, one line per entry */
  readonly log: () => string
  readonly unready: Effect.Effect<void>
  readonly drain: Effect.Effect<void>
  /** Cuts every connection, as a network failure does. */
  readonly cut: () => void
  /** tickets that have a connection */
  readonly connected: Effect.Effect<ReadonlyArray<string>>
}

/** A gate behind a server for as long as the scope is open, with its services. */
export const serveGate = Effect.fnUntraced(function* (given: Given, options: Options = {}, wiring: Wiring = {}) {
  const world = makeWorld()
  let lines = ""
  const log = AccessLog.layer((more) => {
    lines += more
  })
  const app = ListenersLayer.layer(options).pipe(
    Layer.provide(log),
    Layer.provideMerge(gateLayer(world, given, { push: layerLocal, ...wiring })),
  )
  const context = yield* Layer.build(app)
  const listeners = Context.get(context, Listeners)
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => Server.makeServer(listeners)),
    (running) =>
      Effect.andThen(
        listeners.drain,
        Effect.sync(() => {
          running.close()
          running.closeAllConnections()
        }),
      ),
  )
  const sockets = new Set<NetSocket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const port = yield* Server.listen(server, "127.0.0.1", 0)
  const served: Served = {
    url: `http://127.0.0.1:${port}`,
    port,
    world,
    server,
    log: () => lines,
    unready: listeners.unready,
    drain: listeners.drain,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    connected: Context.get(context, PushChannel).tickets,
  }
  return { served, context }
})

/** One test against a running server, in real time. */
export const servedTest = (
  name: string,
  given: Given,
  body: (served: Served) => Effect.Effect<void, unknown, GateServices | Scope.Scope>,
  options: Options = {},
  wiring: Wiring = {},
): void => {
  it.live(name, () =>
    Effect.gen(function* () {
      const { context, served } = yield* serveGate(given, options, wiring)
      yield* Effect.provideContext(body(served), context)
    }).pipe(Effect.scoped),
  )
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** the body's fields, if it is a JSON object */
  readonly body: Readonly<Record<string, unknown>>
}

const fieldsOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
  } catch {
    return {}
  }
}

export const call = (url: string, init: RequestInit = {}): Effect.Effect<Reply> =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: fieldsOf(text) }
  })

/** Posts JSON. */
export const post = (url: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}) =>
  call(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) })

export const textField = (reply: Reply, name: string): string => String(reply.body[name] ?? "")

/** Sends any headers and any request target unchanged, including those that fetch refuses. */
export const rawCall = (port: number, options: RequestOptions, body = "") =>
  Effect.promise(async () => {
    const request = nodeRequest({ host: "127.0.0.1", port, agent: false, ...options })
    request.end(body)
    const [response]: Array<IncomingMessage> = await once(request, "response")
    if (response === undefined) throw new Error("no response")
    let text = ""
    for await (const chunk of response) text += String(chunk)
    return { status: response.statusCode ?? 0, headers: response.headers, text, body: fieldsOf(text) }
  })

/** A channel of push events: the events received so far, and how it ended. */
export interface Channel {
  readonly events: ReadonlyArray<PushEvent>
  readonly waitFor: (what: string, found: (events: ReadonlyArray<PushEvent>) => boolean) => Effect.Effect<void>
  readonly closed: () => number | undefined
  readonly waitClosed: Effect.Effect<number>
}

const makeChannel = (events: ReadonlyArray<PushEvent>, closed: () => number | undefined): Channel => ({
  events,
  closed,
  waitFor: (what, found) => Effect.promise(() => eventually(what, () => found(events))),
  waitClosed: Effect.promise(async () => {
    await eventually("the connection is closed", () => closed() !== undefined)
    return closed() ?? 0
  }),
})

export interface Socket extends Channel {
  readonly send: (text: string | Uint8Array) => void
  readonly close: () => void
}

/** Resolves with an open WebSocket; dies with the status when the upgrade is refused. */
export const webSocket = (
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Effect.Effect<Socket, never, Scope.Scope> =>
  Effect.gen(function* () {
    const events: Array<PushEvent> = []
    let code: number | undefined
    const ws = yield* Effect.acquireRelease(
      Effect.sync(() => new WebSocket(url.replace(/^http/, "ws"), { headers })),
      (socket) => Effect.sync(() => socket.terminate()),
    )
    ws.on("message", (data) => events.push(JSON.parse(String(data))))
    ws.on("close", (closeCode) => {
      code = closeCode
    })
    yield* Effect.promise(() => once(ws, "open"))
    return {
      ...makeChannel(events, () => code),
      send: (text) => ws.send(text),
      close: () => ws.close(),
    }
  })

/** The status with which an upgrade is refused. */
export const refusedUpgrade = (port: number, path: string, headers: Readonly<Record<string, string>> = {}) =>
  rawCall(port, {
    path,
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      ...headers,
    },
  })

/** A stream of Server-Sent Events. */
export const eventStream = (
  url: string,
): Effect.Effect<Channel & { readonly headers: Headers; readonly text: () => string }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const events: Array<PushEvent> = []
    let text = ""
    let ended: number | undefined
    const abort = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort()),
    )
    const response = yield* Effect.promise(() => fetch(url, { signal: abort.signal }))
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder()
      try {
        for await (const chunk of response.body ?? []) {
          text += decoder.decode(chunk, { stream: true })
          const blocks = text.split("\n\n").slice(0, -1)
          const data = blocks.flatMap((block) => block.split("\n").filter((line) => line.startsWith("data: ")))
          for (const line of data.slice(events.length)) events.push(JSON.parse(line.slice("data: ".length)))
        }
      } catch {
        // cut: an end like any other
      }
      ended = response.status
    }
    void read()
    return { ...makeChannel(events, () => ended), headers: response.headers, text: () => text }
  })
