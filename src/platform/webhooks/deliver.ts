/**
 * Delivers due messages of the outbox until its scope closes: many concurrently, so that a slow receiver does not delay others.
 * Several processes may deliver from one database; each message is claimed by one. When a process dies, its claims expire and the
 * messages are tried again.
 */
import { Clock, Effect, Layer, Redacted, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { monotonicMillis } from "../../lib/age.ts"
import { makeHeld } from "../../lib/held.ts"
import { retryAfterSeconds } from "../../lib/retry-after.ts"
import { sign } from "../../lib/standard-webhooks.ts"
import { WebCampaigns } from "../businesses/WebCampaigns.ts"
import type { WebhookTarget } from "../model.ts"
import { type Attempt, keptAnswer, keptHeaders, MAX_ANSWER_BYTES } from "./attempts.ts"
import { NotPublic } from "./rules.ts"
import { type Delivery, Webhooks } from "./Webhooks.ts"

/** Timeout for a receiver, in milliseconds (reference/platform-api.md). */
const WEBHOOK_TIMEOUT_MILLIS = 5_000
export const POLL_MILLIS = 1_000
export const MAX_CONCURRENT_DELIVERIES = 64
const MAX_CLAIMED = 8

/**
 * Whether a user gets no more deliveries until one ends. Each may have as many in flight as there are places left: the first half of
 * all, the next a quarter, and so on. So several whose receivers are silent leave places for the others.
 */
export const isBusy = (ofUser: number, total: number): boolean => ofUser >= MAX_CONCURRENT_DELIVERIES - total

/** The headers that the request itself sets. */
const ownHeaders = (target: WebhookTarget, { body, id }: Delivery, timestamp: number): Record<string, string> => {
  const signature = target.signingSecret && sign(Redacted.value(target.signingSecret), id, String(timestamp), body)
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    ...(signature === undefined ? {} : { "webhook-signature": signature }),
  }
}

const requestOf = (target: WebhookTarget, { body }: Delivery, own: Readonly<Record<string, string>>) => {
  const custom = Object.entries(target.headers).map(([name, value]) => [name, Redacted.value(value)] as const)
  return HttpClientRequest.post(target.url, { headers: { ...Object.fromEntries(custom), ...own } }).pipe(
    HttpClientRequest.bodyText(body, "application/json"),
  )
}

interface Answer {
  readonly status: number
  /** when the receiver wants the next attempt at the earliest, in milliseconds from now */
  readonly waitMillis: number
  readonly body: Uint8Array
  readonly truncated: boolean
}

/** Reads the start of an answer: what is kept of it, and enough that an ordinary connection closes cleanly. */
const readAnswer = Effect.fnUntraced(function* ({ headers, status, stream }: HttpClientResponse.HttpClientResponse) {
  const seconds = retryAfterSeconds(headers["retry-after"], headers.date, yield* Clock.currentTimeMillis) ?? 0
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* stream.pipe(
    Stream.takeUntil((chunk) => {
      chunks.push(chunk)
      size += chunk.length
      return size > MAX_ANSWER_BYTES
    }),
    Stream.runDrain,
  )
  const body = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES)
  return { status, waitMillis: seconds * 1000, body, truncated: size > MAX_ANSWER_BYTES } satisfies Answer
})

/** A code of the system or of TLS, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`: it contains nothing of the request. */
const ERROR_CODE = /^[A-Z][A-Z0-9_]{2,63}$/

/** Why there was no answer, from the first code among the causes. The causes' texts may contain the request with its secrets. */
const reasonOf = (error: unknown): string => {
  let cause: unknown = error
  for (let depth = 0; depth < 8 && typeof cause === "object" && cause !== null; depth++) {
    if ("code" in cause && typeof cause.code === "string" && ERROR_CODE.test(cause.code)) return cause.code
    if (cause instanceof NotPublic) return cause.message
    cause = "reason" in cause ? cause.reason : "cause" in cause ? cause.cause : undefined
  }
  return "the connection failed"
}

/** The receiver wants no more of these messages (Standard Webhooks, RFC 9110 15.5.11). */
const GONE = 410

/** The outcome of an attempt, for its owner. A redirect is not followed: the target is what was checked, and gets the secrets. */
const outcomeOf = (status: number | null): string => {
  if (status === null) return "no response"
  return status >= 300 && status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`
}

export const layer: Layer.Layer<never, never, Webhooks | WebCampaigns | HttpClient.HttpClient> = Layer.effectDiscard(
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const webhooks = yield* Webhooks
    const campaigns = yield* WebCampaigns
    const scope = yield* Effect.scope

    const attempt = Effect.fnUntraced(function* (target: WebhookTarget, delivery: Delivery) {
      const at = yield* Clock.currentTimeMillis
      const began = yield* monotonicMillis
      const own = ownHeaders(target, delivery, Math.floor(at / 1000))
      const answered = yield* client.execute(requestOf(target, delivery, own)).pipe(
        Effect.flatMap(readAnswer),
        Effect.timeoutOrElse({
          duration: WEBHOOK_TIMEOUT_MILLIS,
          orElse: () => Effect.succeed(`no response within ${WEBHOOK_TIMEOUT_MILLIS / 1000} s`),
        }),
        Effect.catch((error) => Effect.succeed(reasonOf(error))),
      )
      const kept = {
        at,
        durationMillis: Math.round((yield* monotonicMillis) - began),
        url: target.url,
        headers: keptHeaders(target, own),
      }
      if (typeof answered === "string") {
        const done: Attempt = { ...kept, status: null, error: answered, answer: null, truncated: false }
        return { done, waitMillis: 0 }
      }
      const { body, status, truncated, waitMillis } = answered
      const done: Attempt = { ...kept, status, error: null, answer: keptAnswer(target, body, truncated), truncated }
      return { done, waitMillis }
    })

    const deliver = Effect.fnUntraced(function* (delivery: Delivery) {
      const target = yield* campaigns.targetOf(delivery.webCampaignId)
      // The campaign was deleted or has no webhook any more.
      if (target === undefined) return yield* webhooks.settle(delivery, true, "no receiver")
      const { done, waitMillis } = yield* attempt(target, delivery)
      const delivered = done.status !== null && done.status >= 200 && done.status < 300
      const wish = { waitMillis, gone: done.status === GONE }
      const state = yield* webhooks.settle(delivery, delivered, outcomeOf(done.status), done, wish)
      const outcome = outcomeOf(done.status)
      if (state === "given_up") yield* Effect.logWarning(`webhook ${delivery.id} was given up (${outcome})`)
      return state
    })

    /** deliveries that are under way, by user */
    const inFlight = makeHeld()
    /** Starts due deliveries up to the limits; returns whether more may be due. */
    const deliverDue = Effect.gen(function* () {
      yield* webhooks.hint.close
      const total = [...inFlight.all().values()].reduce((sum, deliveries) => sum + deliveries, 0)
      const free = MAX_CONCURRENT_DELIVERIES - total
      if (free === 0) return false
      // all may be of one user, who must not get the last places
      const limit = Math.max(1, Math.min(MAX_CLAIMED, Math.floor(free / 4)))
      const busyUsers = [...inFlight.all()].flatMap(([id, deliveries]) => (isBusy(deliveries, total) ? id : []))
      const claimed = yield* webhooks.claim(limit, busyUsers)
      for (const delivery of claimed) {
        inFlight.acquire(delivery.userId)
        yield* deliver(delivery).pipe(
          Effect.ignore,
          Effect.ensuring(
            Effect.suspend(() => {
              inFlight.release(delivery.userId)
              return webhooks.hint.open
            }),
          ),
          Effect.forkIn(scope),
        )
      }
      return claimed.length === limit
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
