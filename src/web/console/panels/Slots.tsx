/** The held slots: the ticket that holds each, since when, and until when at the latest. */

import type { JSX } from "preact"
import type { HeldSlot } from "../../../fifo-queue/operator/schemas.ts"
import { type ActionButton, slotButtons } from "../../../operator/action-words.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { Mark } from "../parts/Mark.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { RowActions } from "../parts/RowActions.tsx"
import { TicketName } from "../parts/TicketName.tsx"
import { type QueueView, ROWS } from "../polling.ts"
import { duration, slotState } from "../words.ts"

export const Slots = ({
  view,
  first,
  onMove,
  onAct,
}: {
  readonly view: QueueView | undefined
  readonly first: number
  readonly onMove: (first: number) => void
  readonly onAct: (button: ActionButton) => void
}): JSX.Element => (
  <ListPanel
    title="Slots"
    of="panel live slots"
    pager={<Pager of="slots" first={first} rows={ROWS} total={view?.queue.held ?? 0} onMove={onMove} />}
    empty="No slots in use."
    columns={columnsOf(view?.now ?? 0, onAct)}
    items={view?.queue.slotPage ?? []}
    keyOf={({ lease }) => lease}
  />
)

const columnsOf = (now: number, onAct: (button: ActionButton) => void): ReadonlyArray<Column<HeldSlot>> => [
  { title: "Ticket", cell: ({ subject, ticket }) => <TicketName ticket={ticket} subject={subject} /> },
  {
    title: "State",
    cell: ({ silentUntil, state }) =>
      state === "live" && silentUntil !== undefined ? (
        <Mark of="soon">{`Silent, ends in ${duration(silentUntil - now)}`}</Mark>
      ) : (
        <Mark of={state === "live" ? "good" : "soon"}>{slotState[state]}</Mark>
      ),
  },
  { title: "Held for", cell: ({ since }) => duration(now - since) },
  { title: "Deadline", cell: ({ deadline }) => `in ${duration(deadline - now)}`, class: "deadline" },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: (slot) => <RowActions buttons={slotButtons(slot)} onAct={onAct} />,
  },
]
