/** The audit log: who created, changed and revoked what. */
import type { JSX } from "preact"
import type { AuditEntry } from "../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../shared/parts/Table.tsx"
import { api } from "../client.ts"
import { useLoad } from "../parts/load.ts"
import { Pager, pageOf } from "../parts/Pager.tsx"
import { Empty, Show } from "../parts/Show.tsx"
import { At } from "../parts/Time.tsx"
import type { Route } from "../router.ts"

export const Audit = ({ route }: { readonly route: Route }): JSX.Element => {
  const loaded = useLoad(() => api.audit.list({ query: pageOf(route) }), route.query.toString())
  return (
    <>
      <h1 tabIndex={-1}>Audit log</h1>
      <p class="lead">Everything created, changed, and revoked in this account. Entries can’t be edited.</p>
      <Show of={loaded} what="the audit log">
        {(page) => (
          <>
            {page.items.length === 0 ? (
              <Empty title="No activity yet." />
            ) : (
              <Table caption="Audit log, newest first" items={page.items} keyOf={({ id }) => id} columns={columns} />
            )}
            <Pager route={route} of={page} />
          </>
        )}
      </Show>
    </>
  )
}

/** `api_key.created` as `Api key created`. */
const wordsOf = (action: string): string => {
  const text = action.replaceAll(/[._]/g, " ")
  return (text.charAt(0).toUpperCase() + text.slice(1)).replace(/^Api /, "API ")
}

const columns: ReadonlyArray<Column<AuditEntry>> = [
  { title: "When", cell: ({ at }) => <At of={at} /> },
  { title: "Event", cell: ({ action }) => wordsOf(action) },
  { title: "Details", cell: ({ detail }) => detail },
  { title: "ID", cell: ({ subjectId }) => <code>{subjectId}</code> },
]
