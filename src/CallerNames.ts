/**
 * What a caller is called in everything that is stored, logged and shown: the address as it is, or with
 * `Privacy.Addresses: hashed` a keyed hash of it (HMAC-SHA-256 of the limit key, of which 96 bits are kept).
 *
 * The key is shared by all instances: it lies in the store, made by whoever needs it first, and is gone when its week is over.
 * From then on nobody can find out whose hash an old one is. Budgets begin anew with the new key, once a week.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { boundedCache } from "./bounded-cache.ts"
import { limitKey } from "./ip-intel/address.ts"
import { runs } from "./rules/rules.ts"
import type { StoreUnavailable } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { Store } from "./Store.ts"
import { NO_CONTEXT, ruleOf } from "./store/rule.ts"

const DAY_MILLIS = 86_400_000
/** How long a key is used. */
export const KEY_MILLIS = 7 * DAY_MILLIS
/** 1 January 1970 was a Thursday: weeks begin on Monday, 00:00 UTC. */
const FIRST_MONDAY_MILLIS = 4 * DAY_MILLIS
/** The store keeps a key for so long after its week, for steps that are under way. */
const LINGER_MILLIS = 60_000
/** How often the key is put back, should the store have lost it. */
const RENEW_MILLIS = 30_000
const KEY_BYTES = 32
/** characters of base64url that are kept, 6 bits each */
const NAME_LENGTH = 16
const REMEMBERED = 10_000

const agree = ruleOf("callerNames.agree", runs["callerNames.agree"], Schema.String)

export class CallerNames extends Context.Service<
  CallerNames,
  {
    /**
     * Must have succeeded before a name is stored: the key of this week is known then. Undefined where addresses are plain, which
     * need no key.
     */
    readonly ready: Effect.Effect<void, StoreUnavailable> | undefined
    /** The name of anything that is made of an address: a limit key, a network. */
    readonly of: (key: string) => string
    /** The name of an address for logs and people. */
    readonly shown: (address: string) => string
  }
>()("voicegate/CallerNames") {
  /** Reads `Privacy.Addresses`. */
  static readonly layer: Layer.Layer<CallerNames, never, Settings | Store> = Layer.effect(
    CallerNames,
    Effect.gen(function* () {
      const { Addresses } = (yield* Settings).Privacy
      if (Addresses === "plain") return { ready: undefined, of: (key) => key, shown: (address) => address }

      const store = yield* Store
      const newKey = (): string => randomBytes(KEY_BYTES).toString("base64url")
      /** a key of this process alone until the store has been asked: what is named with it is not stored */
      let current = { week: Number.NaN, key: newKey() }
      const names = boundedCache<string>(REMEMBERED)

      const weekAt = (now: number): number => Math.floor((now - FIRST_MONDAY_MILLIS) / KEY_MILLIS)
      const agreeOn = Effect.fnUntraced(function* (now: number): Effect.fn.Return<void, StoreUnavailable> {
        const week = weekAt(now)
        const lifetime = FIRST_MONDAY_MILLIS + (week + 1) * KEY_MILLIS + LINGER_MILLIS - now
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
      yield* renew.pipe(Effect.delay(RENEW_MILLIS), Effect.forever, Effect.forkScoped)
      return {
        ready: Effect.flatMap(store.now, (now) => (current.week === weekAt(now) ? Effect.void : agreeOn(now))),
        of,
        shown: (address) => (address === "" ? "" : of(limitKey(address))),
      }
    }),
  )
}
