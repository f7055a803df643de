/** Conversations, newest first. */
import type { JSX } from "preact"
import type { Conversation } from "../../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../../shared/parts/Table.tsx"
import { api } from "../../client.ts"
import { Filter } from "../../parts/Filter.tsx"
import { useLoad } from "../../parts/load.ts"
import { Pager, pageOf } from "../../parts/Pager.tsx"
import { Search } from "../../parts/Search.tsx"
import { Empty, Show } from "../../parts/Show.tsx"
import { At } from "../../parts/Time.tsx"
import { href, type Route } from "../../router.ts"
import * as words from "../../words.ts"
import { type Names, useNames } from "../names.ts"

const KINDS = [
  { value: "web", label: "Web session" },
  { value: "call", label: "Phone call" },
] as const

export const kindOf = (kind: Conversation["kind"]): string => KINDS.find(({ value }) => value === kind)?.label ?? kind

export const Conversations = ({ route }: { readonly route: Route }): JSX.Element => {
  const filter = {
    business: route.query.get("business") ?? "",
    kind: route.query.get("kind") ?? "",
    search: route.query.get("search") ?? "",
  }
  const kind = KINDS.find(({ value }) => value === filter.kind)?.value
  const names = useNames()
  const loaded = useLoad(
    () =>
      api.conversations.list({
        query: {
          ...pageOf(route),
          ...(filter.business === "" ? {} : { businessId: filter.business }),
          ...(kind === undefined ? {} : { kind }),
          ...(filter.search === "" ? {} : { search: filter.search }),
        },
      }),
    route.query.toString(),
  )
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Conversations</h1>
        <button type="button" onClick={loaded.reload} aria-disabled={loaded.loading}>
          Refresh
        </button>
      </div>
      <Search route={route} filter={filter} />
      <div class="filters">
        <Filter label="Business" name="business" options={names.businesses} route={route} filter={filter} />
        <Filter label="Type" name="kind" options={KINDS} route={route} filter={filter} />
      </div>
      <Show of={loaded} what="conversations">
        {(page) => (
          <>
            {page.items.length === 0 ? (
              <Empty title={filter.search === "" ? "No conversations." : "Nothing found."}>
                <p>
                  {filter.search === ""
                    ? "Web sessions and phone calls appear here with their transcripts."
                    : "The search looks for the caller, the ID, and the words of both sides in the first 50 turns, in the newest 2,000 conversations."}
                </p>
              </Empty>
            ) : (
              <Table
                caption="Conversations, newest first"
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

export const columnsOf = (names: Names): ReadonlyArray<Column<Conversation>> => [
  {
    title: "Started",
    cell: ({ businessId, id, startedAt }) => (
      <a href={href("conversations", id, { business: businessId })}>
        <At of={startedAt} />
      </a>
    ),
  },
  { title: "Business", cell: ({ businessId }) => names.business(businessId) },
  { title: "Type", cell: ({ kind }) => kindOf(kind) },
  { title: "Caller", cell: ({ clientIdentifier }) => clientIdentifier ?? "Unknown" },
  {
    title: "Duration",
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? <span class="mark on">In progress</span> : words.span(endedAt - startedAt),
  },
]
