/** Tickets, webhooks and health on Effect's router. The session request and documents bypass it. */
import { IncomingMessage } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import { drainBody } from "../../serving/compact-body.ts"
import { Documented, Routed } from "../Api.ts"
import { type Answer, internalError, methodNotAllowed, refusals } from "../answers/answer.ts"
import { inServerSpan } from "../incoming/spans.ts"
import { Routes } from "../requests/routes.ts"

/** The outcomes of the router's answers, for the access log. */
const outcomes = new WeakMap<IncomingMessage, string>()
export const routedOutcome = (request: IncomingMessage): string | undefined => outcomes.get(request)

/** Sends an answer and records its outcome for the access log. `ticket` is the one that the request is about. */
export const respond = <R>(
  answer: Effect.Effect<Answer, never, R>,
  ticket?: string,
): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  R | HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext
> =>
  Effect.gen(function* () {
    const { method, source } = yield* HttpServerRequest.HttpServerRequest
    const { route } = yield* HttpRouter.RouteContext
    const { body, headers, outcome, status } = yield* Effect.catchDefect(answer, (defect) =>
      Effect.as(Effect.logError("A request failed", Cause.die(defect)), internalError),
    ).pipe(inServerSpan(method, route.path, source instanceof IncomingMessage ? source : undefined, ticket))
    if (source instanceof IncomingMessage) {
      outcomes.set(source, outcome)
      drainBody(source)
    }
    return status === 204
      ? HttpServerResponse.empty({ status, headers })
      : HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] ?? "application/json" })
  })

/** The node request of the current request. */
export const incoming = Effect.map(HttpServerRequest.HttpServerRequest, ({ source }) => {
  if (source instanceof IncomingMessage) return source
  throw new TypeError("the gate's routes are served by node:http alone")
})

const tickets = HttpApiBuilder.group(Routed, "Tickets", (handlers) =>
  Effect.map(Routes, (routes) =>
    handlers
      .handleRaw("status", ({ params, query }) => respond(routes.status(params.id, query.hidden === "true"), params.id))
      .handleRaw("start", ({ params }) => respond(routes.start(params.id), params.id))
      .handleRaw("relay", ({ params }) =>
        respond(
          Effect.flatMap(incoming, (request) => routes.relay(params.id, request)),
          params.id,
        ),
      )
      .handleRaw("silence", ({ params }) =>
        respond(
          Effect.flatMap(incoming, (request) => routes.silence(params.id, request)),
          params.id,
        ),
      )
      .handleRaw("leave", ({ params }) => respond(routes.leave(params.id), params.id))
      .handleRaw("leaveWithPage", ({ params }) => respond(routes.leave(params.id), params.id)),
  ),
)

const webhooks = HttpApiBuilder.group(Routed, "Webhooks", (handlers) =>
  Effect.map(Routes, (routes) =>
    handlers
      .handleRaw("sessionEnded", () => respond(Effect.flatMap(incoming, routes.sessionEnded)))
      .handleRaw("vendor", ({ params }) =>
        respond(Effect.flatMap(incoming, (request) => routes.vendorWebhook(params.platform, request))),
      ),
  ),
)

const operations = HttpApiBuilder.group(Routed, "Operations", (handlers) =>
  Effect.map(Routes, (routes) =>
    handlers.handleRaw("live", () => respond(routes.live)).handleRaw("ready", () => respond(routes.ready)),
  ),
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
  respond(
    Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
      const path = url.split("?", 1)[0] ?? url
      const known = methods.find((each) => each.path.test(path))
      if (known === undefined) return refusals.notFound
      return methodNotAllowed(known.allowed)
    }),
  ),
)

/** All routes of the router, with the services of the node adapter. */
export const routes: Layer.Layer<never, never, HttpRouter.HttpRouter | Routes> = Layer.mergeAll(
  HttpApiBuilder.layer(Routed).pipe(Layer.provide([tickets, webhooks, operations])),
  fallback,
).pipe(Layer.provide(NodeHttpServer.layerHttpServices))
