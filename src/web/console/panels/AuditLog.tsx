/** The activity log, newest first: what operators did, and which settings changed from what to what. */
import type { JSX } from "preact"
import type { AuditFilter, AuditLine, AuditLog as Page } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { auditTexts } from "../outcomes.ts"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { AUDIT_LOG_ROWS } from "../polling.ts"
import { dateTime } from "../words.ts"

const EMPTY = {
  all: "No activity yet.",
  actions: "No actions yet.",
  settings: "No settings have changed yet.",
} as const
const FILTERS: ReadonlyArray<{ readonly value: AuditFilter; readonly label: string }> = [
  { value: "actions", label: "Operator actions" },
  { value: "settings", label: "Settings changes" },
]

export const AuditLog = ({
  page,
  first,
  only,
  onMove,
  onFilter,
}: {
  readonly page: Page | undefined
  readonly first: number
  readonly only: AuditFilter | undefined
  readonly onMove: (first: number) => void
  readonly onFilter: (only: AuditFilter | undefined) => void
}): JSX.Element => (
  <ListPanel
    title="Activity log"
    of="panel wide records"
    id="log"
    pager={
      <div class="pager">
        <select
          aria-label="Show in the activity log"
          value={only ?? ""}
          onChange={({ currentTarget }) => onFilter(FILTERS.find(({ value }) => value === currentTarget.value)?.value)}
        >
          <option value="">All activity</option>
          {FILTERS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <Pager of="lines" first={first} rows={AUDIT_LOG_ROWS} total={page?.total ?? 0} onMove={onMove} />
      </div>
    }
    empty={page === undefined ? "Loading…" : EMPTY[only ?? "all"]}
    columns={COLUMNS}
    items={page?.lines ?? []}
    keyOf={({ n }) => n}
  />
)

const What = ({ of }: { readonly of: AuditLine }): JSX.Element => {
  const { changes } = of
  if (changes === undefined) return <>{auditTexts(of).what}</>
  return (
    <>
      Changed settings
      <ul class="changes">
        {changes.settings.map(({ after, before, setting }) => (
          <li key={setting}>
            <code>{setting}</code>
            {before !== undefined && after !== undefined && (
              <span>
                {before} <span aria-hidden="true">→</span>
                <span class="unseen"> to </span> {after}
              </span>
            )}
          </li>
        ))}
        {changes.more > 0 && <li>{`and ${changes.more} more`}</li>}
      </ul>
    </>
  )
}

const COLUMNS: ReadonlyArray<Column<AuditLine>> = [
  { title: "When", cell: ({ at }) => dateTime(at) },
  { title: "Who", cell: ({ who }) => who },
  { title: "What", cell: (line) => <What of={line} /> },
  { title: "Result", cell: (line) => auditTexts(line).result },
]
