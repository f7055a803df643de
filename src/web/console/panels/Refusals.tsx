/** What was refused in the last hour, a row for each reason and campaign, and what `Security.Shadow` would have refused. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Campaigns as View } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { ROWS } from "../polling.ts"
import { reasonText } from "../reasons.ts"
import { count } from "../words.ts"

interface Counted {
  readonly name: string
  readonly refused: Readonly<Record<string, number>> | null
}

/** The name of the row for requests that name no campaign. */
const NO_CAMPAIGN = "No campaign"

/** The prefix of the reason of a refusal that was counted but not enforced. */
const SHADOW = "shadow."
const isShadow = (reason: string): boolean => reason.startsWith(SHADOW)

/** All refusals in the last hour that were enforced. */
export const refusedIn = ({ refused }: Pick<Counted, "refused">): number =>
  Object.entries(refused ?? {}).reduce((sum, [reason, number]) => (isShadow(reason) ? sum : sum + number), 0)

interface Row {
  readonly campaign: string
  readonly reason: string
  readonly requests: number
}

/** Those that were enforced first, and of each kind the most frequent first. */
const rowsOf = (counted: ReadonlyArray<Counted>): ReadonlyArray<Row> =>
  counted
    .flatMap(({ name, refused }) =>
      Object.entries(refused ?? {}).map(([reason, requests]) => ({ campaign: name, reason, requests })),
    )
    .filter(({ requests }) => requests > 0)
    .toSorted((a, b) => Number(isShadow(a.reason)) - Number(isShadow(b.reason)) || b.requests - a.requests)

export const Refusals = ({ of }: { readonly of: View | undefined }): JSX.Element => {
  const [first, setFirst] = useState(0)
  const counted: ReadonlyArray<Counted> = [
    ...(of?.campaigns ?? []),
    { name: NO_CAMPAIGN, refused: of?.refusedElsewhere ?? null },
  ]
  const rows = rowsOf(counted)
  const isKnown = of !== undefined && counted.every(({ refused }) => refused !== null)
  // after refusals have left the hour there may be fewer pages
  const from = first < rows.length ? first : 0
  return (
    <ListPanel
      title="Refusals by reason"
      note={
        rows.some(({ reason }) => isShadow(reason))
          ? "In the last hour. Not enforced: Security.Shadow would have refused them."
          : "In the last hour, on all instances."
      }
      pager={<Pager of="refusals by reason" first={from} rows={ROWS} total={rows.length} onMove={setFirst} />}
      empty={isKnown ? "No refusals in the last hour." : of === undefined ? "Loading…" : "The store is unreachable."}
      columns={rows.some(({ campaign }) => campaign !== of?.campaigns[0]?.name) ? COLUMNS : OF_ONE_CAMPAIGN}
      items={rows.slice(from, from + ROWS)}
      keyOf={({ campaign, reason }) => `${reason} ${campaign}`}
    />
  )
}

const textOf = (reason: string): string =>
  isShadow(reason) ? `Not enforced: ${reasonText(reason.slice(SHADOW.length)).toLowerCase()}` : reasonText(reason)

const OF_ONE_CAMPAIGN: ReadonlyArray<Column<Row>> = [
  { title: "Reason", cell: ({ reason }) => textOf(reason) },
  { title: "Requests", cell: ({ requests }) => count(requests), class: "number" },
]
const COLUMNS: ReadonlyArray<Column<Row>> = [
  ...OF_ONE_CAMPAIGN,
  { title: "Campaign", cell: ({ campaign }) => campaign },
]
