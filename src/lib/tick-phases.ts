/**
 * Runs queued work in phases at the end of an event loop tick, to batch it: first requests are decided, then commands are
 * sent to the store, then responses are written.
 *
 * Measured: deciding many requests in a row costs less than deciding each one between two reads. Commands of one tick travel
 * as one. Of many writes to one reader (usually a proxy), only the first has to wake it up.
 */

/** In the order in which they run. */
const PHASES = ["decide", "send", "answer"] as const
export type Phase = (typeof PHASES)[number]

type Work = () => void

/** Of the process, because its event loop is: with a queue for each gate, one gate would answer before another has sent. */
const queued: Record<Phase, Array<Work>> = { decide: [], send: [], answer: [] }
let scheduled = false

const schedule = (): void => {
  scheduled = true
  setImmediate(runPhases)
}

const runPhases = (): void => {
  for (const phase of PHASES) {
    const all = queued[phase]
    queued[phase] = []
    for (const each of all) {
      try {
        each()
      } catch (error) {
        // report it as an uncaught exception, and run the remaining work
        process.nextTick(() => {
          throw error
        })
      }
    }
  }
  scheduled = false
  if (PHASES.some((phase) => queued[phase].length > 0)) schedule()
}

/** Runs `work` at the end of this tick. Work that a phase queues for a later phase runs in the same tick, other work in the next. */
export const runInPhase = (phase: Phase, work: Work): void => {
  queued[phase].push(work)
  if (!scheduled) schedule()
}
