/**
 * What a step must tell the host: one event for each ticket that it accepted, called, started or ended, written in that step and no other.
 * Compared as text. The end of a call says the length that budgets are owed.
 */
import type { StoredEvent } from "../../src/fifo-queue/rules/shared/events.ts"
import { holdOf, newlyOwed } from "./budget-steps.ts"
import { type Change, newlyCalled, newlyOver } from "./change.ts"
import { isDoubt } from "./queue-state.ts"

/** What a step is known to have done besides its changes. */
export interface Binding {
  /** the ticket to whose start it has bound a session, which may have ended before; absent for none */
  readonly bound?: string
}

/** The events that a step owes, each as `type id reason`, sorted. */
export const expectedEvents = (change: Change, { bound }: Binding): ReadonlyArray<string> => {
  const accepted = [...change.after.tickets.keys()].filter((id) => !change.before.tickets.has(id) && !isDoubt(id))
  return [
    ...accepted.map((id) => `call.accepted ${id}`),
    ...newlyCalled(change).map(([id]) => `call.called ${id}`),
    ...(bound === undefined || isDoubt(bound) ? [] : [`call.started ${bound}`]),
    ...newlyOver(change)
      .filter(([id]) => !isDoubt(id))
      .map(([id, { state }]) => `call.ended ${id} ${state}`),
  ].toSorted()
}

/** A stored event in the same format; `idOf` gives the ticket of a hash. */
export const eventText = (
  { reason, ticket = "", type }: Pick<StoredEvent, "reason" | "ticket" | "type">,
  idOf: (hash: string) => string | undefined,
): string => [type, idOf(ticket) ?? `hash ${ticket}`, ...(reason === undefined ? [] : [reason])].join(" ")

/** Whether an end of a call that the step has written says another length than the step owes to budgets. */
export const wrongDurations = (
  written: ReadonlyArray<Pick<StoredEvent, "millis" | "ticket" | "type">>,
  change: Change,
  idOf: (hash: string) => string | undefined,
): ReadonlyArray<string> => {
  const owed = newlyOwed(change)
  return written.flatMap(({ millis, ticket = "", type }) => {
    const id = idOf(ticket) ?? ""
    const record = change.before.tickets.get(id)
    if (type !== "call.ended" || millis === undefined || record === undefined || record.billed <= 0) return []
    const { seconds } = owed.get(holdOf(id, record)) ?? {}
    return seconds === undefined || Math.ceil(millis / 1000) === seconds
      ? []
      : [`E4: the end of ${id} says that the call was ${millis} ms long, and ${seconds} s are owed`]
  })
}
