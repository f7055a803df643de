/** Repeatable randomness: the same seed gives the same history. */
export interface Random {
  /** an integer from 0 up to but not including `below` */
  readonly below: (below: number) => number
  /** true with this probability in percent */
  readonly percent: (percent: number) => boolean
  readonly pick: <A>(from: readonly [A, ...ReadonlyArray<A>]) => A
  /** an element of a list, which may be empty */
  readonly maybe: <A>(from: ReadonlyArray<A>) => A | undefined
  /** a name by its weight */
  readonly weighted: <A extends string>(weights: { readonly [K in A]: number }) => A
}

export const makeRandom = (seed: number): Random => {
  // a linear congruential generator of 48 bits; its high bits are good enough for tests
  let state = (BigInt(seed) * 0x9e3779b97f4a7c15n) & 0xffffffffffffn
  const below = (limit: number): number => {
    state = (state * 0x5deece66dn + 0xbn) & 0xffffffffffffn
    return Math.floor((Number(state >> 16n) / 2 ** 32) * limit)
  }
  const maybe = <A>(from: ReadonlyArray<A>): A | undefined => from[below(from.length)]
  return {
    below,
    percent: (percent) => below(100) < percent,
    pick: (from) => maybe(from) ?? from[0],
    maybe,
    weighted: <A extends string>(weights: { readonly [K in A]: number }): A => {
      const entries = Object.entries<number>(weights)
      let left = below(entries.reduce((sum, [, weight]) => sum + weight, 0))
      for (const name in weights) {
        left -= weights[name]
        if (left < 0) return name
      }
      throw new Error("no weights")
    },
  }
}
