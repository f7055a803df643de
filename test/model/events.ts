/**
 * What a step must tell the host: one event for each ticket that it accepted, called, started or ended, written in that step and no other.
 * Compared as text.
 */
import type { StoredEvent } from "../../src/fifo-queue/rules/shared/events.ts"
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
