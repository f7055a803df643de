/** The services of the gate's HTTP: listeners for a host's node server, and a server of the gate's own. Their layers are in other files. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Context, Effect, type Layer } from "effect"
import type { HttpRouter } from "effect/http"
import type { Refused } from "./incoming/Arrivals.ts"
import type { Upgrade } from "./server/upgrade.ts"

export class Listeners extends Context.Service<
  Listeners,
  {
    readonly request: (request: IncomingMessage, response: ServerResponse) => void
    readonly upgrade: Upgrade
    /** Serves only the documents that `Server.Docs` and `Server.Metrics` make private. */
    readonly privateRequest: (request: IncomingMessage, response: ServerResponse) => void
    /** Logs a request or connection that was refused before it reached the listeners. */
    readonly logRefusal: (refusal: Refused) => void
    /** Why the gate is not ready, as `/health/ready` tells it; undefined if it is. */
    readonly notReady: Effect.Effect<string | undefined>
    /** Turns readiness false and answers with `Connection: close`, while requests are still served. */
    readonly unready: Effect.Effect<void>
    /** Tells the push connections that are open now to reconnect elsewhere, evenly within `millis`; everything is still served. */
    readonly sendAway: (millis: number) => Effect.Effect<void>
    /**
     * Shuts the gate down: readiness turns false, new sessions are refused (503 `draining`), and push connections are told to reconnect
     * elsewhere, each after the start that it requested is answered. Waits at most 6.5 s for starts in progress. The layer's
     * finalizer does it too.
     */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/Listeners") {}

export interface Options {
  /** where a host has mounted the gate, such as `/voice`; empty for the gate's own server */
  readonly basePath?: string
  /** additional routes, such as the demo's page */
  readonly routes?: Layer.Layer<never, never, HttpRouter.HttpRouter>
}

/** The running server. */
export class GateServer extends Context.Service<
  GateServer,
  {
    /** `http://host:port`; a wildcard host is shown as loopback */
    readonly url: string
    readonly port: number
    /** the URL of the private port; undefined if nothing is private */
    readonly privateUrl: string | undefined
  }
>()("voicegate/http/GateServer") {}

/** Succeeds when an operator does not want to wait for the drain of a shutdown any longer. */
export const Hurry = Context.Reference<Effect.Effect<void>>("voicegate/http/Hurry", {
  defaultValue: () => Effect.never,
})
