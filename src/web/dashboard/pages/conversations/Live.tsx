/** The running sessions, and how much of the account's concurrency they use. */
import type { JSX } from "preact"
import type { LiveSession } from "../../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../../shared/parts/Table.tsx"
import { api } from "../../client.ts"
import { useLoad } from "../../parts/load.ts"
import { Empty, Show } from "../../parts/Show.tsx"
import { useNow } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import * as words from "../../words.ts"
import { type Names, useNames } from "../names.ts"
import { kindOf } from "./Conversations.tsx"

const EVERY_MILLIS = 3_000

const STATES: Readonly<Record<LiveSession["state"], string>> = {
  waiting: "Waiting to connect",
  talking: "In call",
  queued: "Queued",
  ringing: "Ringing",
  active: "In call",
}

export const Live = (): JSX.Element => {
  const loaded = useLoad(() => api.conversations.live(), "live", EVERY_MILLIS)
  const names = useNames()
  return (
    <>
      <h1 tabIndex={-1}>Live</h1>
      <Show of={loaded} what="live calls">
        {({ asOf, limit, running, sessions }) => (
          <>
            <div class={running >= limit ? "card figure limited" : "card figure"}>
              <p>
                <strong>{running}</strong> of {limit} concurrent calls in use
              </p>
              <meter
                min={0}
                max={Math.max(1, limit)}
                value={running}
                aria-label={`${running} of ${limit} concurrent calls in use`}
              />
              {running >= limit && <AtLimit />}
            </div>
            {sessions.length === 0 ? (
              <Empty title="No live calls.">
                <p>Calls appear here as they start.</p>
              </Empty>
            ) : (
              <Table
                caption="Live sessions and calls"
                items={sessions}
                keyOf={({ id }) => id}
                columns={columnsOf(names, asOf - loaded.loadedAt)}
              />
            )}
            <p class="small">Updates every {words.span(EVERY_MILLIS)}.</p>
          </>
        )}
      </Show>
    </>
  )
}

/** What follows when as many calls run as may. */
export const AtLimit = (): JSX.Element => (
  <p class="at-limit">
    <strong>Limit reached.</strong> New calls are rejected until one ends.
  </p>
)

/** @param ahead how far the platform's clock is ahead of this machine's, in milliseconds */
const columnsOf = (names: Names, ahead: number): ReadonlyArray<Column<LiveSession>> => [
  { title: "Caller", card: "title", cell: ({ clientIdentifier }) => clientIdentifier ?? "Unknown" },
  {
    title: "State",
    card: "aside",
    cell: ({ state }) => (
      <span class={state === "talking" || state === "active" ? "mark on" : "mark"}>{STATES[state]}</span>
    ),
  },
  { title: "Duration", cell: ({ createdAt, joinedAt }) => <Since at={joinedAt ?? createdAt} ahead={ahead} /> },
  { title: "Type", card: "plain", cell: ({ kind }) => kindOf(kind) },
  {
    title: "Campaign",
    card: "plain",
    cell: ({ businessId, campaignId }) => (
      <span title={names.business(businessId)}>
        {campaignId === null ? names.business(businessId) : names.campaign(campaignId)}
      </span>
    ),
  },
  { title: "Region", cell: ({ regionId }) => regionId },
  {
    title: "Conversation",
    card: "plain",
    cell: ({ businessId, conversationId, joinedAt }) =>
      joinedAt === null ? (
        "Not yet"
      ) : (
        <a href={href("conversations", conversationId, { business: businessId })}>Transcript</a>
      ),
  },
]

/** The time since then by the platform's clock; this machine's clock only measures the time since the answer. */
const Since = ({ at, ahead }: { readonly at: number; readonly ahead: number }): JSX.Element => (
  <span class="figures">{words.span(useNow(1_000) + ahead - at)}</span>
)
