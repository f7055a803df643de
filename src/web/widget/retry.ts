/** Pauses between attempts, which grow, and which a tap or a network that is back cuts short. */

/** The first pause, and the longest, in milliseconds. */
const FIRST = 2_000
const LONGEST = 30_000

/** The pause after so many failures before the last one, in milliseconds. */
export const pauseAfter = (failures: number): number => Math.min(LONGEST, FIRST * 2 ** failures)

/** A pause, which also ends when `signal` aborts. `keep` is given a function that ends it at once. */
export const pauseFor = (millis: number, signal: AbortSignal, keep?: (end: () => void) => void): Promise<unknown> =>
  new Promise((resolve) => {
    window.setTimeout(resolve, millis)
    window.addEventListener("online", resolve, { once: true, signal })
    signal.addEventListener("abort", resolve, { once: true })
    keep?.(() => resolve(undefined))
  })
