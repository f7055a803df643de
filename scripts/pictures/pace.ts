/** How fast an hour passes for the program (`an-hour.ts`) and its callers (`callers.ts`). */
const HOUR_MILLIS = 3_600_000
/** How much faster than the world's the program's clock runs. */
export const FASTER = 21

/** When a program that began at `began` by the world's clock, and an hour earlier by its own, has caught up (ms since 1970). */
export const caughtUpAt = (began: number): number => began + HOUR_MILLIS / (FASTER - 1)

/** The program's clock. */
export const clockAt = (began: number, now: number): number =>
  now < caughtUpAt(began) ? began - HOUR_MILLIS + (now - began) * FASTER : now
