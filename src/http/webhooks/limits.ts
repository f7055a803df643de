/**
 * Limits what webhooks of vendors cost, because anyone can send them. The limits are by the address from which they
 * come:
 *
 * - After many refused webhooks in a minute, an address gets 429 for the rest of the minute, and no body of its
 *   webhooks is read.
 * - A large body is in memory while it arrives, so an address may send few of them at once.
 *
 * An address from which a call was ended within a day is the vendor's, and is not refused for the first reason: the vendor's other
 * customers choose where it sends their webhooks, and could otherwise keep those of the gate's own calls away.
 */
import type { IncomingMessage } from "node:http"
import { Clock, Effect, type Scope } from "effect"
import { ageOf } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import { makeHeld } from "../../lib/held.ts"
import { limitKey } from "../../lib/ip/address.ts"
import { header } from "../../serving/repeated-headers.ts"
import { type Answer, askedTooOften, MAX_BODY_BYTES, unread } from "../answers/answer.ts"
import { localRateLimit } from "../requests/local-rate-limit.ts"

/** Maximum refused webhooks of an address in a minute. */
export const REFUSED_WEBHOOKS_PER_MINUTE = 60
/** Bodies of more than `MAX_BODY_BYTES`, or of a length that is not announced, that an address may send at once. */
export const LARGE_AT_ONCE = 8

/** How long an address is known as a vendor's after a webhook has ended a call (ms). */
const KNOWN_MILLIS = 24 * 60 * 60_000
/** The number of vendors' addresses that are known. */
const MAX_KNOWN = 1_000

export interface WebhookLimits {
  /** The refusal of an address that has sent many refused webhooks; undefined for others. */
  readonly refusal: (address: string) => Answer | undefined
  readonly countRefused: (address: string) => void
  /** A webhook of this address has ended a call. */
  readonly countProven: (address: string) => void
  /** Reads a body, unless it is large and the address sends too many large ones at once. */
  readonly reading: <A>(
    address: string,
    request: IncomingMessage,
    read: Effect.Effect<A, Answer>,
  ) => Effect.Effect<A, Answer>
}

const isLarge = (request: IncomingMessage): boolean =>
  !(Number(header(request, "content-length") ?? Number.NaN) <= MAX_BODY_BYTES)

export const makeWebhookLimits: Effect.Effect<WebhookLimits, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const refused = yield* localRateLimit(() => REFUSED_WEBHOOKS_PER_MINUTE)
  const provenAt = boundedCache<number>(MAX_KNOWN)
  /** large bodies that arrive now */
  const arriving = makeHeld(LARGE_AT_ONCE)

  const isKnown = (key: string): boolean =>
    ageOf(provenAt.get(key) ?? Number.NEGATIVE_INFINITY, clock.currentTimeMillisUnsafe()) < KNOWN_MILLIS

  return {
    refusal: (address) => {
      if (isKnown(limitKey(address))) return undefined
      const seconds = refused.retryAfter(address, clock.currentTimeMillisUnsafe())
      return seconds === 0 ? undefined : unread(askedTooOften(seconds))
    },
    countRefused: (address) => void refused.take(address, clock.currentTimeMillisUnsafe()),
    countProven: (address) => void provenAt.set(limitKey(address), clock.currentTimeMillisUnsafe()),
    reading: (address, request, read) =>
      Effect.suspend(() => {
        if (!isLarge(request)) return read
        const key = limitKey(address)
        if (!arriving.acquire(key)) return Effect.fail(unread(askedTooOften(1)))
        return Effect.ensuring(
          read,
          Effect.sync(() => arriving.release(key)),
        )
      }),
  }
})
