/**
 * Tells what lasts from what passes: a rolling restart has instances with different settings side by side for a while, which is
 * nobody's mistake.
 */

/** What is seen for less than this is said to nobody. */
export const LASTING_MILLIS = 60_000

/** What was seen at one moment: each in words, with the instances that it was seen of. */
export type Seen = ReadonlyMap<string, ReadonlyArray<string>>

export interface Lasting {
  /**
   * Takes note of what is seen now (ms), and answers what has been seen all the time for `LASTING_MILLIS` since and was not answered
   * before, and what was answered and is seen no more.
   */
  readonly look: (now: number, seen: Seen) => { readonly begun: ReadonlyArray<string>; readonly over: number }
  /** What lasts. */
  readonly standing: () => ReadonlyArray<string>
}

export const makeLasting = (): Lasting => {
  const known = new Map<string, { readonly since: number; said: boolean }>()
  return {
    look: (now, seen) => {
      let over = 0
      for (const [what, { said }] of known) {
        if (seen.has(what)) continue
        known.delete(what)
        if (said) over++
      }
      const begun: Array<string> = []
      for (const what of seen.keys()) {
        const entry = known.get(what) ?? { since: now, said: false }
        known.set(what, entry)
        if (entry.said || now - entry.since < LASTING_MILLIS) continue
        entry.said = true
        begun.push(what)
      }
      return { begun, over }
    },
    standing: () => [...known].flatMap(([what, { said }]) => (said ? [what] : [])),
  }
}
