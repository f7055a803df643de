/**
 * A cache of valid keys, so that most requests need no database query for their key. Changes made by this process take effect at
 * once, those of other processes within `FRESH_MILLIS`.
 */
import { Context, Effect, Layer } from "effect"
import { ageOf } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { Principal } from "../model.ts"

/** The maximum age of a cached key, in milliseconds. For this time at most, a key that another process has revoked still works. */
export const FRESH_MILLIS = 20_000
const MAX_KEYS = 10_000

/** A time by both clocks, in milliseconds: one may be set back, the other may stand still while the machine is suspended. */
export interface Moment {
  readonly wall: number
  readonly monotonic: number
}

interface CachedKey {
  readonly principal: Principal
  readonly askedAt: Moment
  readonly generation: number
}

export class KeyCache extends Context.Service<
  KeyCache,
  {
    /** The key of a digest, while its entry is fresh. */
    readonly fresh: (digest: string, now: Moment) => Principal | undefined
    /** Whether the digest was a valid key at its last lookup. */
    readonly known: (digest: string) => boolean
    /** Its result is stored unless the cache was cleared in between. */
    readonly startLookup: () => { readonly store: (digest: string, principal: Principal, now: Moment) => void }
    readonly forget: (digest: string) => void
    /** Whether to record that the key is used: true at most once a minute. */
    readonly shouldMarkUsed: (keyId: string, now: number) => boolean
    /** Makes every entry stale. `known` stays true for valid keys, so that they do not wait behind wrong keys of their address. */
    readonly clear: Effect.Effect<void>
  }
>()("voicegate/platform/KeyCache") {}

const LAST_USED_PRECISION_MILLIS = 60_000

export const layer: Layer.Layer<KeyCache> = Layer.sync(KeyCache, () => {
  const known = boundedCache<CachedKey>(MAX_KEYS)
  const markedAt = boundedCache<number>(MAX_KEYS)
  let generation = 0
  return KeyCache.of({
    fresh: (digest, now) => {
      const entry = known.get(digest)
      if (entry?.generation !== generation) return undefined
      const { askedAt, principal } = entry
      const age = Math.max(ageOf(askedAt.wall, now.wall), ageOf(askedAt.monotonic, now.monotonic))
      return age < FRESH_MILLIS ? principal : undefined
    },
    known: (digest) => known.has(digest),
    startLookup: () => {
      const startGeneration = generation
      return {
        store: (digest, principal, now) => {
          if (startGeneration === generation) known.set(digest, { principal, askedAt: now, generation })
        },
      }
    },
    forget: (digest) => {
      known.delete(digest)
    },
    shouldMarkUsed: (keyId, now) => {
      const last = markedAt.get(keyId)
      if (last !== undefined && ageOf(last, now) < LAST_USED_PRECISION_MILLIS) return false
      markedAt.set(keyId, now)
      return true
    },
    clear: Effect.sync(() => {
      generation++
    }),
  })
})
