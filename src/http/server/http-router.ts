/**
 * The gate's HTTP on a host's own `HttpRouter`, for a host that serves with Effect on node. Each request is handed to the gate's listeners
 * with node's request and response. Once the gate has answered, Effect's server gets an empty response, and writes nothing itself.
 */
import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { refuseUpgrade } from "../answers/write-answer.ts"
import { Listeners } from "../Listeners.ts"

const NO_BYTES = Buffer.alloc(0)

const serveWith = ({ request: serve, upgrade }: Listeners["Service"]) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.callback<HttpServerResponse.HttpServerResponse>((resume) => {
      const answered = (): void => resume(Effect.succeed(HttpServerResponse.empty()))
      const source = NodeHttpServerRequest.toIncomingMessage(request)
      if (!(source instanceof IncomingMessage))
        return resume(Effect.die(new TypeError("The gate serves HTTP/1 alone.")))
      if (source.headers.upgrade?.toLowerCase() === "websocket") {
        source.socket.once("close", answered)
        if (!upgrade(source, source.socket, NO_BYTES)) refuseUpgrade(source.socket)
        return
      }
      const response = NodeHttpServerRequest.toServerResponse(request)
      if (!(response instanceof ServerResponse)) return answered()
      // when the client disconnects first, Effect's server interrupts this
      response.once("finish", answered)
      if (source.headers.expect?.toLowerCase() === "100-continue") response.writeContinue()
      serve(source, response)
    }),
  )

/** Adds the gate below `basePath`, which `layerListeners` must have too. WebSockets included: the host needs no `upgrade` listener. */
export const layer = ({
  basePath,
}: {
  readonly basePath: `/${string}`
}): Layer.Layer<never, never, HttpRouter.HttpRouter | Listeners> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      yield* router.add("*", `${basePath}/*`, serveWith(yield* Listeners))
    }),
  )
