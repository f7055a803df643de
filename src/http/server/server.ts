/**
 * The gate's own node server. On shutdown it turns readiness false, tells push connections to reconnect elsewhere over
 * `Server.DrainSeconds`, stops accepting connections, and lets requests in progress finish. Without `Server.DrainSeconds` that takes
 * at most `STOP_MILLIS`.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, Layer, Metric } from "effect"
import { connectionsRefused } from "../../gatekeeper/metrics.ts"
import { CLOSE_MILLIS } from "../../gatekeeper/Shutdown.ts"
import { canonicalAddress } from "../../lib/ip/address.ts"
import type { TrustedProxies } from "../../lib/ip/client-address.ts"
import { onceAMinute } from "../../lib/throttled-log.ts"
import { TOO_MANY_PIECES } from "../../serving/compact-body.ts"
import { limitConnections } from "../../serving/connection-limit.ts"
import { GuardedServer } from "../../serving/guarded-server.ts"
import { makeHostCheck } from "../../serving/hosts.ts"
import { type ListenFailed, listenFailed } from "../../serving/listen-failed.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import { Settings, type SettingsTree } from "../../settings/Settings.ts"
import { refusals } from "../answers/answer.ts"
import { refuseUpgrade, write } from "../answers/write-answer.ts"
import { currentTrustedProxies } from "../incoming/client-address.ts"
import { GateServer, Hurry, Listeners } from "../Listeners.ts"

/** How long readiness is false before the server stops accepting: load balancers probe about once a second (ms). */
const NOTICE_MILLIS = 1_000
/** How long requests in progress may take to finish (ms). */
export const DRAIN_MILLIS = CLOSE_MILLIS
/** How long a shutdown may take in addition to `Server.DrainSeconds` (ms). */
export const STOP_MILLIS = NOTICE_MILLIS + DRAIN_MILLIS
/** A client must have sent its whole request within this time (ms). */
const REQUEST_TIMEOUT_MILLIS = 20_000
const HEADERS_TIMEOUT_MILLIS = 10_000
/** How often node checks these timeouts (ms). Its default, half a minute, is longer than the timeouts. */
const TIMEOUT_CHECK_MILLIS = 1_000
/**
 * A connection without any traffic for this time is closed (ms), such as one whose client does not read its answer. Longer than any
 * answer takes, and than the interval of heartbeats on event streams (15 s).
 */
export const UNREAD_MILLIS = 60_000
/** Keep-alive timeout (ms). Longer than that of common proxies, so that they close first. */
const KEEP_ALIVE_MILLIS = 130_000

/**
 * Maximum connections waiting to be accepted; the system's limit (net.core.somaxconn) applies if it is lower. With Node's default of
 * 511, the system drops connections when thousands of clients reconnect at once, and those retry only after minutes.
 */
const BACKLOG = 65_535

/** What node answers to bytes that are not a valid request. Any other error is a lost connection. */
const parserErrorAnswer = (
  code: string | undefined,
): { readonly status: number; readonly outcome: string } | undefined => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return { status: 408, outcome: "request_timeout" }
  if (code === "HPE_HEADER_OVERFLOW") return { status: 431, outcome: "malformed_request" }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return { status: 413, outcome: "malformed_request" }
  if (code === TOO_MANY_PIECES) return { status: 400, outcome: "too_many_body_pieces" }
  return code?.startsWith("HPE_") === true ? { status: 400, outcome: "malformed_request" } : undefined
}

type OnRequest = (request: IncomingMessage, response: ServerResponse) => void

const serverOf = (onRequest: OnRequest, logRefusal: Listeners["Service"]["logRefusal"]): Server => {
  const server = new GuardedServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MILLIS,
      headersTimeout: HEADERS_TIMEOUT_MILLIS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MILLIS,
      keepAliveTimeout: KEEP_ALIVE_MILLIS,
      // some clients offer HTTP/2 with every request (`Upgrade: h2c`), which a server may ignore
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    {
      unreadable: ({ code }, remoteAddress = "") => {
        const answered = parserErrorAnswer(code)
        if (answered !== undefined) logRefusal({ ...answered, address: canonicalAddress(remoteAddress) ?? "" })
      },
    },
  )
  server.timeout = UNREAD_MILLIS
  server.on("request", onRequest)
  return server
}

/** A server with these listeners and with timeouts for slow clients. Does not listen yet. */
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

/** A server for the private documents only, which accepts only the host names of its own address. */
const makePrivateServer = (
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

/** Listens on a port (0 for any free one) and returns the port. A failure names the settings of the address. */
export const listen = (
  server: Server,
  host: string,
  port: number,
  settings = "Server.Host, Server.Port",
  onAcceptError: (error: Error) => void = () => {},
): Effect.Effect<number, ListenFailed> =>
  Effect.callback((resume) => {
    const onError = (error: Error): void => resume(Effect.fail(listenFailed(settings, host, port, error)))
    server.once("error", onError)
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", onError)
      // a connection that could not be accepted, such as without file descriptors, must not end the process
      server.on("error", onAcceptError)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const close = (
  server: Server,
  { drain, sendAway, unready }: Listeners["Service"],
  drainSeconds: number,
  hurry: Effect.Effect<void>,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.logInfo("Stopping: finishing requests in progress; open connections are told to reconnect elsewhere.")
    yield* unready
    // still accepting: not every load balancer has noticed, and a called caller may start meanwhile
    yield* Effect.raceFirst(
      Effect.interruptible(Effect.andThen(Effect.sleep(NOTICE_MILLIS), sendAway(drainSeconds * 1_000))),
      Effect.andThen(
        Effect.interruptible(hurry),
        Effect.logInfo("Stopping at once: the connections that are left are told to reconnect elsewhere now."),
      ),
    )
    let open = true
    server.close(() => {
      open = false
    })
    // repeated, because a keep-alive connection becomes idle only after its answer is sent
    const closed = Effect.sync(() => server.closeIdleConnections()).pipe(
      Effect.andThen(Effect.sleep(50)),
      Effect.repeat({ while: () => open }),
    )
    // `drain` also waits for starts whose connection is already closed
    yield* Effect.all([drain, closed], { concurrency: "unbounded", discard: true }).pipe(
      Effect.timeoutOption(DRAIN_MILLIS),
    )
    server.closeAllConnections()
    yield* Effect.logInfo("Stopped: all connections are closed.")
  })

const urlOf = (host: string, port: number): string => {
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host
  return `http://${shown}:${port}`
}

/** Each refused connection is logged and counted. */
const limitConnectionsPerAddress = Effect.fnUntraced(function* (
  server: Server,
  { logRefusal }: Listeners["Service"],
  max: number,
  trusted: () => TrustedProxies,
) {
  if (max === 0) return
  const context = yield* Effect.context<never>()
  const count = Metric.update(connectionsRefused, 1)
  limitConnections(server, {
    max,
    trusted: { has: (address) => trusted().has(address) },
    onRefused: (address) => {
      Effect.runSyncWith(context)(count)
      logRefusal({ address, status: 0, outcome: "too_many_open_connections" })
    },
  })
})

/**
 * Serves the private documents on their own port, if there are any, until the scope closes. An address may have as many connections there
 * as on the public port.
 */
const servePrivate = Effect.fnUntraced(function* (
  listeners: Listeners["Service"],
  settings: SettingsTree["Server"],
  trusted: () => TrustedProxies,
) {
  if (settings.Docs !== "private" && settings.Metrics !== "private") return undefined
  const { PrivateHost, PrivatePort } = settings
  const server = makePrivateServer(listeners, settings)
  yield* limitConnectionsPerAddress(server, listeners, settings.MaxConnectionsPerAddress, trusted)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    }),
  )
  return urlOf(PrivateHost, yield* listen(server, PrivateHost, PrivatePort, "Server.PrivateHost, Server.PrivatePort"))
})

const logAcceptErrors = Effect.map(Effect.context<never>(), (context) => {
  const log = onceAMinute<Error>(({ message }) => Effect.logError(`A connection could not be accepted: ${message}`))
  const run = Effect.runForkWith(context)
  return (error: Error): void => void run(log(error))
})

/** Listens as configured in `Server`. */
export const layer: Layer.Layer<GateServer, ListenFailed, Listeners | Settings> = Layer.effect(
  GateServer,
  Effect.gen(function* () {
    const listeners = yield* Listeners
    const { Server } = yield* Settings
    const trusted = yield* currentTrustedProxies
    const server = makeServer(listeners)
    yield* limitConnectionsPerAddress(server, listeners, Server.MaxConnectionsPerAddress, trusted)
    const drainSeconds = derived(yield* currentSettings, (settings) => settings.Server.DrainSeconds)
    const hurry = yield* Hurry
    const privateUrl = yield* servePrivate(listeners, Server, trusted)
    // added after the private port's, so it runs first: operators read the private port until this one is closed
    yield* Effect.addFinalizer(() => close(server, listeners, drainSeconds(), hurry))
    const port = yield* listen(server, Server.Host, Server.Port, undefined, yield* logAcceptErrors)
    return GateServer.of({ url: urlOf(Server.Host, port), port, privateUrl })
  }),
)
