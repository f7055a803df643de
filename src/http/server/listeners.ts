/** The gate as listeners of a node server: for its own server, or for a host's server under a path. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Context, Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import type { Operator } from "../../operator/Operator.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { type HostCheck, makeHostCheck } from "../../serving/hosts.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import { Settings } from "../../settings/Settings.ts"
import type { Store } from "../../store/Store.ts"
import * as GateLog from "../access-log/GateLog.ts"
import { internalError } from "../answers/answer.ts"
import { write } from "../answers/write-answer.ts"
import { consoleRoutes } from "../console/routes.ts"
import { makeDocuments } from "../documents/documents.ts"
import * as Readiness from "../health/Readiness.ts"
import * as Arrivals from "../incoming/Arrivals.ts"
import { CurrentExchange, type Exchange } from "../incoming/exchange.ts"
import { makeOriginCheck, makePreflight, type OriginCheck } from "../incoming/origin.ts"
import { makeReadTrace } from "../incoming/spans.ts"
import { Listeners, type Options } from "../Listeners.ts"
import * as Push from "../push/Push.ts"
import * as SessionRequests from "../requests/SessionRequests.ts"
import * as TicketLimits from "../requests/ticket-limits.ts"
import * as Hub from "../signalr/Hub.ts"
import { makeDispatch } from "./dispatch.ts"
import { makePrivateListener } from "./private-listener.ts"
import { routes } from "./router.ts"
import { makeUpgrade } from "./upgrade.ts"

const UTF_8 = new Set(["application/json", "application/problem+json"])

/** Says the encoding of an endpoint's JSON, as its schema does not. */
const withCharset = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const type = response.headers["content-type"] ?? ""
  return UTF_8.has(type) ? HttpServerResponse.setHeader(response, "content-type", `${type}; charset=utf-8`) : response
}

/** Serves the gate's routes and further ones on a router of its own, independent of any router in the host application. */
const makeRouter = Effect.fnUntraced(function* <R>(more: Layer.Layer<never, never, R>) {
  const scope = yield* Effect.scope
  const router = yield* HttpRouter.make
  yield* Layer.build(
    Layer.fresh(Layer.merge(routes, more)).pipe(Layer.provide(Layer.succeed(HttpRouter.HttpRouter, router))),
  )
  const withRequestId = Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const exchange = yield* CurrentExchange
    const answer = yield* Effect.annotateLogs(router.asHttpEffect(), { requestId: headers["x-request-id"] })
    // a middleware that wraps `writeHead`, such as compression(), loses the headers if this argument is undefined
    const response = HttpServerResponse.setStatus(answer, answer.status, STATUS_CODES[answer.status] ?? "")
    return exchange.outcome === undefined ? response : withCharset(response)
  })
  const handler = NodeHttpServer.makeHandler(withRequestId, { scope })
  const context = Context.add(yield* Effect.context<never>(), HttpMiddleware.TracerDisabledWhen, () => true)
  return (exchange: Exchange, request: IncomingMessage, response: ServerResponse): void =>
    Effect.runSyncWith(Context.add(context, CurrentExchange, exchange))(handler)(request, response)
})

/** The listeners of a gate; reads `Security.AllowedOrigins`, `Security.AllowedHeaders`, `Security.TrustedProxies` and `Server`. */
export const layer = ({
  basePath = "",
  routes: more = Layer.empty,
}: Options = {}): Layer.Layer<Listeners, never, Gatekeeper | Operator | PushChannel | Settings | Store> =>
  Layer.effect(
    Listeners,
    Effect.gen(function* () {
      const { Security } = yield* Settings
      const settings = yield* currentSettings
      const gatekeeper = yield* Gatekeeper
      const channel = yield* PushChannel
      const readiness = yield* Readiness.Readiness
      const limits = yield* TicketLimits.TicketLimits
      const push = yield* Push.Push
      const hub = yield* Hub.Hub
      const arrivals = yield* Arrivals.Arrivals
      const hostCheck = derived(settings, ({ Server }) => makeHostCheck(Server.AllowedHosts))
      const isOwnHost: HostCheck = (host) => hostCheck()(host)
      const originCheck = derived(settings, ({ Security }) => makeOriginCheck(Security.AllowedOrigins))
      const judgeOrigin: OriginCheck = (origin, host) => originCheck()(origin, host)
      const preflight = derived(settings, ({ Security }) => makePreflight(Security.AllowedHeaders))
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const documents = yield* makeDocuments((response, error) => {
        run(Effect.logError("A document could not be rendered", Cause.die(error)))
        write(response, internalError)
      })
      const toRouter = yield* makeRouter(Security.ConsoleToken.length === 0 ? more : Layer.merge(consoleRoutes, more))
      const common = { arrivals, limits, push, hub, isOwnHost, judgeOrigin, readTrace: yield* makeReadTrace }
      const { closeConnections, request } = yield* makeDispatch({
        allowedOrigins: () => settings().Security.AllowedOrigins,
        ...common,
        preflight: (origin, verdict, of) => preflight()(origin, verdict, of),
        serveDocument: documents.public,
        toRouter,
      })
      const upgrade = yield* makeUpgrade({ ...common, basePath })

      const drain = Effect.all([gatekeeper.close, readiness.drain, channel.drain, hub.drain], {
        concurrency: "unbounded",
        discard: true,
      })
      // registered last, so it runs before the scope closes what requests in progress depend on
      yield* Effect.addFinalizer(() => drain)

      return Listeners.of({
        request,
        upgrade,
        privateRequest: makePrivateListener(arrivals, documents.private),
        logRefusal: arrivals.logRefusal,
        notReady: readiness.notReady,
        // a host's own push channel may have no `sendAway`
        sendAway: (millis) => (millis > 0 ? (channel.sendAway?.(millis) ?? Effect.void) : Effect.void),
        unready: Effect.andThen(readiness.drain, Effect.sync(closeConnections)),
        drain,
      })
    }),
  ).pipe(
    Layer.provide([SessionRequests.layer(basePath), Readiness.layer, Push.layer, Hub.layer, Arrivals.layer(basePath)]),
    Layer.provide([TicketLimits.layer, GateLog.layer]),
    Layer.provide(CallerNames.layer),
  )
