/**
 * The gate's own node server. Shutting down says that it is not ready, stops accepting, tells open channels to come back
 * elsewhere, lets what is in flight finish over every transport, and is over within ten seconds.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Context, Effect, Layer, Metric, Schema } from "effect"
import { connectionsRefused } from "../gatekeeper/metrics.ts"
import { CLOSE_MILLIS } from "../gatekeeper/shutdown.ts"
import { canonicalAddress } from "../ip-intel/address.ts"
import { trustedProxies } from "../ip-intel/client-address.ts"
import { Settings, type SettingsTree } from "../Settings.ts"
import { GuardedServer } from "../serving/guarded-server.ts"
import { makeHostCheck } from "../serving/hosts.ts"
import { refusals } from "./answer.ts"
import { capConnections } from "./connections.ts"
import { Listeners, refuseUpgrade, write } from "./listeners.ts"

/** How long it says that it is not ready before it stops accepting: load balancers ask about once a second. */
export const NOTICE_MILLIS = 1_000
/** How long what is in flight may take to finish. */
export const DRAIN_MILLIS = CLOSE_MILLIS
/** A client must have sent its request in this time: slow ones hold connections for nothing. */
const REQUEST_TIMEOUT_MILLIS = 20_000
const HEADERS_TIMEOUT_MILLIS = 10_000
/** How often node looks for them; half a minute unless told, which is longer than what they are allowed. */
const LOOK_MILLIS = 1_000
/**
 * How long an answer may stand without a byte of it being read, before the connection is closed. Longer than the gate takes for
 * any answer, and than events are silent (15 s).
 */
export const UNREAD_MILLIS = 60_000
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
    /** where what is private is served; undefined when nothing is */
    readonly privateUrl: string | undefined
  }
>()("voicegate/http/GateServer") {}

/** What node answers to bytes that are no request. Any other error is a connection that was lost. */
const unreadable = (code: string | undefined): { readonly status: number; readonly outcome: string } | undefined => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return { status: 408, outcome: "request_timeout" }
  if (code === "HPE_HEADER_OVERFLOW") return { status: 431, outcome: "malformed_request" }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return { status: 413, outcome: "malformed_request" }
  return code?.startsWith("HPE_") === true ? { status: 400, outcome: "malformed_request" } : undefined
}

type OnRequest = (request: IncomingMessage, response: ServerResponse) => void

const serverOf = (onRequest: OnRequest, logRefusal: Listeners["Service"]["logRefusal"]): Server => {
  const server = new GuardedServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MILLIS,
      headersTimeout: HEADERS_TIMEOUT_MILLIS,
      connectionsCheckingInterval: LOOK_MILLIS,
      keepAliveTimeout: KEEP_ALIVE_MILLIS,
      // some clients offer HTTP/2 with every request (`Upgrade: h2c`), which is theirs to offer and ours to ignore
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    {
      unreadable: ({ code }, remoteAddress = "") => {
        const answered = unreadable(code)
        if (answered !== undefined) logRefusal({ ...answered, address: canonicalAddress(remoteAddress) ?? "" })
      },
    },
  )
  server.timeout = UNREAD_MILLIS
  server.on("request", onRequest)
  return server
}

/** A server that answers by these listeners, with limits to how slow a client may be. It does not listen yet. */
export const makeServer = (listeners: Pick<Listeners["Service"], "request" | "upgrade" | "logRefusal">): Server => {
  const server = serverOf(listeners.request, listeners.logRefusal)
  server.on("upgrade", (request, socket, head) => {
    if (listeners.upgrade(request, socket, head)) return
    refuseUpgrade(socket)
    listeners.logRefusal({
      request,
      status: refusals.upgradeRequired.status,
      outcome: refusals.upgradeRequired.outcome,
    })
  })
  return server
}

/** A server for what is private alone, under the names of the address where it listens. */
export const makePrivateServer = (
  { logRefusal, privateRequest }: Pick<Listeners["Service"], "privateRequest" | "logRefusal">,
  { PrivateHosts }: SettingsTree["Server"],
): Server => {
  const isOwnHost = makeHostCheck(PrivateHosts)
  const server = serverOf((request, response) => {
    if (isOwnHost(request.headers.host)) return privateRequest(request, response)
    write(response, refusals.host)
    logRefusal({ request, status: refusals.host.status, outcome: refusals.host.outcome })
  }, logRefusal)
  server.on("upgrade", (_request, socket) => refuseUpgrade(socket))
  return server
}

/** Listens on a port, 0 for any that is free, and answers which. A failure names the settings that say where. */
export const listen = (
  server: Server,
  host: string,
  port: number,
  settings = "Server.Host, Server.Port",
): Effect.Effect<number, ListenFailed> =>
  Effect.callback((resume) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      resume(
        Effect.fail(
          new ListenFailed({
            message: `${settings}: ${host}:${port} cannot be listened on (${error.code})`,
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
    yield* Effect.logInfo(
      "Stopping: what is under way is finished, and open connections are told to come back elsewhere.",
    )
    yield* unready
    yield* Effect.sleep(NOTICE_MILLIS)
    let open = true
    server.close(() => {
      open = false
    })
    // a connection kept alive turns idle only when its answer is out
    const closed = Effect.sync(() => server.closeIdleConnections()).pipe(
      Effect.andThen(Effect.sleep(50)),
      Effect.repeat({ while: () => open }),
    )
    // a start may be under way for which no connection stands any more
    yield* Effect.all([drain, closed], { concurrency: "unbounded", discard: true }).pipe(
      Effect.timeoutOption(DRAIN_MILLIS),
    )
    server.closeAllConnections()
    yield* Effect.logInfo("Stopped: every connection is closed.")
  })

const urlOf = (host: string, port: number): string => {
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host
  return `http://${shown}:${port}`
}

/** Serves what is private at its own port, if anything is; it ends with the scope, after the gate. */
const servePrivate = Effect.fnUntraced(function* (listeners: Listeners["Service"], settings: SettingsTree["Server"]) {
  if (settings.Docs !== "private" && settings.Metrics !== "private") return undefined
  const { PrivateHost, PrivatePort } = settings
  const server = makePrivateServer(listeners, settings)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    }),
  )
  return urlOf(PrivateHost, yield* listen(server, PrivateHost, PrivatePort, "Server.PrivateHost, Server.PrivatePort"))
})

/** Closes connections of an address that has too many, with a line in the access log and a count. */
const capped = Effect.fnUntraced(function* (
  server: Server,
  { logRefusal }: Listeners["Service"],
  most: number,
  proxies: ReadonlyArray<string>,
) {
  if (most === 0) return
  const context = yield* Effect.context<never>()
  const count = Metric.update(connectionsRefused, 1)
  capConnections(server, {
    most,
    trusted: trustedProxies(proxies),
    refused: (address) => {
      Effect.runSyncWith(context)(count)
      logRefusal({ address, status: 0, outcome: "too_many_open_connections" })
    },
  })
})

/** Listens as `Server` says. */
export const layer: Layer.Layer<GateServer, ListenFailed, Listeners | Settings> = Layer.effect(
  GateServer,
  Effect.gen(function* () {
    const listeners = yield* Listeners
    const { Security, Server } = yield* Settings
    const server = makeServer(listeners)
    yield* capped(server, listeners, Server.MaxConnectionsPerAddress, Security.TrustedProxies)
    yield* Effect.addFinalizer(() => close(server, listeners))
    const privateUrl = yield* servePrivate(listeners, Server)
    const port = yield* listen(server, Server.Host, Server.Port)
    return GateServer.of({ url: urlOf(Server.Host, port), port, privateUrl })
  }),
)
