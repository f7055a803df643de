/** The audit log, newest first. */
import type { JSX } from "preact"
import type { AuditLine, AuditLog as Page } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { auditTexts } from "../actions.ts"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { AUDIT_LOG_ROWS } from "../polling.ts"
import { dateTime } from "../words.ts"

export const AuditLog = ({
  page,
  first,
  onMove,
}: {
  readonly page: Page | undefined
  readonly first: number
  readonly onMove: (first: number) => void
}): JSX.Element => (
  <ListPanel
    title="Activity log"
    of="panel wide"
    pager={<Pager of="lines" first={first} rows={AUDIT_LOG_ROWS} total={page?.total ?? 0} onMove={onMove} />}
    empty="No actions yet."
    columns={COLUMNS}
    items={page?.lines ?? []}
    keyOf={({ n }) => n}
  />
)

const COLUMNS: ReadonlyArray<Column<AuditLine>> = [
  { title: "When", cell: ({ at }) => dateTime(at) },
  { title: "Who", cell: ({ who }) => who },
  { title: "What", cell: (line) => auditTexts(line).what },
  { title: "Result", cell: (line) => auditTexts(line).result },
]
