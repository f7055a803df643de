/**
 * The platform's side of the contract on one HTTP server: the API below `/api/v1`, its description at `/openapi.json`, and
 * the sessions' WebSockets. It knows the gate only through the wire. Closing the layer's scope ends what is open.
 */
import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import { type HttpClient, HttpRouter, HttpServer, type HttpServerError } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as Accounts from "./Accounts.ts"
import { Api } from "./http/Api.ts"
import { businesses } from "./http/businesses.ts"
import { authorization, formErrors, unknownRoutes } from "./http/middleware.ts"
import { users } from "./http/users.ts"
import * as socket from "./socket.ts"
import * as Webhooks from "./Webhooks.ts"
import * as WebSessions from "./WebSessions.ts"

/** The longest frame a caller may send, in bytes: two seconds of 16 kHz 16 bit mono. */
const MAX_FRAME_BYTES = 64 * 1024

export interface Options {
  readonly seed: Accounts.Seed
  /** the address to listen on; 127.0.0.1 when absent */
  readonly host?: string
  /** 0 (when absent) for a free one */
  readonly port?: number
  /** where browsers reach the sessions' WebSockets, such as `wss://calls.example`; the bound address when absent */
  readonly publicWebSocketOrigin?: string
}

export class Platform extends Context.Service<
  Platform,
  {
    /** `http://host:port`, without a slash */
    readonly origin: string
    /** what a client is configured with; ends in `/api/v1/` */
    readonly baseUrl: string
  }
>()("voicegate/platform/Platform") {}

/** The running platform; the client delivers its webhooks. */
export const layer = (
  options: Options,
): Layer.Layer<Platform, HttpServerError.ServeError | Accounts.SeedInvalid, HttpClient.HttpClient> => {
  const origin = Effect.map(HttpServer.HttpServer, ({ address }) =>
    // Listening everywhere is no address to call: what it can be reached at from here is.
    HttpServer.formatAddress(address).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:"),
  )
  const webSocketOrigin = Effect.map(origin, (http) => options.publicWebSocketOrigin ?? http.replace(/^http/, "ws"))
  const platform = Layer.effect(
    Platform,
    Effect.map(origin, (origin) => Platform.of({ origin, baseUrl: `${origin}/api/v1/` })),
  )
  const handlers = Layer.unwrap(Effect.map(webSocketOrigin, (origin) => businesses(origin)))
  const groups = Layer.mergeAll(handlers, users).pipe(Layer.provide([authorization, formErrors]))
  const api = HttpApiBuilder.layer(Api, { openapiPath: "/openapi.json" }).pipe(Layer.provide(groups))
  const server = NodeHttpServer.layer(createServer, {
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    // Sessions last for hours: shutting down ends them first, instead of waiting for them.
    disablePreemptiveShutdown: true,
    websocket: { maxPayload: MAX_FRAME_BYTES },
  })
  const state = WebSessions.layerMemory.pipe(
    Layer.provideMerge(Webhooks.layer),
    Layer.provideMerge(Accounts.layerMemory(options.seed)),
  )
  // The state stands outside of `serve`, which builds its routes anew.
  return HttpRouter.serve(Layer.mergeAll(api, socket.route, unknownRoutes), {
    disableLogger: true,
    disableListenLog: true,
  }).pipe(Layer.provideMerge(platform), Layer.provide(state), Layer.provide(server))
}
