/**
 * The platform's node server. When its scope closes it stops accepting, gives clients time to read the last data, and then closes
 * the remaining connections: node itself would wait forever for one that never sent a request, and for an upgrade whose client
 * disconnected before it was answered.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { onceAMinute } from "../../lib/throttled-log.ts"
import { makeAddressWatch } from "../../serving/address-watch.ts"
import { drainBody } from "../../serving/compact-body.ts"
import { limitConnections } from "../../serving/connection-limit.ts"
import { GuardedServer } from "../../serving/guarded-server.ts"
import { type HostCheck, makeHostCheck } from "../../serving/hosts.ts"
import { listenFailed } from "../../serving/listen-failed.ts"
import { admitPipelined } from "../../serving/pipelining.ts"
import { repeatedHeader } from "../../serving/repeated-headers.ts"
import type { Proxies } from "./client-address.ts"
import { DASHBOARD_API_PATH } from "./DashboardApi.ts"
import { failure } from "./envelope.ts"
import { makeSessionSockets } from "./session-socket.ts"

/**
 * How long a connection may be idle between requests, in milliseconds: longer than proxies keep theirs (nginx 60 s, those in Go 90 s,
 * Caddy 2 min), so that none sends a request while this side closes.
 */
export const KEEP_ALIVE_MILLIS = 130_000

/** Timeouts for a client's headers and whole request; node checks them once a second. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
}
/** How long clients have to read the last answer or close frame when the platform stops (ms). */
export const SHUTDOWN_MILLIS = 1_000

/** A connection is closed when a client reads nothing of an answer for this long. Between requests `keepAliveTimeout` counts. */
const SOCKET_TIMEOUT_MILLIS = 60_000

const HOST_INVALID = JSON.stringify(failure("INVALID_FORMAT", "Host: Expected a host, with or without a port"))

const HOST_NOT_ALLOWED = JSON.stringify(
  failure("HOST_NOT_ALLOWED", "the host must be a name of this platform (--allowed-host)"),
)

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" }

type Watch = (request: IncomingMessage) => void

/** No endpoint with one of these methods reads a body. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE", "OPTIONS"])

/** Checks a request's headers before anything else; returns whether it may continue. */
const makeGuard = (isOwnHost: HostCheck, watch: Watch) => {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (admitPipelined(request, response) !== "take") return false
    const repeated = repeatedHeader(request.rawHeaders)
    if (repeated !== undefined) {
      const name = repeated.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
      const message = `the header ${name} was sent more than once: Expected it once`
      response.writeHead(400, HEADERS).end(JSON.stringify(failure("INVALID_FORMAT", message)))
      drainBody(request)
      return false
    }
    watch(request)
    const { host } = request.headers
    if (!isOwnHost(host)) {
      response.writeHead(421, HEADERS).end(HOST_NOT_ALLOWED)
      drainBody(request)
      return false
    }
    // routes parse it as part of a URL, which would throw
    if (host !== undefined && !URL.canParse(`http://${host}`)) {
      response.writeHead(400, HEADERS).end(HOST_INVALID)
      drainBody(request)
      return false
    }
    if (request.method !== undefined && WITHOUT_BODY.has(request.method)) drainBody(request)
    return true
  }
}

/** A server that answers 503 from when it listens until the routes are ready, instead of letting clients wait. */
const makeServer = (isOwnHost: HostCheck, watch: Watch, keepAliveTimeout: number): Server => {
  const server = new GuardedServer(
    { ...TIMEOUTS, keepAliveTimeout },
    {
      request: makeGuard(isOwnHost, watch),
      upgrade: (request) => {
        if (repeatedHeader(request.rawHeaders) !== undefined) return 400
        watch(request)
        return isOwnHost(request.headers.host) ? undefined : 421
      },
    },
  )
  server.timeout = SOCKET_TIMEOUT_MILLIS
  server.on("request", (request, response) => {
    // a kept-alive connection becomes idle only after its answer is sent
    response.once("close", () => {
      if (!server.listening) server.closeIdleConnections()
    })
    if (server.listenerCount("request") > 1) return
    response.writeHead(503, { "retry-after": "1" }).end()
    drainBody(request)
  })
  // the last data is a refusal or a close frame: a client that does not close would keep the connection forever
  server.on("upgrade", (_request, socket) => socket.once("finish", () => socket.destroy()))
  return server
}

/** Closes the server within `SHUTDOWN_MILLIS`, whatever its clients do. */
const closeServer = (server: Server, connections: Iterable<Socket>): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
  }).pipe(
    Effect.timeoutOption(SHUTDOWN_MILLIS),
    Effect.andThen(
      Effect.sync(() => {
        // includes upgraded ones, which `closeAllConnections` does not close
        for (const connection of connections) connection.destroy()
      }),
    ),
  )

export interface ServerOptions {
  readonly host: string
  /** 0 is any free port */
  readonly port: number
  /** the names that `Host` may have, in lower case and without port; any when undefined */
  readonly allowedHosts: ReadonlyArray<string> | undefined
  /** open connections of one address (IPv6: of a /64), proxies excepted; 0 is no limit */
  readonly connectionsPerAddress: number
  readonly proxies: Proxies
  readonly keepAliveMillis: number
}

/** Logs the first refused connection, and then once a minute how many there were. */
const logRefused = (max: number) =>
  Effect.map(Effect.context<never>(), (context) => {
    const log = onceAMinute<string>((address, omitted) =>
      Effect.logWarning(
        `${omitted + 1} connection(s) refused, the last one of ${address}: an address may have ${max} (--connections-per-address). If ` +
          "it is your proxy, add it to --trusted-proxy.",
      ),
    )
    const run = Effect.runForkWith(context)
    return (address: string): void => void run(log(address))
  })

const watchAddresses = ({ header, trusted }: Proxies) =>
  Effect.map(Effect.context<never>(), (context) => {
    const run = Effect.runForkWith(context)
    return makeAddressWatch({
      header: () => header,
      trusted: () => trusted,
      names: { header: "--client-address-header", proxies: "--trusted-proxy" },
      // what a load balancer itself asks for needs no address
      needsAddress: ({ url }) => url?.startsWith("/api/") === true || url?.startsWith(DASHBOARD_API_PATH) === true,
      warn: (text) => void run(Effect.logWarning(text)),
    })
  })

/** Listens on an address. Sessions, which may last for hours, are ended before the server closes. */
export const layer = ({ allowedHosts, connectionsPerAddress, host, keepAliveMillis, port, proxies }: ServerOptions) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = makeServer(makeHostCheck(allowedHosts), yield* watchAddresses(proxies), keepAliveMillis)
      if (connectionsPerAddress > 0) {
        const { trusted } = proxies
        limitConnections(server, {
          max: connectionsPerAddress,
          trusted,
          onRefused: yield* logRefused(connectionsPerAddress),
        })
      }
      const sockets = makeSessionSockets()
      const connections = new Set<Socket>()
      server.on("connection", (connection) => {
        connections.add(connection)
        connection.once("close", () => connections.delete(connection))
      })
      return Layer.effectDiscard(
        Effect.andThen(
          Effect.addFinalizer(() => closeServer(server, connections)),
          Effect.forkScoped(sockets.resetWindows),
        ),
      ).pipe(
        Layer.provideMerge(
          Layer.catchTag(
            NodeHttpServer.layer(() => server, {
              host,
              port,
              disablePreemptiveShutdown: true,
              websocket: sockets.options,
            }),
            "ServeError",
            ({ cause }) => Layer.effectContext(Effect.fail(listenFailed("host, port", host, port, cause))),
          ),
        ),
      )
    }),
  )
