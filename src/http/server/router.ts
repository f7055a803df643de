/** The router of the endpoints: tickets, webhooks, health and the console. The session request and documents bypass it. */
import { IncomingMessage } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import * as EventLog from "../../events/EventLog.ts"
import type { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import type { Operator } from "../../operator/Operator.ts"
import { drainBody } from "../../serving/compact-body.ts"
import type { Settings } from "../../settings/Settings.ts"
import type { Store } from "../../store/Store.ts"
import { Documented, Routed } from "../Api.ts"
import { internalError, methodNotAllowed, refusals } from "../answers/answer.ts"
import { respond } from "../answers/respond.ts"
import { budgets } from "../budgets/handlers.ts"
import { hostEvents } from "../events/handlers.ts"
import { operations, type Readiness } from "../health/Readiness.ts"
import { CurrentExchange } from "../incoming/exchange.ts"
import { input } from "../incoming/input.ts"
import { inServerSpan } from "../incoming/spans.ts"
import { availability } from "../requests/availability.ts"
import { tickets } from "../requests/tickets.ts"
import { webhooks } from "../webhooks/handlers.ts"

/** Runs an endpoint in its request's span. A defect is logged and answered with 500; what is unread of the body is discarded. */
export const answering = HttpRouter.middleware((handler) =>
  Effect.gen(function* () {
    const exchange = yield* CurrentExchange
    const { method, source } = yield* HttpServerRequest.HttpServerRequest
    const { params, route } = yield* HttpRouter.RouteContext
    const { response } = yield* handler.pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(Effect.logError("A request failed", Cause.die(defect)), respond(internalError)),
      ),
      Effect.map((response) => ({ response, status: response.status, outcome: exchange.outcome ?? "" })),
      inServerSpan(method, route.path, exchange.trace, params.id),
    )
    if (source instanceof IncomingMessage) drainBody(source)
    return response
  }),
)

/** The methods of every documented path, to distinguish a wrong method from a wrong path. */
const methods: ReadonlyArray<{ readonly path: RegExp; readonly allowed: string }> = (() => {
  const byPath = new Map<string, Array<string>>()
  HttpApi.reflect(Documented, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      byPath.set(endpoint.path, [...(byPath.get(endpoint.path) ?? []), endpoint.method])
    },
  })
  return [...byPath].map(([path, allowed]) => ({
    path: new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`),
    allowed: allowed.join(", "),
  }))
})()

const fallback = HttpRouter.add(
  "*",
  "*",
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const path = url.split("?", 1)[0] ?? url
    const known = methods.find((each) => each.path.test(path))
    return respond(known === undefined ? refusals.notFound : methodNotAllowed(known.allowed))
  }),
)

/** All routes of the router but the console's. */
export const routes: Layer.Layer<
  never,
  never,
  HttpRouter.HttpRouter | Gatekeeper | Operator | Readiness | Settings | Store
> = Layer.mergeAll(
  HttpApiBuilder.layer(Routed).pipe(
    Layer.provide([
      availability,
      tickets,
      webhooks,
      hostEvents.pipe(Layer.provide(EventLog.layer)),
      budgets,
      operations,
    ]),
    Layer.provide(input),
  ),
  fallback,
).pipe(Layer.provide(answering.layer), Layer.provide(NodeHttpServer.layerHttpServices))
