/**
 * The gate's own node server. Shutting down says that it is not ready, stops accepting, tells open channels to come back
 * elsewhere, lets what is in flight finish, and is over within ten seconds.
 */
import { createServer, type Server } from "node:http"
import { Context, Effect, Layer, Schema } from "effect"
import { Settings } from "../Settings.ts"
import { Listeners, refuseUpgrade } from "./listeners.ts"

/** How long it says that it is not ready before it stops accepting: load balancers ask about once a second. */
export const NOTICE_MILLIS = 1_000
/** How long what is in flight may take to finish. */
export const DRAIN_MILLIS = 7_500
/** A client must have sent its request in this time: slow ones hold connections for nothing. */
const REQUEST_TIMEOUT_MILLIS = 20_000
const HEADERS_TIMEOUT_MILLIS = 10_000
/** How often node looks for them; half a minute unless told, which is longer than what they are allowed. */
const LOOK_MILLIS = 1_000
/** Longer than common proxies keep theirs, which therefore close first. */
const KEEP_ALIVE_MILLIS = 65_000

/**
 * So many connections may stand before they are accepted; the system's own limit (net.core.somaxconn) counts where it is less.
 * With Node's 511, thousands who reconnect at once are dropped by the system, and wait for minutes until they try again.
 */
const BACKLOG = 65_535

/** The address cannot be listened on. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", { message: Schema.String }) {}

/** The running server. */
export class GateServer extends Context.Service<
  GateServer,
  {
    /** `http://host:port`; a wildcard host is shown as loopback */
    readonly url: string
    readonly port: number
  }
>()("voicegate/http/GateServer") {}

/** A server that answers by these listeners, with limits to how slow a client may be. It does not listen yet. */
export const makeServer = (listeners: Pick<Listeners["Service"], "request" | "upgrade">): Server => {
  const server = createServer({
    requestTimeout: REQUEST_TIMEOUT_MILLIS,
    headersTimeout: HEADERS_TIMEOUT_MILLIS,
    connectionsCheckingInterval: LOOK_MILLIS,
    keepAliveTimeout: KEEP_ALIVE_MILLIS,
    // some clients offer HTTP/2 with every request (`Upgrade: h2c`), which is theirs to offer and ours to ignore
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
  })
  server.on("request", listeners.request)
  server.on("upgrade", (request, socket, head) => {
    if (!listeners.upgrade(request, socket, head)) refuseUpgrade(socket)
  })
  return server
}

/** Listens on a port, 0 for any that is free, and answers which. */
export const listen = (server: Server, host: string, port: number): Effect.Effect<number, ListenFailed> =>
  Effect.callback((resume) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      resume(
        Effect.fail(
          new ListenFailed({
            message: `Server.Host, Server.Port: ${host}:${port} cannot be listened on (${error.code})`,
          }),
        ),
      )
    }
    server.once("error", onError)
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", onError)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const close = (server: Server, { drain, unready }: Listeners["Service"]): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* unready
    yield* Effect.sleep(NOTICE_MILLIS)
    let open = true
    server.close(() => {
      open = false
    })
    yield* drain
    // a connection kept alive turns idle only when its answer is out
    yield* Effect.sync(() => server.closeIdleConnections()).pipe(
      Effect.andThen(Effect.sleep(50)),
      Effect.repeat({ while: () => open }),
      Effect.timeoutOption(DRAIN_MILLIS),
    )
    server.closeAllConnections()
  })

/** Listens as `Server.Host` and `Server.Port` say. */
export const layer: Layer.Layer<GateServer, ListenFailed, Listeners | Settings> = Layer.effect(
  GateServer,
  Effect.gen(function* () {
    const listeners = yield* Listeners
    const { Host, Port } = (yield* Settings).Server
    const server = makeServer(listeners)
    yield* Effect.addFinalizer(() => close(server, listeners))
    const port = yield* listen(server, Host, Port)
    const shown = Host === "0.0.0.0" || Host === "::" ? "127.0.0.1" : Host.includes(":") ? `[${Host}]` : Host
    return GateServer.of({ url: `http://${shown}:${port}`, port })
  }),
)
