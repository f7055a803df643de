/**
 * Delivers what is due in the outbox, for as long as its scope is open: many at a time, so one slow receiver holds up nobody.
 * Several processes may deliver from one database; each message is claimed by one. A process that dies leaves its claims
 * behind, and they are tried again when they run out.
 */
import { Clock, Effect, Layer, Redacted, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { WebhookTarget } from "../model.ts"
import { WebCampaigns } from "../WebCampaigns.ts"
import { type Delivery, Webhooks } from "../Webhooks.ts"
import { sign } from "./sign.ts"

/** How long a receiver may take, in milliseconds (reference/platform-api.md). */
export const WEBHOOK_TIMEOUT_MILLIS = 5_000
/** How often the outbox is looked at when nothing hints at it, in milliseconds. */
export const LOOK_MILLIS = 1_000
/** Tries at the same time. */
const MOST_AT_ONCE = 32

const requestOf = (target: WebhookTarget, { body, id }: Delivery, timestamp: number) => {
  const custom = Object.entries(target.headers).map(([name, value]) => [name, Redacted.value(value)] as const)
  const signature = target.signingSecret && sign(target.signingSecret, id, timestamp, body)
  return HttpClientRequest.post(target.url, {
    headers: {
      ...Object.fromEntries(custom),
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      ...(signature === undefined ? {} : { "webhook-signature": signature }),
    },
  }).pipe(HttpClientRequest.bodyText(body, "application/json"))
}

export const layer: Layer.Layer<never, never, Webhooks | WebCampaigns | HttpClient.HttpClient> = Layer.effectDiscard(
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const webhooks = yield* Webhooks
    const campaigns = yield* WebCampaigns
    const scope = yield* Effect.scope

    /** One try: the status of the answer, or undefined when there was none. */
    const attempt = Effect.fnUntraced(function* (target: WebhookTarget, delivery: Delivery) {
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      return yield* client.execute(requestOf(target, delivery, timestamp)).pipe(
        // The answer's body tells nothing; a little of it is read, so that an ordinary connection ends in peace.
        Effect.tap(({ stream }) => Stream.runDrain(Stream.take(stream, 4))),
        Effect.map(({ status }) => status),
        Effect.timeout(WEBHOOK_TIMEOUT_MILLIS),
        // The cause holds the request with its secrets: only that there was no answer is kept.
        Effect.catch(() => Effect.succeed(undefined)),
      )
    })

    const deliver = Effect.fnUntraced(function* (delivery: Delivery) {
      const target = yield* campaigns.targetOf(delivery.webCampaignId)
      // A campaign that is gone or wants nothing any more: nobody is left to tell.
      if (target === undefined) return yield* webhooks.settle(delivery, true, "no receiver")
      const status = yield* attempt(target, delivery)
      const taken = status !== undefined && status >= 200 && status < 300
      const outcome = status === undefined ? "no answer" : `HTTP ${status}`
      const state = yield* webhooks.settle(delivery, taken, outcome)
      if (state === "given_up") yield* Effect.logWarning(`webhook ${delivery.id} was given up (${outcome})`)
      return state
    })

    let inFlight = 0
    /** Starts what is due, as far as there are tries free; whether there may be more. */
    const look = Effect.gen(function* () {
      yield* webhooks.hint.close
      const room = MOST_AT_ONCE - inFlight
      if (room === 0) return false
      const claimed = yield* webhooks.claim(room)
      for (const delivery of claimed) {
        inFlight++
        yield* deliver(delivery).pipe(
          Effect.ignore,
          Effect.ensuring(
            Effect.suspend(() => {
              inFlight--
              return webhooks.hint.open
            }),
          ),
          Effect.forkIn(scope),
        )
      }
      return claimed.length === room
    })

    yield* Effect.gen(function* () {
      const more = yield* look
      if (!more) yield* Effect.raceFirst(webhooks.hint.await, Effect.sleep(LOOK_MILLIS))
    }).pipe(
      // A database that is away is waited for.
      Effect.catchTag("DatabaseUnavailable", () => Effect.sleep(LOOK_MILLIS)),
      Effect.forever,
      Effect.forkScoped,
    )
  }),
)
