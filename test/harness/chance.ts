/**
 * Seeded randomness. A stream for decisions made in order, and `keyed` for decisions that belong to a name: its result
 * does not depend on other calls, so removing an action from a history changes nothing else by itself.
 */

/** 32 bits from a text and a seed (FNV-1a, then the finalizer of MurmurHash3). */
export const keyed = (seed: number, key: string): number => {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

export class Chance {
  private state: number

  constructor(seed: number) {
    this.state = keyed(seed, "chance")
  }

  /** an integer from 0 up to but not including `limit` */
  below(limit: number): number {
    // mulberry32
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (((mixed ^ (mixed >>> 14)) >>> 0) % 1_000_000_007) % limit
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  percent(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<const A>(...from: readonly [A, ...ReadonlyArray<A>]): A {
    return from[this.below(from.length)] ?? from[0]
  }

  /** an element of a list, which may be empty */
  maybe<A>(from: ReadonlyArray<A>): A | undefined {
    return from[this.below(from.length)]
  }

  /** a name by its weight */
  weighted<A extends string>(weights: { readonly [K in A]: number }): A {
    const entries = Object.entries<number>(weights)
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const name in weights) {
      left -= weights[name]
      if (left < 0) return name
    }
    throw new Error("no weights")
  }
}
