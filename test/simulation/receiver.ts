/**
 * The host's server, to which the gates send events: it takes an event, fails, or does not answer. It keeps what has arrived.
 */
import { Effect, Layer } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import type { HostEvent } from "../../src/protocol/host-events.ts"
import type { Gate } from "./gate.ts"
import type { World } from "./world.ts"

/** The maximum latency, each way (ms). */
const MOST_LATENCY = 200

/** How it answers one request; `nothing`: it has taken the event and does not answer. */
type Answer = "taken" | "failed" | "nothing" | "away"

const answerTo = (world: World, key: string): Answer => {
  const { control, millis } = world.plan
  if (control.events !== "badly" || world.millis() > millis) return "taken"
  return (["taken", "taken", "taken", "failed", "nothing", "away"] as const)[world.chance(key, 6)] ?? "taken"
}

const eventIn = ({ body }: HttpClientRequest.HttpClientRequest): HostEvent | undefined =>
  body._tag === "Uint8Array" && body.text !== undefined ? JSON.parse(body.text) : undefined

/** The client by which a gate reaches it. A request that was sent arrives, also if the gate dies. */
export const clientOf = (world: World, gate: Gate): Layer.Layer<HttpClient.HttpClient> => {
  let requests = 0
  return Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.callback((resume) => {
        const event = eventIn(request)
        if (event === undefined) return world.fail("an event was sent without a body")
        const key = `${gate.name} sends ${event.id} ${requests++}`
        const answer = answerTo(world, key)
        const { kernel } = world
        const back = 1 + world.chance(`${key} back`, MOST_LATENCY)
        const respond = (status: number): void => {
          kernel.after(
            back,
            () => resume(Effect.succeed(HttpClientResponse.fromWeb(request, new Response(null, { status })))),
            gate.process,
          )
        }
        world.note(`${gate.name} sends event ${event.seq} ${event.type}: ${answer}`)
        kernel.after(1 + world.chance(`${key} there`, MOST_LATENCY), () => {
          if (answer === "taken" || answer === "nothing") world.watch.received(event)
          if (answer === "taken") respond(204)
          if (answer === "failed") respond(500)
        })
        if (answer === "away") {
          const reason = new HttpClientError.TransportError({ request, description: "nobody listens" })
          kernel.after(back, () => resume(Effect.fail(new HttpClientError.HttpClientError({ reason }))), gate.process)
        }
      }),
    ),
  )
}
