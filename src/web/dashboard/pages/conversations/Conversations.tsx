/** Conversations, newest first. */
import type { JSX } from "preact"
import type { Conversation, ListedConversation } from "../../../../platform/http/dashboard/shapes.ts"
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
      <div class="narrowing">
        <Search route={route} filter={filter} />
        <div class="filters">
          <Filter label="Business" name="business" options={names.businesses} route={route} filter={filter} />
          <Filter label="Type" name="kind" options={KINDS} route={route} filter={filter} />
        </div>
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
                caption={
                  filter.search === "" ? "Conversations, newest first" : "Conversations that were found, newest first"
                }
                items={page.items}
                keyOf={({ id }) => id}
                columns={filter.search === "" ? columnsOf(names) : foundColumns(names)}
              />
            )}
            <Pager route={route} of={page} filter={filter} />
          </>
        )}
      </Show>
    </>
  )
}

/** What was said around the words that were searched for; of a conversation found by its caller or its ID, nothing. */
const Found = ({ of: { found, startedAt } }: { readonly of: ListedConversation }): JSX.Element =>
  found === undefined ? (
    <span class="small">Caller or ID</span>
  ) : (
    <span class="found">
      {found.before}
      <mark>{found.text}</mark>
      {found.after}
      <span class="small">
        {`${found.role === "agent" ? "Agent" : "Caller"}, after ${words.span(found.at - startedAt)}`}
      </span>
    </span>
  )

const foundColumns = (names: Names): ReadonlyArray<Column<ListedConversation>> => {
  const [started, , , caller, duration] = columnsOf(names)
  const found: Column<ListedConversation> = { title: "Found", card: "line", cell: (each) => <Found of={each} /> }
  const columns: ReadonlyArray<Column<ListedConversation> | undefined> = [started, caller, found, duration]
  return columns.filter((column) => column !== undefined)
}

export const columnsOf = (names: Names): ReadonlyArray<Column<Conversation>> => [
  {
    title: "Started",
    card: "title",
    cell: ({ businessId, id, startedAt }) => (
      <a href={href("conversations", id, { business: businessId })}>
        <At of={startedAt} />
      </a>
    ),
  },
  { title: "Business", card: "plain", cell: ({ businessId }) => names.business(businessId) },
  { title: "Type", card: "plain", cell: ({ kind }) => kindOf(kind) },
  { title: "Caller", card: "plain", cell: ({ clientIdentifier }) => clientIdentifier ?? "Unknown" },
  {
    title: "Duration",
    card: "aside",
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? <span class="mark on">In progress</span> : words.span(endedAt - startedAt),
  },
]
