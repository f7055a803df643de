/**
 * What this process knows of proved keys, so that the path of every request asks the database for a key once in a while only.
 * Whatever takes power from a key here is felt here at once; what another process did, within `FRESH_MILLIS`.
 */
import { Context, Effect, Layer } from "effect"
import { boundedCache } from "../bounded-cache.ts"
import type { Principal } from "./model.ts"

/** How old an answer of the database may be, in milliseconds: a key revoked elsewhere is refused within 30 s. */
export const FRESH_MILLIS = 20_000
const KEPT_KEYS = 10_000

interface Known {
  readonly principal: Principal
  readonly askedAt: number
  readonly generation: number
}

export class KeyCache extends Context.Service<
  KeyCache,
  {
    /** The key of a digest, while the answer is fresh. */
    readonly fresh: (digest: string, now: number) => Principal | undefined
    /** Whether the digest was that of a good key when it was last asked for. */
    readonly known: (digest: string) => boolean
    /** Begins to ask the database: what it answers may be kept unless the cache was cleared meanwhile. */
    readonly asking: () => { readonly keep: (digest: string, principal: Principal, now: number) => void }
    readonly forget: (digest: string) => void
    /** Whether to write down that the key is used: true at most once a minute. */
    readonly toBeMarked: (keyId: string, now: number) => boolean
    /** Nothing is fresh any more; which keys were good is known on, so that they do not wait behind wrong ones of their address. */
    readonly clear: Effect.Effect<void>
  }
>()("voicegate/platform/KeyCache") {}

const MARKED_MILLIS = 60_000

export const layer: Layer.Layer<KeyCache> = Layer.sync(KeyCache, () => {
  const known = boundedCache<Known>(KEPT_KEYS)
  const marked = boundedCache<number>(KEPT_KEYS)
  let generation = 0
  return KeyCache.of({
    fresh: (digest, now) => {
      const entry = known.get(digest)
      return entry?.generation === generation && now - entry.askedAt < FRESH_MILLIS ? entry.principal : undefined
    },
    known: (digest) => known.has(digest),
    asking: () => {
      const began = generation
      return {
        keep: (digest, principal, now) => {
          if (began === generation) known.set(digest, { principal, askedAt: now, generation })
        },
      }
    },
    forget: (digest) => {
      known.delete(digest)
    },
    toBeMarked: (keyId, now) => {
      const last = marked.get(keyId)
      if (last !== undefined && now - last < MARKED_MILLIS) return false
      marked.set(keyId, now)
      return true
    },
    clear: Effect.sync(() => {
      generation++
    }),
  })
})
