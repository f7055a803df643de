/** The instances that have sent a heartbeat lately, and the button that reloads the settings of the one that answers. */
import type { JSX } from "preact"
import type { Instance } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { ago, isSilent, type QueueView } from "../headline.ts"
import { Mark } from "../parts/Mark.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { count, duration } from "../words.ts"

export const Instances = ({
  view,
  onReload,
}: {
  readonly view: QueueView | undefined
  readonly onReload: () => void
}): JSX.Element => (
  <ListPanel
    title="Instances"
    of="panel records"
    pager={
      <button type="button" onClick={onReload}>
        Reload settings
      </button>
    }
    empty="No recent heartbeat."
    columns={view === undefined ? [] : columnsOf(view)}
    items={view?.instances ?? []}
    keyOf={({ id }) => id}
  />
)

const columnsOf = ({ instance, now }: QueueView): ReadonlyArray<Column<Instance>> => [
  { title: "Instance", cell: ({ id }) => <code>{`${id}${id === instance ? " (this instance)" : ""}`}</code> },
  { title: "Host", cell: ({ host }) => host },
  { title: "Uptime", cell: (each) => (isSilent(each, now) ? "–" : duration(now - each.startedAt)) },
  { title: "Connections", cell: (each) => (isSilent(each, now) ? "–" : count(each.connections)) },
  {
    title: "Last heartbeat",
    cell: (each) =>
      isSilent(each, now) ? (
        <Mark of="bad">{ago(each.seenAt, now)}</Mark>
      ) : (
        `${Math.max(0, Math.round((now - each.seenAt) / 1000))} s ago`
      ),
  },
]
