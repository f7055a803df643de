/** What must hold when everything is over: nobody waits, nothing is held or owed, and every ticket has ended. */
import { type QueueState, TERMINAL } from "./queue-state.ts"

export const isDrained = ({ charges, leases, settlements, waiting }: QueueState): boolean =>
  waiting.size === 0 && leases.size === 0 && settlements.size === 0 && charges.size === 0

/** The tickets that have not ended. */
export const notOver = ({ tickets }: QueueState): ReadonlyArray<string> =>
  [...tickets].flatMap(([id, { state }]) =>
    TERMINAL.has(state) ? [] : [`I3: ticket ${id.slice(0, 4)}… is in state ${state} when everything is over`],
  )
