/**
 * The name of a caller in everything that is stored, logged and shown: the plain address or the signed subject, or with `Privacy.Addresses:
 * hashed` a keyed hash of it (HMAC-SHA-256 of the limit key or the subject, truncated to 96 bits).
 *
 * All instances share the keys. The first instance that needs one creates it in the store. That of addresses is deleted after its week. From
 * then on old hashes cannot be traced to an address. Rate limits of addresses start again with each new key, once a week.
 *
 * A subject is the host's own id, and has budgets of up to a month: its key stays for as long as gates use it.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Schedule, Schema } from "effect"
import { boundedCache } from "../lib/bounded-cache.ts"
import { limitKey } from "../lib/ip/address.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { Settings } from "../settings/Settings.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import { Store } from "../store/Store.ts"
import { timeOfDay } from "../store/time-of-day.ts"
import { agreeOnSecret } from "./rules/agree-on-secret.ts"
import { SUBJECT_PREFIX } from "./rules/subject-name.ts"

const DAY_MILLIS = 86_400_000
export const KEY_MILLIS = 7 * DAY_MILLIS
/** 1 January 1970 was a Thursday: weeks begin on Monday, 00:00 UTC. */
const FIRST_MONDAY_MILLIS = 4 * DAY_MILLIS
/** Where the store has the key of subjects. */
const SUBJECTS_KEY = "vg:privacy:subjects"
/** How long the store keeps it after the last gate has used it (ms): longer than it keeps a budget of the month. */
const SUBJECT_KEY_MILLIS = 40 * DAY_MILLIS
/** How long the store keeps a key after its week (ms), for operations in progress. */
const KEY_GRACE_MILLIS = 60_000
/** How often the key is written again (ms), in case the store has lost it. */
const RENEW_MILLIS = 30_000
const KEY_BYTES = 32
/** Length of a hashed name in base64url characters of 6 bits each. */
const NAME_LENGTH = 16
const MAX_CACHED_NAMES = 10_000

/** Whether a name is that of a subject, not of an address. */
export const isSubject = (name: string): boolean => name.startsWith(SUBJECT_PREFIX)

const agree = ruleOf("callerNames.agree", runPlain(agreeOnSecret), Schema.String)

export class CallerNames extends Context.Service<
  CallerNames,
  {
    /**
     * Makes sure that the key of this week and that of subjects are known. Must have succeeded before a name is stored. Undefined if addresses are
     * plain: they need no key.
     */
    readonly ready: Effect.Effect<void, StoreUnavailable> | undefined
    /** The name of a key derived from an address: a limit key or a network. */
    readonly of: (key: string) => string
    /** The name of a subject, which no address has: it begins with `SUBJECT_PREFIX`, and has no spaces. */
    readonly subject: (subject: string) => string
    /** The name of an address, for logs and operators. */
    readonly shown: (address: string) => string
  }
>()("voicegate/CallerNames") {
  /** Reads `Privacy.Addresses`. */
  static readonly layer: Layer.Layer<CallerNames, never, Settings | Store> = Layer.effect(
    CallerNames,
    Effect.gen(function* () {
      const { Addresses } = (yield* Settings).Privacy
      if (Addresses === "plain") {
        return {
          ready: undefined,
          of: (key) => key,
          subject: (subject) => SUBJECT_PREFIX + encodeURIComponent(subject),
          shown: (address) => address,
        }
      }

      const store = yield* Store
      const newKey = (): string => randomBytes(KEY_BYTES).toString("base64url")
      /** starts as a key of this process only; names derived from it are never stored */
      let current = { week: Number.NaN, key: newKey() }
      const names = boundedCache<string>(MAX_CACHED_NAMES)
      let ofSubjects = { isAgreed: false, key: newKey() }
      const subjects = boundedCache<string>(MAX_CACHED_NAMES)

      const weekAt = (now: number): number => Math.floor((now - FIRST_MONDAY_MILLIS) / KEY_MILLIS)
      const agreeOnWeek = Effect.fnUntraced(function* (now: number): Effect.fn.Return<void, StoreUnavailable> {
        const week = weekAt(now)
        const lifetime = FIRST_MONDAY_MILLIS + (week + 1) * KEY_MILLIS + KEY_GRACE_MILLIS - now
        const secret = current.week === week ? current.key : newKey()
        const keys = [`vg:privacy:${week}`]
        const key = yield* store.run(agree, { keys, now, context: NO_CONTEXT, call: { secret, lifetime } })
        if (current.key === key && current.week === week) return
        current = { week, key }
        names.clear()
      })
      const agreeOnSubjects = Effect.fnUntraced(function* (now: number): Effect.fn.Return<void, StoreUnavailable> {
        const call = { secret: ofSubjects.key, lifetime: SUBJECT_KEY_MILLIS }
        const key = yield* store.run(agree, { keys: [SUBJECTS_KEY], now, context: NO_CONTEXT, call })
        // its lifetime begins anew
        yield* store.set(SUBJECTS_KEY, key, SUBJECT_KEY_MILLIS)
        if (ofSubjects.key !== key) subjects.clear()
        ofSubjects = { isAgreed: true, key }
      })
      const agreeOn = (now: number): Effect.Effect<void, StoreUnavailable> =>
        Effect.all([agreeOnWeek(now), agreeOnSubjects(now)], { concurrency: "unbounded", discard: true })

      const hashOf = (text: string, key: string, cache: typeof names): string => {
        const known = cache.get(text)
        if (known !== undefined) return known
        const name = `h${createHmac("sha256", key).update(text).digest("base64url").slice(0, NAME_LENGTH)}`
        cache.set(text, name)
        return name
      }
      const of = (key: string): string => hashOf(key, current.key, names)

      // weeks begin by the time of day
      const now = timeOfDay(store)
      const renew = Effect.ignore(Effect.flatMap(now, agreeOn))
      yield* renew
      yield* renew.pipe(Effect.schedule(Schedule.spaced(RENEW_MILLIS)), Effect.forkScoped)
      return {
        ready: Effect.flatMap(now, (at) =>
          ofSubjects.isAgreed && current.week === weekAt(at) ? Effect.void : agreeOn(at),
        ),
        of,
        // the name of an address is never hashed with this prefix
        subject: (subject) => SUBJECT_PREFIX + hashOf(SUBJECT_PREFIX + subject, ofSubjects.key, subjects),
        shown: (address) => (address === "" ? "" : of(limitKey(address))),
      }
    }),
  )
}
