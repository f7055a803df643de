/**
 * The platform's node server. When its scope closes it stops accepting, lets what was said last be read, and then ends every
 * connection that is left: node itself would wait for ever for one that never sent a request, and for an upgrade whose client
 * went away before it was answered.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { GuardedServer } from "../../serving/guarded-server.ts"
import { makeHostCheck } from "../../serving/hosts.ts"
import { admitPipelined } from "../../serving/pipelining.ts"
import { failure } from "./envelope.ts"
import { makeSessionSockets } from "./session-socket.ts"

/** A client must have sent its headers, and its request, in this time; node looks for those who have not once a second. */
const PATIENCE = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 }
/** How long clients have for the answer or the close that they were sent when the platform stops. */
export const GOODBYE_MILLIS = 1_000

/** How long an answer may stand without a byte of it being read, before the connection is closed. */
const UNREAD_MILLIS = 60_000

const HOST_INVALID = JSON.stringify(failure("INVALID_FORMAT", "Host: Expected a host, with or without a port"))

const HOST_NOT_ALLOWED = JSON.stringify(
  failure("HOST_NOT_ALLOWED", "the host must be a name of this platform (--allowed-host)"),
)

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" }

/** Looks at a request before anything is done for it; says whether it may go on. */
const makeGuard = (isOwnHost: (host: string | undefined) => boolean) => {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (admitPipelined(request, response) !== "take") return false
    const { host } = request.headers
    if (!isOwnHost(host)) {
      response.writeHead(421, HEADERS).end(HOST_NOT_ALLOWED)
      return false
    }
    // routes make a URL of it, which fails for anything else
    if (host !== undefined && !URL.canParse(`http://${host}`)) {
      response.writeHead(400, HEADERS).end(HOST_INVALID)
      return false
    }
    return true
  }
}

/** A server that answers 503 from the moment it listens until the routes are there, instead of leaving callers to wait. */
const makeServer = (isOwnHost: (host: string | undefined) => boolean): Server => {
  const server = new GuardedServer(PATIENCE, {
    request: makeGuard(isOwnHost),
    upgrade: ({ headers }) => isOwnHost(headers.host),
  })
  server.timeout = UNREAD_MILLIS
  server.on("request", (_request, response) => {
    // a connection kept alive turns idle only when its answer is out
    response.once("close", () => {
      if (!server.listening) server.closeIdleConnections()
    })
    if (server.listenerCount("request") === 1) response.writeHead(503, { "retry-after": "1" }).end()
  })
  // what is said last is a refusal or a close: who stays all the same would hold the connection for ever
  server.on("upgrade", (_request, socket) => socket.once("finish", () => socket.destroy()))
  return server
}

/** Ends the server within `GOODBYE_MILLIS`, whatever its clients do. */
const end = (server: Server, connections: Iterable<Socket>): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
  }).pipe(
    Effect.timeoutOption(GOODBYE_MILLIS),
    Effect.andThen(
      Effect.sync(() => {
        // upgraded ones too, of which `closeAllConnections` knows nothing
        for (const connection of connections) connection.destroy()
      }),
    ),
  )

/**
 * Listens on an address, port 0 for any that is free. What it serves is ended first: sessions last for hours.
 *
 * @param allowedHosts the names that `Host` may have, in lower case and without port; any when undefined
 */
export const layer = (
  address: { readonly host: string; readonly port: number },
  allowedHosts: ReadonlyArray<string> | undefined,
) =>
  Layer.unwrap(
    Effect.sync(() => {
      const server = makeServer(makeHostCheck(allowedHosts))
      const sockets = makeSessionSockets()
      const connections = new Set<Socket>()
      server.on("connection", (connection) => {
        connections.add(connection)
        connection.once("close", () => connections.delete(connection))
      })
      return Layer.effectDiscard(
        Effect.andThen(
          Effect.addFinalizer(() => end(server, connections)),
          Effect.forkScoped(sockets.countAnew),
        ),
      ).pipe(
        Layer.provideMerge(
          NodeHttpServer.layer(() => server, {
            ...address,
            disablePreemptiveShutdown: true,
            websocket: sockets.options,
          }),
        ),
      )
    }),
  )
