/** The waiting tickets, in order. */

import type { JSX } from "preact"
import type { WaitingTicket } from "../../../fifo-queue/operator/schemas.ts"
import { type ActionButton, waitingButtons } from "../../../operator/action-words.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { Mark } from "../parts/Mark.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { RowActions } from "../parts/RowActions.tsx"
import { TicketName } from "../parts/TicketName.tsx"
import { type QueueView, ROWS } from "../polling.ts"
import { count, duration, whyWaiting } from "../words.ts"

export const Waiting = ({
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
    title="Queue"
    of="panel live queue"
    pager={<Pager of="queue" first={first} rows={ROWS} total={view?.queue.waiting ?? 0} jumps onMove={onMove} />}
    note={view === undefined ? "" : whyWaiting(view.queue, view.slots, view.now)}
    empty="No one is waiting."
    columns={columnsOf(view?.now ?? 0, onAct)}
    items={view?.queue.waitingPage ?? []}
    keyOf={({ seq }) => seq}
  />
)

const columnsOf = (now: number, onAct: (button: ActionButton) => void): ReadonlyArray<Column<WaitingTicket>> => [
  { title: "Place", cell: ({ position }) => (position === undefined ? "" : count(position)) },
  { title: "Ticket", cell: ({ subject, ticket }) => <TicketName ticket={ticket} subject={subject} /> },
  { title: "Wait", cell: ({ acceptedAt }) => (acceptedAt === 0 ? "unknown" : duration(now - acceptedAt)) },
  { title: "Presence", cell: ({ presentUntil }) => <Presence left={presentUntil - now} /> },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: (ticket) => <RowActions buttons={waitingButtons(ticket)} onAct={onAct} />,
  },
]

const Presence = ({ left }: { readonly left: number }): JSX.Element =>
  left < 0 ? (
    <Mark of="bad">Absent</Mark>
  ) : (
    <>
      <Mark of="good">Present</Mark>
      <span class="more">{`, ${duration(left)} left`}</span>
    </>
  )
