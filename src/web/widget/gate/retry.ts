/** Exponential backoff: pauses between attempts, which a tap or a network that is back cuts short. */

/** The first pause, and the longest, in milliseconds. */
const FIRST = 2_000
const LONGEST = 30_000

/** The pause after so many failures before the last one, in milliseconds. */
export const pauseAfter = (failures: number): number => Math.min(LONGEST, FIRST * 2 ** failures)

/** The window, whose timer and event `online` a pause uses. */
export interface Page extends Pick<EventTarget, "addEventListener"> {
  readonly setTimeout: (run: () => void, millis: number) => unknown
}

/**
 * A pause, which also ends when `signal` aborts. `keep` is given a function that ends it at once. Nothing listens any more when it is over,
 * however long the signal lives.
 */
export const pauseFor = async (
  page: Page,
  millis: number,
  signal: AbortSignal,
  keep?: (end: () => void) => void,
): Promise<void> => {
  const over = new AbortController()
  const listening = { signal: over.signal }
  await new Promise<void>((resolve) => {
    const end = (): void => resolve()
    page.setTimeout(end, millis)
    page.addEventListener("online", end, listening)
    signal.addEventListener("abort", end, listening)
    keep?.(end)
  })
  over.abort()
}
