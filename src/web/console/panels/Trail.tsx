/** What operators did, the newest first. */
import type { JSX } from "preact"
import type { AuditLine, Trail as Page } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { TRAIL_ROWS } from "../look.ts"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { moment, trailWords } from "../words.ts"

export const Trail = ({
  page,
  first,
  onMove,
}: {
  readonly page: Page | undefined
  readonly first: number
  readonly onMove: (first: number) => void
}): JSX.Element => (
  <ListPanel
    title="What operators did"
    of="panel wide"
    pager={<Pager of="lines" first={first} rows={TRAIL_ROWS} total={page?.total ?? 0} onMove={onMove} />}
    empty="Nothing yet."
    columns={COLUMNS}
    items={page?.lines ?? []}
    keyOf={({ n }) => n}
  />
)

const COLUMNS: ReadonlyArray<Column<AuditLine>> = [
  { title: "When", cell: ({ at }) => moment(at) },
  { title: "Who", cell: ({ who }) => who },
  { title: "What", cell: (line) => trailWords(line)[0] },
  { title: "Result", cell: (line) => trailWords(line)[1] },
]
