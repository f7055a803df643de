/** The instances that were there lately. */
import type { JSX } from "preact"
import type { Instance } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import type { Known } from "../look.ts"
import { ListPanel } from "../parts/Panel.tsx"
import { count, span } from "../words.ts"

export const Instances = ({ known }: { readonly known: Known | undefined }): JSX.Element => (
  <ListPanel
    title="Instances"
    empty="No instance has beaten lately."
    columns={known === undefined ? [] : columnsOf(known)}
    items={known?.instances ?? []}
    keyOf={({ id }) => id}
  />
)

const columnsOf = ({ instance, now }: Known): ReadonlyArray<Column<Instance>> => [
  { title: "Instance", cell: ({ id }) => <code>{`${id}${id === instance ? " (this one)" : ""}`}</code> },
  { title: "Host", cell: ({ host }) => host },
  { title: "Up for", cell: ({ startedAt }) => span(now - startedAt) },
  { title: "Connections", cell: ({ connections }) => count(connections) },
  { title: "Last beat", cell: ({ seenAt }) => `${Math.max(0, Math.round((now - seenAt) / 1000))} s ago` },
]
