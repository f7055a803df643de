/**
 * The name of a caller in everything that is stored, logged and shown: the plain address or the signed subject, or with `Privacy.Addresses:
 * hashed` a keyed hash of it (HMAC-SHA-256 of the limit key or the subject, truncated to 96 bits).
 *
 * All instances share the key. The first instance that needs it creates it in the store, which deletes it after its week. From
 * then on old hashes cannot be traced to an address. Rate limits start again with each new key, once a week.
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
import { agreeOnSecret } from "./rules/agree-on-secret.ts"
import { SUBJECT_PREFIX } from "./rules/subject-name.ts"

const DAY_MILLIS = 86_400_000
export const KEY_MILLIS = 7 * DAY_MILLIS
/** 1 January 1970 was a Thursday: weeks begin on Monday, 00:00 UTC. */
const FIRST_MONDAY_MILLIS = 4 * DAY_MILLIS
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
     * Makes sure that the key of this week is known. Must have succeeded before a name is stored. Undefined if addresses are
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

      const weekAt = (now: number): number => Math.floor((now - FIRST_MONDAY_MILLIS) / KEY_MILLIS)
      const agreeOn = Effect.fnUntraced(function* (now: number): Effect.fn.Return<void, StoreUnavailable> {
        const week = weekAt(now)
        const lifetime = FIRST_MONDAY_MILLIS + (week + 1) * KEY_MILLIS + KEY_GRACE_MILLIS - now
        const secret = current.week === week ? current.key : newKey()
        const keys = [`vg:privacy:${week}`]
        const key = yield* store.run(agree, { keys, now, context: NO_CONTEXT, call: { secret, lifetime } })
        if (current.key === key && current.week === week) return
        current = { week, key }
        names.clear()
      })

      const of = (key: string): string => {
        const known = names.get(key)
        if (known !== undefined) return known
        const name = `h${createHmac("sha256", current.key).update(key).digest("base64url").slice(0, NAME_LENGTH)}`
        names.set(key, name)
        return name
      }

      const renew = Effect.ignore(Effect.flatMap(store.now, agreeOn))
      yield* renew
      yield* renew.pipe(Effect.schedule(Schedule.spaced(RENEW_MILLIS)), Effect.forkScoped)
      return {
        ready: Effect.flatMap(store.now, (now) => (current.week === weekAt(now) ? Effect.void : agreeOn(now))),
        of,
        // the name of an address is never hashed with this prefix
        subject: (subject) => SUBJECT_PREFIX + of(SUBJECT_PREFIX + subject),
        shown: (address) => (address === "" ? "" : of(limitKey(address))),
      }
    }),
  )
}
