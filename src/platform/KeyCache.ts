/**
 * A cache of valid keys, so that most requests need no database query for their key. Changes made by this process take effect at
 * once, those of other processes within `FRESH_MILLIS`.
 */
import { Context, Effect, Layer } from "effect"
import { boundedCache } from "../bounded-cache.ts"
import type { Principal } from "./model.ts"

/** The maximum age of a cached key, in milliseconds. For this time at most, a key that another process has revoked still works. */
export const FRESH_MILLIS = 20_000
const MAX_KEYS = 10_000

interface CachedKey {
  readonly principal: Principal
  readonly askedAt: number
  readonly generation: number
}

export class KeyCache extends Context.Service<
  KeyCache,
  {
    /** The key of a digest, while its entry is fresh. */
    readonly fresh: (digest: string, now: number) => Principal | undefined
    /** Whether the digest was a valid key at its last lookup. */
    readonly known: (digest: string) => boolean
    /** Starts a database lookup; its result is stored unless the cache was cleared in between. */
    readonly startLookup: () => { readonly store: (digest: string, principal: Principal, now: number) => void }
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
      return entry?.generation === generation && now - entry.askedAt < FRESH_MILLIS ? entry.principal : undefined
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
      if (last !== undefined && now - last < LAST_USED_PRECISION_MILLIS) return false
      markedAt.set(keyId, now)
      return true
    },
    clear: Effect.sync(() => {
      generation++
    }),
  })
})
