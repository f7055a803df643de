/**
 * Delivers due messages of the outbox until its scope closes: many concurrently, so that a slow receiver does not delay others.
 * Several processes may deliver from one database; each message is claimed by one. When a process dies, its claims expire and the
 * messages are tried again.
 */
import { Clock, Effect, Layer, Redacted, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { WebhookTarget } from "../model.ts"
import { WebCampaigns } from "../WebCampaigns.ts"
import { type Delivery, Webhooks } from "../Webhooks.ts"
import { sign } from "./sign.ts"

/** Timeout for a receiver, in milliseconds (reference/platform-api.md). */
export const WEBHOOK_TIMEOUT_MILLIS = 5_000
/** How often the outbox is polled, in milliseconds. */
export const POLL_MILLIS = 1_000
/** Limit of concurrent deliveries. */
const MAX_CONCURRENT_DELIVERIES = 32

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

    /** One attempt: the status of the answer, or undefined when there was none. */
    const attempt = Effect.fnUntraced(function* (target: WebhookTarget, delivery: Delivery) {
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      return yield* client.execute(requestOf(target, delivery, timestamp)).pipe(
        // The body is irrelevant; a little of it is read, so that an ordinary connection closes cleanly.
        Effect.tap(({ stream }) => Stream.runDrain(Stream.take(stream, 4))),
        Effect.map(({ status }) => status),
        Effect.timeout(WEBHOOK_TIMEOUT_MILLIS),
        // The cause contains the request with its secrets, so it is dropped.
        Effect.catch(() => Effect.succeed(undefined)),
      )
    })

    const deliver = Effect.fnUntraced(function* (delivery: Delivery) {
      const target = yield* campaigns.targetOf(delivery.webCampaignId)
      // The campaign was deleted or has no webhook any more.
      if (target === undefined) return yield* webhooks.settle(delivery, true, "no receiver")
      const status = yield* attempt(target, delivery)
      const delivered = status !== undefined && status >= 200 && status < 300
      const outcome = status === undefined ? "no answer" : `HTTP ${status}`
      const state = yield* webhooks.settle(delivery, delivered, outcome)
      if (state === "given_up") yield* Effect.logWarning(`webhook ${delivery.id} was given up (${outcome})`)
      return state
    })

    let inFlight = 0
    /** Starts due deliveries up to the limit; returns whether more may be due. */
    const deliverDue = Effect.gen(function* () {
      yield* webhooks.hint.close
      const capacity = MAX_CONCURRENT_DELIVERIES - inFlight
      if (capacity === 0) return false
      const claimed = yield* webhooks.claim(capacity)
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
      return claimed.length === capacity
    })

    yield* Effect.gen(function* () {
      const more = yield* deliverDue
      if (!more) yield* Effect.raceFirst(webhooks.hint.await, Effect.sleep(POLL_MILLIS))
    }).pipe(
      // Tries again when the database is unavailable.
      Effect.catchTag("DatabaseUnavailable", () => Effect.sleep(POLL_MILLIS)),
      Effect.forever,
      Effect.forkScoped,
    )
  }),
)
