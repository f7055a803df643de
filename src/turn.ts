/**
 * What is done at the end of a turn of the event loop, when all that had arrived is read: first what was asked is decided, then
 * what that asks of the store is sent, then answers are written.
 *
 * Like is done with like: deciding many requests in a row was measured to cost less than deciding each between reading two, what
 * goes to the store together is one command, and of many writes only the first finds its reader (a proxy, most often) asleep.
 */

/** In the order in which they are done. */
const STAGES = ["decide", "send", "answer"] as const
export type Stage = (typeof STAGES)[number]

type Work = () => void

const waiting: Record<Stage, Array<Work>> = { decide: [], send: [], answer: [] }
let scheduled = false

const schedule = (): void => {
  scheduled = true
  setImmediate(workOff)
}

const workOff = (): void => {
  for (const stage of STAGES) {
    const all = waiting[stage]
    waiting[stage] = []
    for (const each of all) {
      try {
        each()
      } catch (error) {
        // uncaught as it would be alone, and no other's work is lost by it
        process.nextTick(() => {
          throw error
        })
      }
    }
  }
  scheduled = false
  if (STAGES.some((stage) => waiting[stage].length > 0)) schedule()
}

/** Does it at the end of this turn; what a stage asks of a later one is done in the same turn, of any other in the next. */
export const atEndOfTurn = (stage: Stage, work: Work): void => {
  waiting[stage].push(work)
  if (!scheduled) schedule()
}
