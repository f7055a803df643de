/** What is first to be seen: how many call today and now, whether webhooks arrive, which keys end soon, and the last conversations. */
import { Effect } from "effect"
import type { ComponentChildren, JSX } from "preact"
import type { Overview as Figures, Live } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { Table } from "../../../shared/parts/Table.tsx"
import { api } from "../../client.ts"
import { useLoad } from "../../parts/load.ts"
import { Empty, Show } from "../../parts/Show.tsx"
import { Ago, Day, useNow } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import * as words from "../../words.ts"
import { columnsOf } from "../conversations/Conversations.tsx"
import { AtLimit } from "../conversations/Live.tsx"
import { StateMark } from "../deliveries/Deliveries.tsx"
import { expiresSoon } from "../keys/expiry.ts"
import { hasEnded } from "../keys/key-end.tsx"
import { type Names, useNames } from "../names.ts"
import { Hours } from "./Hours.tsx"

const EVERY_MILLIS = 10_000
/** How many of the last conversations are shown. */
const LAST = 5

const startOfDay = (): number => new Date().setHours(0, 0, 0, 0)

const load = () =>
  Effect.all(
    {
      figures: api.conversations.overview({ query: { from: startOfDay() } }),
      live: api.conversations.live(),
      keys: api.keys.list(),
      conversations: api.conversations.list({ query: { limit: LAST } }),
    },
    { concurrency: 4 },
  )

export const Overview = (): JSX.Element => {
  const loaded = useLoad(load, "overview", EVERY_MILLIS)
  const names = useNames()
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      <Show of={loaded} what="the overview">
        {({ conversations, figures, keys, live }) => (
          <>
            <div class="cards">
              <Today of={figures} />
              <Running of={live} />
              <Webhooks of={figures.webhooks} names={names} />
              <Keys of={keys} />
            </div>
            {conversations.items.length === 0 ? (
              <Empty title="No calls yet.">
                <p>A gate needs a business, a web campaign and a key. The setup makes them and checks the gate.</p>
                <a class="button" href={href("setup")}>
                  Set up a gate
                </a>
              </Empty>
            ) : (
              <>
                <section class="part">
                  <h2>Calls in the last 24 hours</h2>
                  <Hours of={figures.hours} until={figures.asOf} />
                </section>
                <section class="part">
                  <div class="head">
                    <h2>Last conversations</h2>
                    <a href={href("conversations")}>All conversations</a>
                  </div>
                  <Table
                    caption="The last conversations"
                    items={conversations.items}
                    keyOf={({ id }) => id}
                    columns={columnsOf(names)}
                  />
                </section>
              </>
            )}
          </>
        )}
      </Show>
    </>
  )
}

const Card = ({
  title,
  page,
  figure,
  limited = false,
  children,
}: {
  readonly title: string
  readonly page: "conversations" | "keys" | "live" | "webhooks"
  readonly figure: ComponentChildren
  /** it stands out, because nothing more is possible */
  readonly limited?: boolean
  readonly children: ComponentChildren
}): JSX.Element => (
  <section class={limited ? "card limited" : "card"}>
    <h2>
      <a href={href(page)}>{title}</a>
    </h2>
    <p class="value">{figure}</p>
    <div class="small">{children}</div>
  </section>
)

const Today = ({ of: { today } }: { readonly of: Figures }): JSX.Element => (
  <Card title="Calls today" page="conversations" figure={words.number(today.count)}>
    {today.count === 0 ? "None since midnight" : `${words.span(today.seconds * 1_000)} in total`}
  </Card>
)

const Running = ({ of: { limit, running } }: { readonly of: Live }): JSX.Element => (
  <Card
    title="Running now"
    page="live"
    limited={running >= limit}
    figure={
      <>
        {running} <span>of {limit}</span>
      </>
    }
  >
    <meter
      min={0}
      max={Math.max(1, limit)}
      value={running}
      aria-label={`${running} of ${limit} concurrent calls in use`}
    />
    {running >= limit && <AtLimit />}
  </Card>
)

const Webhooks = ({
  of: { failed, last, retrying },
  names,
}: {
  readonly of: Figures["webhooks"]
  readonly names: Names
}): JSX.Element => (
  <Card title="Last webhook" page="webhooks" figure={last === null ? "None" : <Ago of={last.createdAt} />}>
    {last !== null && (
      <>
        <StateMark of={last} /> <span>{names.campaign(last.campaignId)}</span>
      </>
    )}
    {failed > 0 && (
      <a class="bad" href={href("webhooks", undefined, { state: "given_up" })}>
        {words.number(failed)} failed in the last 24 hours
      </a>
    )}
    {retrying > 0 && (
      <a class="warn" href={href("webhooks", undefined, { state: "pending" })}>
        {words.number(retrying)} retrying now
      </a>
    )}
    {last === null && "A gate learns by webhooks that a call has ended."}
  </Card>
)

const Keys = ({ of: keys }: { readonly of: ReadonlyArray<ApiKey> }): JSX.Element => {
  const now = useNow(30_000)
  const working = keys.filter((key) => !hasEnded(key, now))
  const soon = working.filter(({ expiresAt }) => expiresSoon(expiresAt, now))
  return (
    <Card
      title="Keys about to expire"
      page="keys"
      figure={
        <>
          {soon.length} <span>of {working.length}</span>
        </>
      }
    >
      {soon.length === 0 && (working.length === 0 ? "No keys yet" : "None in the next 14 days")}
      {soon.map(({ expiresAt, id, name }) => (
        <a key={id} class="bad" href={href("keys", id)}>
          {name}: {expiresAt !== null && <Day of={expiresAt} />}
        </a>
      ))}
    </Card>
  )
}
