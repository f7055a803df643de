/** A gate that is told to stop. */
import type { Exit, Gate } from "./gate.ts"

/** A gate is gone within this time (ms). */
export const GONE_WITHIN_MILLIS = 10_000

export interface Stopped {
  readonly exit: Exit
  /** how long that took */
  readonly millis: number
}

/** Tells the gate to stop, and measures how long that takes. */
export const stopping = (gate: Gate, signal: NodeJS.Signals): Promise<Stopped> => {
  const began = performance.now()
  gate.kill(signal)
  return gate.exit.then((exit) => ({ exit, millis: performance.now() - began }))
}
