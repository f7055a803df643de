/**
 * Reports a condition only after it has persisted: during a rolling restart, instances with different settings run side by side
 * for a while, which is not an error.
 */

/** How long a condition must hold before it is reported (ms). */
export const DEBOUNCE_MILLIS = 60_000

/** The conditions observed at one moment: a description of each, with the instances it concerns. */
export type Observed = ReadonlyMap<string, ReadonlyArray<string>>

export interface Debounce {
  /**
   * Records the conditions observed now (ms). Returns those that have just held for `DEBOUNCE_MILLIS` without interruption, and
   * how many of the reported ones no longer hold.
   */
  readonly update: (
    now: number,
    observed: Observed,
  ) => { readonly raised: ReadonlyArray<string>; readonly cleared: number }
  /** The reported conditions that still hold. */
  readonly active: () => ReadonlyArray<string>
}

export const makeDebounce = (): Debounce => {
  const known = new Map<string, { readonly since: number; reported: boolean }>()
  return {
    update: (now, observed) => {
      let cleared = 0
      for (const [condition, { reported }] of known) {
        if (observed.has(condition)) continue
        known.delete(condition)
        if (reported) cleared++
      }
      const raised: Array<string> = []
      for (const condition of observed.keys()) {
        const before = known.get(condition)
        // after the clock was set back, a condition that is not reported yet counts from now
        const entry =
          before === undefined || (!before.reported && now < before.since) ? { since: now, reported: false } : before
        known.set(condition, entry)
        if (entry.reported || now - entry.since < DEBOUNCE_MILLIS) continue
        entry.reported = true
        raised.push(condition)
      }
      return { raised, cleared }
    },
    active: () => [...known].flatMap(([condition, { reported }]) => (reported ? [condition] : [])),
  }
}
