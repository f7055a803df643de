/** Counts how many of something each caller has open, up to a most. What is nobody's takes no memory. */
export interface Tally {
  /** Counts one more, unless the caller has the most already; says whether it did. */
  readonly enter: (caller: string) => boolean
  readonly leave: (caller: string) => void
}

export const makeTally = (most: number): Tally => {
  const counts = new Map<string, number>()
  return {
    enter: (caller) => {
      const held = counts.get(caller) ?? 0
      if (held < most) counts.set(caller, held + 1)
      return held < most
    },
    leave: (caller) => {
      const left = (counts.get(caller) ?? 1) - 1
      if (left === 0) counts.delete(caller)
      else counts.set(caller, left)
    },
  }
}
