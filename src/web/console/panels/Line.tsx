/** Who waits, in order. */
import type { JSX } from "preact"
import type { WaitingTicket } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { type Known, ROWS } from "../look.ts"
import { Mark } from "../parts/Mark.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel, RowAction } from "../parts/Panel.tsx"
import { count, span } from "../words.ts"

type Row = WaitingTicket & { readonly place: number }

export const Line = ({
  known,
  first,
  onMove,
  onRemove,
}: {
  readonly known: Known | undefined
  readonly first: number
  readonly onMove: (first: number) => void
  readonly onRemove: (ticket: WaitingTicket) => void
}): JSX.Element => (
  <ListPanel
    title="Queue"
    of="panel live"
    pager={<Pager of="queue" first={first} rows={ROWS} total={known?.queue.waiting ?? 0} jumps onMove={onMove} />}
    empty="Nobody waits."
    columns={columnsOf(known?.now ?? 0, onRemove)}
    items={rowsOf(known)}
    keyOf={({ seq }) => seq}
  />
)

const rowsOf = (known: Known | undefined): ReadonlyArray<Row> =>
  known === undefined ? [] : known.queue.linePage.map((ticket, i) => ({ ...ticket, place: known.firstPlace + i + 1 }))

const columnsOf = (now: number, remove: (ticket: WaitingTicket) => void): ReadonlyArray<Column<Row>> => [
  { title: "Place", cell: ({ place }) => count(place) },
  { title: "Ticket", cell: ({ ticket }) => <code>{ticket}</code> },
  { title: "Waits", cell: ({ acceptedAt }) => (acceptedAt === 0 ? "unknown" : span(now - acceptedAt)) },
  { title: "Presence", cell: ({ presentUntil }) => <Presence left={presentUntil - now} /> },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: (ticket) => <RowAction label="Remove" of={ticket.ticket} onPress={() => remove(ticket)} />,
  },
]

const Presence = ({ left }: { readonly left: number }): JSX.Element =>
  left < 0 ? (
    <Mark of="bad">Absent</Mark>
  ) : (
    <>
      <Mark of="good">Present</Mark>
      <span class="more">{`, ${span(left)} left`}</span>
    </>
  )
