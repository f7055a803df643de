/** Session-ended webhooks: delivered, waiting for a retry, and given up. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Delivery } from "../../../platform/http/dashboard/shapes.ts"
import { announce } from "../../shared/parts/announce.ts"
import { type Column, Table } from "../../shared/parts/Table.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { Id } from "../parts/Copy.tsx"
import { Filter } from "../parts/Filter.tsx"
import { useLoad } from "../parts/load.ts"
import { Pager, pageOf } from "../parts/Pager.tsx"
import { Problem } from "../parts/Problem.tsx"
import { Empty, Show } from "../parts/Show.tsx"
import { Ago } from "../parts/Time.tsx"
import type { Route } from "../router.ts"
import { type Names, useNames } from "./names.ts"

const EVERY_MILLIS = 5_000

const STATES = [
  { value: "pending", label: "To be sent" },
  { value: "delivered", label: "Delivered" },
  { value: "given_up", label: "Given up" },
] as const

export const Deliveries = ({ route }: { readonly route: Route }): JSX.Element => {
  const filter = { business: route.query.get("business") ?? "", state: route.query.get("state") ?? "" }
  const state = STATES.find(({ value }) => value === filter.state)?.value
  const names = useNames()
  const action = useAction()
  const [sending, setSending] = useState<string>()
  const loaded = useLoad(
    () =>
      api.deliveries.list({
        query: {
          ...pageOf(route),
          ...(filter.business === "" ? {} : { businessId: filter.business }),
          ...(state === undefined ? {} : { state }),
        },
      }),
    route.query.toString(),
    EVERY_MILLIS,
  )
  const sendAgain = ({ id }: Delivery): void => {
    setSending(id)
    void action.run(api.deliveries.sendAgain({ params: { id } }), () => {
      announce("It is sent again.")
      loaded.reload()
    })
  }
  return (
    <>
      <h1 tabIndex={-1}>Webhooks</h1>
      <p class="lead">
        When a session has ended, its campaign’s server is told. What is not taken is tried again for a day, always with
        the same id.
      </p>
      <div class="filters">
        <Filter label="Business" name="business" options={names.businesses} route={route} filter={filter} />
        <Filter label="State" name="state" options={STATES} route={route} filter={filter} />
      </div>
      <Problem of={action.failure} />
      <Show of={loaded} what="deliveries">
        {(page) => (
          <>
            {page.items.length === 0 ? (
              <Empty title="No deliveries here.">
                <p>There is one for each ended session of a web campaign that has a webhook.</p>
              </Empty>
            ) : (
              <Table
                caption="Webhook deliveries, newest first"
                items={page.items}
                keyOf={({ id }) => id}
                columns={columnsOf(names, sendAgain, action.busy ? sending : undefined)}
              />
            )}
            <Pager route={route} of={page} filter={filter} />
          </>
        )}
      </Show>
    </>
  )
}

const columnsOf = (
  names: Names,
  sendAgain: (delivery: Delivery) => void,
  sending: string | undefined,
): ReadonlyArray<Column<Delivery>> => [
  {
    title: "State",
    cell: ({ state }) => (
      <span class={state === "delivered" ? "mark on" : state === "given_up" ? "mark bad" : "mark"}>
        {STATES.find(({ value }) => value === state)?.label ?? state}
      </span>
    ),
  },
  {
    title: "Campaign",
    cell: ({ businessId, campaignId }) => (
      <>
        <strong class="name">{names.campaign(campaignId)}</strong>
        <span>{names.business(businessId)}</span>
      </>
    ),
  },
  { title: "Tries", cell: ({ attempts }) => attempts },
  { title: "Last answer", cell: ({ lastOutcome }) => lastOutcome ?? "None yet" },
  {
    title: "Next try",
    cell: ({ nextAttemptAt }) => (nextAttemptAt === null ? "No more" : <Ago of={nextAttemptAt} />),
  },
  { title: "Created", cell: ({ createdAt }) => <Ago of={createdAt} /> },
  { title: "Message", cell: ({ id }) => <Id id={id} what="the message’s id" /> },
  {
    title: "Actions",
    untitled: true,
    cell: (delivery) =>
      delivery.state !== "delivered" && (
        <button
          type="button"
          class="small-button"
          aria-disabled={sending !== undefined}
          aria-label={`Send ${delivery.id} again`}
          onClick={() => sendAgain(delivery)}
        >
          {sending === delivery.id ? "Sending …" : "Send again"}
        </button>
      ),
  },
]
