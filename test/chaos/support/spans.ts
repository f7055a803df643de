/** For how long something was so, as somebody saw who looks again and again. */

/** From when to when something was so, without a break (ms, by `performance.now`). */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Spans {
  readonly note: (isSo: boolean, now: number) => void
  readonly all: () => ReadonlyArray<Span>
}

/** Notes for how long something is so. */
export const makeSpans = (): Spans => {
  const spans: Array<Span> = []
  let since: number | undefined
  return {
    note: (isSo, now) => {
      if (isSo) since ??= now
      else if (since !== undefined) {
        spans.push({ from: since, to: now })
        since = undefined
      }
    },
    all: () => (since === undefined ? spans : [...spans, { from: since, to: performance.now() }]),
  }
}
