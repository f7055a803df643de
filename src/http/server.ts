/**
 * The gate's own node server. Shutting down stops accepting, tells open channels to come back elsewhere, lets what is in
 * flight finish, and is over within ten seconds.
 */
import { createServer, type Server } from "node:http"
import { Context, Effect, Layer, Schema } from "effect"
import { Settings } from "../Settings.ts"
import { Listeners } from "./listeners.ts"

/** How long what is in flight may take to finish. */
export const DRAIN_MILLIS = 8_000
/** A client must have sent its request in this time: slow ones hold connections for nothing. */
const REQUEST_TIMEOUT_MILLIS = 20_000
const HEADERS_TIMEOUT_MILLIS = 10_000
/** Longer than common proxies keep theirs, which therefore close first. */
const KEEP_ALIVE_MILLIS = 65_000

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

const listen = (server: Server, host: string, port: number): Effect.Effect<number, ListenFailed> =>
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
    server.listen({ host, port }, () => {
      server.off("error", onError)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const close = (server: Server, drain: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.gen(function* () {
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
    const server = createServer({
      requestTimeout: REQUEST_TIMEOUT_MILLIS,
      headersTimeout: HEADERS_TIMEOUT_MILLIS,
      keepAliveTimeout: KEEP_ALIVE_MILLIS,
    })
    server.on("request", listeners.request)
    server.on("upgrade", listeners.upgrade)
    yield* Effect.addFinalizer(() => close(server, listeners.drain))
    const port = yield* listen(server, Host, Port)
    const shown = Host === "0.0.0.0" || Host === "::" ? "127.0.0.1" : Host.includes(":") ? `[${Host}]` : Host
    return GateServer.of({ url: `http://${shown}:${port}`, port })
  }),
)
