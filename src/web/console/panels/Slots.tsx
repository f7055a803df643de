/** Who holds a slot, since when and until when at most. */
import type { JSX } from "preact"
import type { HeldSlot } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { type Known, ROWS } from "../look.ts"
import { Mark } from "../parts/Mark.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel, RowAction } from "../parts/Panel.tsx"
import { slotState, span } from "../words.ts"

export const Slots = ({
  known,
  first,
  onMove,
  onEnd,
}: {
  readonly known: Known | undefined
  readonly first: number
  readonly onMove: (first: number) => void
  readonly onEnd: (slot: HeldSlot) => void
}): JSX.Element => (
  <ListPanel
    title="Slots"
    of="panel live slots"
    pager={<Pager of="slots" first={first} rows={ROWS} total={known?.queue.held ?? 0} onMove={onMove} />}
    empty="No slot is held."
    columns={columnsOf(known?.now ?? 0, onEnd)}
    items={known?.queue.slotPage ?? []}
    keyOf={({ lease }) => lease}
  />
)

const columnsOf = (now: number, end: (slot: HeldSlot) => void): ReadonlyArray<Column<HeldSlot>> => [
  { title: "Ticket", cell: ({ ticket }) => <code>{ticket}</code> },
  { title: "State", cell: ({ state }) => <Mark of={state === "live" ? "good" : "soon"}>{slotState[state]}</Mark> },
  { title: "Held for", cell: ({ since }) => span(now - since) },
  { title: "Deadline", cell: ({ deadline }) => `in ${span(deadline - now)}`, class: "deadline" },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: (slot) => <RowAction label="End" of={`lease of ${slot.ticket}`} onPress={() => end(slot)} />,
  },
]
