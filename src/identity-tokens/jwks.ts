/**
 * The public keys of `Identity.JwksUrl`. They are read every few minutes, and not when a caller asks: a server of keys that is down, slow or
 * hostile keeps nobody waiting whose key is known, for `Identity.JwksStaleHours`. Only a token with an unknown key waits for a read, one for
 * all such tokens, and not more often than each half minute: anyone can send such tokens.
 *
 * What was read is kept in the store too, so that a gate that starts while the server is down, or cannot reach it, knows the keys that another
 * one has read.
 */
import { createHash } from "node:crypto"
import { Effect, Fiber, Option, Schema, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import type { JWK } from "jose"
import { ageOf } from "../lib/age.ts"
import { boundedText, codeOf, explained, withoutClientSpan, withoutRedirects } from "../lib/http-client.ts"
import { inSpan } from "../lib/spans.ts"
import { isoTime } from "../protocol/session-answers.ts"
import type { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import type { KeysState } from "./IdentityTokens.ts"
import * as metrics from "./metrics.ts"
import { type PublicKey, readKeys } from "./public-keys.ts"

/** How often the keys are read (ms). */
export const REFRESH_MILLIS = 5 * 60_000
/** The time between two reads that callers or failures cause (ms). */
export const COOLDOWN_MILLIS = 30_000
/** How long a read may take. */
export const TIMEOUT = "3 seconds"
/** The longest document, in bytes. */
const MAX_JWKS_BYTES = 64 * 1024

/** The keys for a token, or why there is none. */
export type Found =
  | { readonly _tag: "keys"; readonly keys: ReadonlyArray<PublicKey> }
  | { readonly _tag: "unknown" }
  /** no key is known at all; the next read is in so many seconds */
  | { readonly _tag: "unavailable"; readonly seconds: number }

export interface Jwks {
  /** The keys that a token names; all of them if it names none and there is only one. */
  readonly find: (kid: string | undefined) => Effect.Effect<Found>
  readonly state: () => KeysState
}

/** What was read, and when (ms since 1970). */
interface Known {
  readonly keys: ReadonlyArray<PublicKey>
  readonly at: number
}

const Stored = Schema.fromJsonString(Schema.Struct({ at: Schema.Finite, keys: Schema.Array(Schema.Unknown) }))
const decodeStored = Schema.decodeUnknownOption(Stored)

/** Where what was read is kept in the store. */
export const keyOf = (url: string): string =>
  `vg:jwks:${createHash("sha256").update(url).digest("base64url").slice(0, 22)}`

const withoutQuery = (url: string): string => url.replace(/\?.*/s, "?…")

/** Reads the document at the address once; fails with what is wrong, as the end of a sentence. */
export const fetchKeys = (
  jose: Pick<typeof import("jose"), "importJWK">,
  client: HttpClient.HttpClient,
  url: string,
): Effect.Effect<ReadonlyArray<PublicKey>, string> =>
  client.get(url, { headers: { accept: "application/json" } }).pipe(
    Effect.mapError(({ reason }) => `cannot be reached${explained(codeOf(reason.cause).code)}`),
    Effect.flatMap((response) =>
      response.status === 200
        ? Effect.mapError(
            boundedText(response, MAX_JWKS_BYTES),
            () => `sends more than ${MAX_JWKS_BYTES} bytes, or breaks off`,
          )
        : Effect.fail(`answers with HTTP ${response.status}`),
    ),
    Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(`does not answer within ${TIMEOUT}`) }),
    Effect.flatMap((text) => Effect.promise(() => readKeys(jose, text))),
    Effect.flatMap((keys) => {
      if (keys === undefined) return Effect.fail("does not send a JWKS")
      return keys.length === 0 ? Effect.fail("has no key for signatures by RS, ES or EdDSA") : Effect.succeed(keys)
    }),
    withoutRedirects,
    withoutClientSpan,
    inSpan("IdentityTokens.readKeys"),
  )

/** Reads the keys for as long as the scope is open. */
export const makeJwks = Effect.fnUntraced(function* (
  jose: Pick<typeof import("jose"), "importJWK">,
  client: HttpClient.HttpClient,
  store: Store["Service"],
  { staleMillis, url }: { readonly url: string; readonly staleMillis: number },
): Effect.fn.Return<Jwks, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const key = keyOf(url)
  let known: Known | undefined
  let problem = ""
  let attemptedAt = Number.NEGATIVE_INFINITY
  let reading: Fiber.Fiber<void> | undefined

  const validAt = (now: number): Known | undefined =>
    known !== undefined && ageOf(known.at, now) < staleMillis ? known : undefined

  const learn = (read: Known): void => {
    known = read
    metrics.keys.updateUnsafe(read.keys.length, context)
  }

  /** What another gate has read since, or this one before it was started again. */
  const fromStore = Effect.gen(function* () {
    const stored = Option.getOrUndefined(decodeStored(yield* store.get(key)))
    if (stored === undefined || stored.at <= (known?.at ?? 0)) return
    const keys = yield* Effect.promise(() => readKeys(jose, JSON.stringify({ keys: stored.keys })))
    if (keys !== undefined && keys.length > 0) learn({ keys, at: stored.at })
  }).pipe(Effect.ignore)

  const failed = (what: string) =>
    Effect.gen(function* () {
      const isNews = problem === ""
      problem = `Identity.JwksUrl (${withoutQuery(url)}) ${what}`
      metrics.keyReads.failed.updateUnsafe(1, context)
      yield* fromStore
      const now = yield* store.now
      const found = validAt(now)
      metrics.keys.updateUnsafe(found?.keys.length ?? 0, context)
      if (!isNews) return
      const meanwhile =
        found === undefined
          ? "No key is known, so callers with a token are answered 503."
          : `The ${found.keys.length} known keys are used until ${isoTime(found.at + staleMillis + aheadOf(store))}.`
      yield* Effect.logWarning(
        `${problem}. ${meanwhile} Further failures are counted in voicegate_identity_key_reads_total.`,
      )
    })

  const read = Effect.gen(function* () {
    attemptedAt = yield* store.now
    const keys = yield* fetchKeys(jose, client, url)
    const at = yield* store.now
    const wasFailing = problem !== ""
    problem = ""
    learn({ keys, at })
    metrics.keyReads.ok.updateUnsafe(1, context)
    if (wasFailing) yield* Effect.logInfo(`Identity.JwksUrl answers again, with ${keys.length} keys.`)
    const stored = JSON.stringify({ at, keys: keys.map(({ published }): JWK => published) })
    yield* Effect.ignore(store.set(key, stored, staleMillis))
  }).pipe(Effect.catch(failed))

  /** One read at a time; it goes on when a caller who waits for it leaves. */
  const refresh = Effect.suspend(() => {
    if (reading !== undefined) return Fiber.await(reading)
    return Effect.flatMap(
      Effect.forkIn(
        Effect.ensuring(
          read,
          Effect.sync(() => {
            reading = undefined
          }),
        ),
        scope,
      ),
      (fiber) => {
        reading = fiber
        return Fiber.await(fiber)
      },
    )
  })

  const among = ({ keys }: Known, kid: string | undefined): ReadonlyArray<PublicKey> => {
    const named = kid === undefined ? keys : keys.filter((each) => each.kid === kid)
    return kid === undefined && named.length > 1 ? [] : named
  }

  yield* fromStore
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      for (;;) {
        yield* refresh
        yield* Effect.sleep(problem === "" ? REFRESH_MILLIS : COOLDOWN_MILLIS)
      }
    }),
  )

  return {
    find: (kid) =>
      Effect.gen(function* () {
        const now = yield* store.now
        const keys = validAt(now)
        const found = keys === undefined ? [] : among(keys, kid)
        if (found.length > 0) return { _tag: "keys", keys: found }
        if (reading !== undefined || ageOf(attemptedAt, now) >= COOLDOWN_MILLIS) yield* refresh
        const then = yield* store.now
        const renewed = validAt(then)
        if (renewed === undefined) {
          const seconds = Math.ceil((COOLDOWN_MILLIS - ageOf(attemptedAt, then)) / 1000)
          return { _tag: "unavailable", seconds: Math.max(1, Math.min(COOLDOWN_MILLIS / 1000, seconds)) }
        }
        const later = among(renewed, kid)
        return later.length > 0 ? { _tag: "keys", keys: later } : { _tag: "unknown" }
      }),
    state: () => ({
      keys: known?.keys.length ?? 0,
      readAt: known?.at ?? 0,
      nextAt: attemptedAt < 0 ? 0 : attemptedAt + (problem === "" ? REFRESH_MILLIS : COOLDOWN_MILLIS),
      usedUntil: (known?.at ?? 0) + staleMillis,
      problem,
    }),
  }
})
