/** The instances that have sent a heartbeat lately, and the button that reloads the settings of the one that answers. */
import type { JSX } from "preact"
import type { Instance } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import type { QueueView } from "../headline.ts"
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
      <button type="button" class="quiet" onClick={onReload}>
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
  { title: "Uptime", cell: ({ startedAt }) => duration(now - startedAt) },
  { title: "Connections", cell: ({ connections }) => count(connections) },
  { title: "Last heartbeat", cell: ({ seenAt }) => `${Math.max(0, Math.round((now - seenAt) / 1000))} s ago` },
]
