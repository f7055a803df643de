/**
 * Sends session-ended to a campaign's target: at least once, so receivers must be idempotent. Every try of one message
 * carries the same `webhook-id` and a new timestamp and signature (Standard Webhooks 1.0). Whatever is not a 2xx within
 * five seconds is tried again, later and later, for about a day; then it is given up with a warning.
 */
import { createHmac, randomUUID } from "node:crypto"
import { Clock, Context, Data, Effect, Layer, Redacted, Schedule } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { WebhookTarget } from "./Accounts.ts"

/** How long a receiver may take, in milliseconds (reference/platform-api.md). */
export const WEBHOOK_TIMEOUT_MILLIS = 5_000
/** The pause before the second try, in milliseconds; doubled each time, up to an hour. */
export const FIRST_RETRY_MILLIS = 1_000
/** The first twelve pauses double and add up to an hour and eight minutes; the rest are an hour each: about a day. */
const RETRIES = 35

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Sends in the background; returns at once. The body is JSON. */
    readonly send: (target: WebhookTarget, body: string) => Effect.Effect<void>
  }
>()("voicegate/platform/Webhooks") {}

/** The receiver did not take the message. Its answer's status, or 0 when there was none. */
class NotDelivered extends Data.TaggedError("NotDelivered")<{ readonly status: number }> {}

/**
 * The `webhook-signature` of one try: HMAC-SHA256 of `{id}.{timestamp}.{body}` under the base64 part of the secret.
 *
 * @param timestamp Unix seconds
 */
export const sign = (secret: Redacted.Redacted<string>, id: string, timestamp: number, body: string): string => {
  const key = Buffer.from(Redacted.value(secret).replace(/^whsec_/, ""), "base64")
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
}

const backOff = Schedule.min([Schedule.exponential(`${FIRST_RETRY_MILLIS} millis`), Schedule.spaced("1 hour")]).pipe(
  Schedule.jittered,
)

export const layer: Layer.Layer<Webhooks, never, HttpClient.HttpClient> = Layer.effect(
  Webhooks,
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const scope = yield* Effect.scope

    const attempt = Effect.fnUntraced(function* (target: WebhookTarget, id: string, body: string) {
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const custom = Object.entries(target.headers ?? {}).map(([name, value]) => [name, Redacted.value(value)] as const)
      const signature = target.signingSecret && sign(target.signingSecret, id, timestamp, body)
      const request = HttpClientRequest.post(target.url, {
        headers: {
          ...Object.fromEntries(custom),
          "webhook-id": id,
          "webhook-timestamp": String(timestamp),
          ...(signature === undefined ? {} : { "webhook-signature": signature }),
        },
      }).pipe(HttpClientRequest.bodyText(body, "application/json"))
      const status = yield* client.execute(request).pipe(
        // Read to its end, so that the connection can be used again.
        Effect.flatMap((response) => Effect.as(response.text, response.status)),
        Effect.timeout(WEBHOOK_TIMEOUT_MILLIS),
        // The cause holds the request with its secrets: only that there was no answer is kept.
        Effect.catch(() => Effect.succeed(0)),
      )
      if (status < 200 || status >= 300) return yield* new NotDelivered({ status })
    })

    const send = Effect.fnUntraced(function* (target: WebhookTarget, body: string) {
      const id = `msg_${randomUUID()}`
      yield* attempt(target, id, body).pipe(
        Effect.tapError(({ status }) => Effect.logDebug(`webhook ${id} was not taken (HTTP ${status}), trying again`)),
        Effect.retry({ schedule: backOff, times: RETRIES }),
        Effect.catch(({ status }) => Effect.logWarning(`webhook ${id} was given up (HTTP ${status})`)),
        Effect.forkIn(scope),
      )
    })

    return Webhooks.of({ send })
  }),
)
