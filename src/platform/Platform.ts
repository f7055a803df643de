/**
 * The local platform on one HTTP server: the API below `/api/v1`, its documentation at `/openapi.json` and `/docs`, the dashboard
 * at `/`, and the sessions' WebSockets. It communicates with the gate only over the wire. Closing the layer's scope ends open
 * sessions.
 *
 * Several processes may share one PostgreSQL: the database decides what must be exact.
 */

import { IncomingMessage } from "node:http"
import { fileURLToPath } from "node:url"
import { ByteSize, Context, Effect, Layer, Redacted } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { IpNetwork } from "effect/net"
import type { Migrator, SqlError } from "effect/sql"
import { trustedProxies } from "../lib/ip/client-address.ts"
import { loopbackNames } from "../lib/ip/loopback.ts"
import { drainBody } from "../serving/compact-body.ts"
import type { ListenFailed } from "../serving/listen-failed.ts"
import { packageFile } from "../serving/package-files.ts"
import * as LiveSessions from "./calls/LiveSessions.ts"
import * as socket from "./calls/socket.ts"
import type { DatabaseInvalid } from "./data/Database.ts"
import { makeVaultKey, type VaultKeyInvalid } from "./data/Vault.ts"
import { DEFAULT_CONNECTIONS, DEFAULT_IDLE_SECONDS, DEFAULT_LIMITS } from "./defaults.ts"
import { Api } from "./http/Api.ts"
import { callerAddress } from "./http/client-address.ts"
import { dashboard } from "./http/dashboard/dashboard.ts"
import { docs } from "./http/docs.ts"
import { businesses } from "./http/handlers/businesses.ts"
import { sessions } from "./http/handlers/sessions.ts"
import { users } from "./http/handlers/users.ts"
import { middleware, safeAnswers } from "./http/middleware.ts"
import { REQUEST_MILLIS, withinBound } from "./http/request-bound.ts"
import * as Server from "./http/server.ts"
import { ROUTER, unroutedRequests } from "./http/unrouted.ts"
import * as Access from "./keys/Access.ts"
import type { Limits } from "./keys/Budgets.ts"
import * as Services from "./services.ts"
import { layer as deliver } from "./webhooks/deliver.ts"
import { client } from "./webhooks/rules.ts"

const MAX_BODY_BYTES = 512 * 1024

/** Discards what a route has not read of its request's body. */
const discardUnread = Effect.map(HttpServerRequest.HttpServerRequest, ({ source }) => {
  if (source instanceof IncomingMessage) drainBody(source)
})

export interface Options {
  /** `sqlite:<file>`, `sqlite::memory:` (when absent), or `postgres://…` */
  readonly database?: Redacted.Redacted<string>
  /** the key that encrypts secrets in the database: 32 bytes in base64; by default a new one, for a database in memory */
  readonly vaultKey?: Redacted.Redacted<string>
  /** the address to listen on; 127.0.0.1 by default */
  readonly host?: string
  /** 0 (the default) is any free port */
  readonly port?: number
  /**
   * where browsers reach the sessions' WebSockets, such as `wss://calls.example`; by default the bound address. With `wss:` the
   * dashboard's cookie is Secure; otherwise it is when a trusted proxy reports that the request came over https
   */
  readonly publicWebSocketOrigin?: string
  /** whether webhooks may go to private networks; false by default */
  readonly privateWebhooks?: boolean
  /** the directory of the dashboard's built page; by default the one beside this code */
  readonly dashboardPage?: string
  /** how long a caller may be silent before the session ends, in seconds; `DEFAULT_IDLE_SECONDS` by default, 0 is no limit */
  readonly idleSeconds?: number
  /** `DEFAULT_LIMITS` by default */
  readonly limits?: Limits
  /**
   * the names that a request's `Host` may have, without port, or `*`; by default those of this machine when it listens on
   * loopback and trusts no proxy, else any name
   */
  readonly allowedHosts?: ReadonlyArray<string>
  /** the proxies whose `clientAddressHeader` is trusted; none by default */
  readonly trustedProxies?: ReadonlyArray<IpNetwork.IpNetwork>
  /** the header in which those proxies name their client's address, such as `CF-Connecting-IP`; `X-Forwarded-For` by default */
  readonly clientAddressHeader?: string
  /** open connections of one address (IPv6: of a /64), trusted proxies excepted; `DEFAULT_CONNECTIONS` by default, 0 is no limit */
  readonly connectionsPerAddress?: number
  /** the time within which a request is answered, in milliseconds; `REQUEST_MILLIS` by default */
  readonly requestMillis?: number
  /** how long a connection may be idle between requests, in milliseconds; `KEEP_ALIVE_MILLIS` by default */
  readonly keepAliveMillis?: number
}

export class Platform extends Context.Service<
  Platform,
  {
    /** `http://host:port`, without a slash */
    readonly origin: string
    /** the base URL for clients; ends in `/api/v1/` */
    readonly baseUrl: string
  }
>()("voicegate/platform/Platform") {}

export type StartError = ListenFailed | DatabaseInvalid | Migrator.MigrationError | SqlError.SqlError | VaultKeyInvalid

/**
 * The allowed names in `Host`; undefined allows any. On loopback without a proxy all callers are programs on this machine, which
 * use its own names.
 */
const hostsOf = (
  host: string,
  { allowedHosts = [], publicWebSocketOrigin, trustedProxies = [] }: Options,
): ReadonlyArray<string> | undefined => {
  if (allowedHosts.length > 0)
    return allowedHosts.includes("*") ? undefined : allowedHosts.map((name) => name.toLowerCase())
  const names = loopbackNames(host)
  if (names === undefined || trustedProxies.length > 0) return undefined
  const reached = URL.parse(publicWebSocketOrigin ?? "")?.hostname
  return reached === undefined ? names : [...names, reached]
}

/** The running platform, with its services for creating users, businesses and keys. */
export const layer = (options: Options = {}): Layer.Layer<Platform | Services.Services, StartError> => {
  const origin = Effect.map(HttpServer.HttpServer, ({ address }) =>
    // A wildcard address cannot be called, so this machine's loopback address replaces it.
    HttpServer.formatAddress(address).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:"),
  )
  const webSocketOrigin = Effect.map(origin, (http) => options.publicWebSocketOrigin ?? http.replace(/^http/, "ws"))
  const platform = Layer.effect(
    Platform,
    Effect.map(origin, (origin) => Platform.of({ origin, baseUrl: `${origin}/api/v1/` })),
  )
  const groups = Layer.mergeAll(
    Layer.unwrap(Effect.map(webSocketOrigin, (origin) => sessions(origin))),
    businesses,
    users,
  ).pipe(Layer.provide(middleware))
  const api = HttpApiBuilder.layer(Api).pipe(Layer.provide(groups))
  const people = dashboard({
    page: options.dashboardPage ?? fileURLToPath(packageFile("web/dashboard")),
    secure: options.publicWebSocketOrigin?.startsWith("wss:") ?? false,
  })
  const host = options.host ?? "127.0.0.1"
  const proxies = {
    trusted: trustedProxies((options.trustedProxies ?? []).map(IpNetwork.format)),
    header: (options.clientAddressHeader ?? "x-forwarded-for").toLowerCase(),
  }
  const server = Server.layer({
    host,
    port: options.port ?? 0,
    allowedHosts: hostsOf(host, options),
    connectionsPerAddress: options.connectionsPerAddress ?? DEFAULT_CONNECTIONS,
    proxies,
    keepAliveMillis: options.keepAliveMillis ?? Server.KEEP_ALIVE_MILLIS,
  })
  const privateWebhooks = options.privateWebhooks ?? false
  const services = Services.layer({
    database: options.database ?? Redacted.make("sqlite::memory:"),
    vaultKey: options.vaultKey ?? makeVaultKey(),
    privateWebhooks,
  })
  const background = Layer.mergeAll(Services.sweeping, deliver.pipe(Layer.provide(client(privateWebhooks))))
  // The state is outside of `serve`, which would build it again with its routes.
  const state = Layer.mergeAll(Access.layer(options.limits ?? DEFAULT_LIMITS), LiveSessions.layer, background)
  return HttpRouter.serve(
    Layer.mergeAll(
      api,
      docs,
      people,
      socket.route((options.idleSeconds ?? DEFAULT_IDLE_SECONDS) * 1000),
      unroutedRequests,
    ).pipe(Layer.provide(safeAnswers)),
    {
      routerConfig: ROUTER,
      disableLogger: true,
      disableListenLog: true,
      middleware: (handler) =>
        handler.pipe(
          Effect.ensuring(discardUnread),
          callerAddress(proxies),
          withinBound(options.requestMillis ?? REQUEST_MILLIS),
          Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(MAX_BODY_BYTES)),
        ),
    },
  ).pipe(
    // It starts to listen after everything else is built.
    Layer.provideMerge(platform.pipe(Layer.provideMerge(server))),
    Layer.provide(state),
    Layer.provideMerge(services),
  )
}
