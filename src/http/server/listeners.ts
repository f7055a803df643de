/** The gate as listeners of a node server: for its own server, or for a host's server under a path. */
import { STATUS_CODES } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { makeCampaigns } from "../../gatekeeper/Campaigns.ts"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import type { Operator } from "../../operator/Operator.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { type HostCheck, makeHostCheck } from "../../serving/hosts.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import { Settings } from "../../settings/Settings.ts"
import type { Store } from "../../store/Store.ts"
import { AccessLog, withCampaigns, withNames } from "../access-log/access-log.ts"
import { internalError } from "../answers/answer.ts"
import { write } from "../answers/write-answer.ts"
import { consoleRoutes } from "../console/routes.ts"
import { makeDocuments } from "../documents/documents.ts"
import { makeArrivals } from "../incoming/arrivals.ts"
import { makeOriginCheck, makePreflight, type OriginCheck } from "../incoming/origin.ts"
import { makeReadTrace } from "../incoming/spans.ts"
import { Listeners, type Options } from "../Listeners.ts"
import { makePush } from "../push/push.ts"
import * as Routes from "../requests/routes.ts"
import * as TicketLimits from "../requests/ticket-limits.ts"
import { makeHub } from "../signalr/hub.ts"
import { makeDispatch } from "./dispatch.ts"
import { makePrivateListener } from "./private-listener.ts"
import { routes } from "./router.ts"
import { makeUpgrade } from "./upgrade.ts"

/** Serves the gate's routes and further ones on a router of its own, independent of any router in the host application. */
const makeRouter = Effect.fnUntraced(function* <R>(more: Layer.Layer<never, never, R>) {
  const scope = yield* Effect.scope
  const router = yield* HttpRouter.make
  yield* Layer.build(
    Layer.fresh(Layer.merge(routes, more)).pipe(Layer.provide(Layer.succeed(HttpRouter.HttpRouter, router))),
  )
  const withRequestId = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    router.asHttpEffect().pipe(
      // a middleware that wraps `writeHead`, such as compression(), loses the headers if this argument is undefined
      Effect.map((response) =>
        HttpServerResponse.setStatus(response, response.status, STATUS_CODES[response.status] ?? ""),
      ),
      Effect.annotateLogs({ requestId: headers["x-request-id"] }),
    ),
  )
  return yield* NodeHttpServer.makeHandler(withRequestId, { scope }).pipe(
    Effect.provideService(HttpMiddleware.TracerDisabledWhen, () => true),
  )
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
      const routed = yield* Routes.Routes
      const campaigns = derived(settings, makeCampaigns)
      const named = withNames(yield* AccessLog, yield* CallerNames)
      const log = withCampaigns(named, (ticket) => campaigns().ofTicket(ticket)?.name)
      const limits = yield* TicketLimits.TicketLimits
      const push = yield* makePush(basePath, limits)
      const hub = yield* makeHub(basePath, log, limits)
      const arrivals = yield* makeArrivals(basePath, log)
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

      const drain = Effect.all([gatekeeper.close, routed.drain, channel.drain, hub.drain], {
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
        notReady: routed.notReady,
        // a host's own push channel may have no `sendAway`
        sendAway: (millis) => (millis > 0 ? (channel.sendAway?.(millis) ?? Effect.void) : Effect.void),
        unready: Effect.andThen(routed.drain, Effect.sync(closeConnections)),
        drain,
      })
    }),
  ).pipe(Layer.provide([Routes.layer(basePath), CallerNames.layer]), Layer.provide(TicketLimits.layer))
