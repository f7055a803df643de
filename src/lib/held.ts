/** Counts what each key holds, such as the open connections of a caller, up to a limit. A key that holds nothing takes no memory. */
export interface Held {
  /** Counts one more; false, and nothing counted, when the key holds as many as it may. */
  readonly acquire: (key: string) => boolean
  readonly release: (key: string) => void
  /** How many the key holds. */
  readonly of: (key: string) => number
  /** Every key that holds something, and how many. */
  readonly all: () => ReadonlyMap<string, number>
}

/** @param most how many a key may hold; without a limit if absent */
export const makeHeld = (most: number = Number.POSITIVE_INFINITY): Held => {
  const counts = new Map<string, number>()
  const of: Held["of"] = (key) => counts.get(key) ?? 0
  return {
    acquire: (key) => {
      const held = of(key)
      if (held < most) counts.set(key, held + 1)
      return held < most
    },
    release: (key) => {
      const left = of(key) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    },
    of,
    all: () => counts,
  }
}
