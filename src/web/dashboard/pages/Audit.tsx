/** The audit log: who created, changed and revoked what. */
import type { JSX } from "preact"
import type { AuditEntry } from "../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../shared/parts/Table.tsx"
import { api } from "../client.ts"
import { Filter } from "../parts/Filter.tsx"
import { useLoad } from "../parts/load.ts"
import { Pager, pageOf } from "../parts/Pager.tsx"
import { Empty, Show } from "../parts/Show.tsx"
import { At } from "../parts/Time.tsx"
import { href, type Route } from "../router.ts"
import * as words from "../words.ts"
import { type Names, useNames } from "./names.ts"

const SUBJECTS = [
  { value: "api_key", label: "API keys" },
  { value: "business", label: "Businesses" },
  { value: "web_campaign", label: "Web campaigns" },
  { value: "webhooks", label: "Webhooks" },
  { value: "user", label: "Account" },
] as const

export const Audit = ({ route }: { readonly route: Route }): JSX.Element => {
  const filter = { subject: route.query.get("subject") ?? "" }
  const subject = SUBJECTS.find(({ value }) => value === filter.subject)?.value
  const names = useNames()
  const loaded = useLoad(
    () => api.audit.list({ query: { ...pageOf(route), ...(subject === undefined ? {} : { subject }) } }),
    route.query.toString(),
  )
  return (
    <>
      <h1 tabIndex={-1}>Audit log</h1>
      <p class="lead">Everything created, changed, and revoked in this account. Entries can’t be edited.</p>
      <div class="filters">
        <Filter label="About" name="subject" options={SUBJECTS} route={route} filter={filter} />
      </div>
      <Show of={loaded} what="the audit log">
        {(page) => (
          <>
            {page.items.length === 0 ? (
              <Empty title={subject === undefined ? "No activity yet." : "Nothing found."} />
            ) : (
              <Table
                caption="Audit log, newest first"
                items={page.items}
                keyOf={({ id }) => id}
                columns={columnsOf(names)}
              />
            )}
            <Pager route={route} of={page} filter={filter} />
          </>
        )}
      </Show>
    </>
  )
}

/** `api_key.created` as `Api key created`. */
const wordsOf = (action: string): string => {
  const text = action.replaceAll(/[._]/g, " ")
  return words.begun(text).replace(/^Api /, "API ")
}

/** The page of what an entry is about, while it exists. */
const pageOfSubject = (action: string, id: string, names: Names): string | undefined => {
  if (!names.has(id)) return undefined
  if (action.startsWith("api_key.")) return href("keys", id)
  if (action.startsWith("webhooks.")) return href("webhooks", undefined, { business: id })
  return action.startsWith("business.") || action.startsWith("web_campaign.") ? href("businesses") : undefined
}

/** As the platform writes times into the details. */
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

const columnsOf = (names: Names): ReadonlyArray<Column<AuditEntry>> => [
  { title: "When", card: "aside", cell: ({ at }) => <At of={at} /> },
  { title: "Event", card: "title", cell: ({ action }) => <span class="phrase">{wordsOf(action)}</span> },
  {
    title: "Details",
    card: "line",
    cell: ({ action, detail, subjectId }) => {
      const page = pageOfSubject(action, subjectId, names)
      const name = names.any(subjectId)
      // the name that it had then, unless the details begin with the one that it has now
      const said = names.inText(detail).replaceAll(TIME, (time) => words.at(Date.parse(time)))
      const rest = said.startsWith(name) ? said.slice(name.length) : said === "" ? "" : `: ${said}`
      if (page === undefined) return <span title={subjectId}>{said}</span>
      return (
        <span title={subjectId}>
          <a href={page}>{name}</a>
          {rest}
        </span>
      )
    },
  },
]
