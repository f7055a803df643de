/** What each campaign refused in the last hour, by reason, side by side, and what `Security.Shadow` would have refused. */
import type { JSX } from "preact"
import type { Campaigns as View } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { reasonOrder, reasonText } from "../reasons.ts"
import { count } from "../words.ts"

interface Row {
  readonly name: string
  readonly refused: Readonly<Record<string, number>> | null
}

/** The name of the row for requests that name no campaign. */
const NO_CAMPAIGN = "No campaign"

/** The prefix of the reason of a refusal that was counted but not enforced. */
const SHADOW = "shadow."
const isShadow = (reason: string): boolean => reason.startsWith(SHADOW)

/** All refusals in the last hour that were enforced. */
export const refusedIn = ({ refused }: Pick<Row, "refused">): number =>
  Object.entries(refused ?? {}).reduce((sum, [reason, number]) => (isShadow(reason) ? sum : sum + number), 0)

export const Refusals = ({ of }: { readonly of: View | undefined }): JSX.Element => {
  const elsewhere: Row = { name: NO_CAMPAIGN, refused: of?.refusedElsewhere ?? null }
  const rows: ReadonlyArray<Row> = [...(of?.campaigns ?? []), ...(refusedIn(elsewhere) === 0 ? [] : [elsewhere])]
  const reasons = reasonOrder([...new Set(rows.flatMap(({ refused }) => Object.keys(refused ?? {})))]).map(
    ({ reason }) => reason,
  )
  const isKnown = of !== undefined && rows.every(({ refused }) => refused !== null)
  return (
    <ListPanel
      title="Refusals by campaign"
      of="panel live wide"
      note={noteOf(reasons)}
      empty={isKnown ? "No refusals in the last hour." : of === undefined ? "Loading…" : "The store is unreachable."}
      columns={columnsOf(reasons)}
      items={reasons.length === 0 ? [] : rows}
      keyOf={({ name }) => name}
    />
  )
}

const noteOf = (reasons: ReadonlyArray<string>): string => {
  if (reasons.length === 0) return ""
  const hour = "In the last hour, on all instances."
  return reasons.some(isShadow) ? `${hour} Not enforced: Security.Shadow would have refused them.` : hour
}

const columnOf = (title: string, reason: string): Column<Row> => ({
  title,
  cell: ({ refused }) => count(refused?.[reason] ?? 0),
})

const columnsOf = (reasons: ReadonlyArray<string>): ReadonlyArray<Column<Row>> => [
  { title: "Campaign", cell: ({ name }) => name },
  ...reasons.filter((reason) => !isShadow(reason)).map((reason) => columnOf(reasonText(reason), reason)),
  { title: "All refusals", cell: (row) => count(refusedIn(row)) },
  ...reasons
    .filter(isShadow)
    .map((reason) => columnOf(`Not enforced: ${reasonText(reason.slice(SHADOW.length)).toLowerCase()}`, reason)),
]
