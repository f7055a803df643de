/** Session-ended webhooks: delivered, waiting for a retry, and given up. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Delivery } from "../../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../../shared/parts/Table.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { Filter } from "../../parts/Filter.tsx"
import { useLoad } from "../../parts/load.ts"
import { Menu } from "../../parts/Menu.tsx"
import { notify } from "../../parts/notify.ts"
import { Pager, pageOf } from "../../parts/Pager.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Empty, Show } from "../../parts/Show.tsx"
import { Ago } from "../../parts/Time.tsx"
import { href, type Route } from "../../router.ts"
import * as words from "../../words.ts"
import { type Names, useNames } from "../names.ts"
import { ResendFailed } from "./ResendFailed.tsx"

const EVERY_MILLIS = 5_000

const STATES = [
  { value: "pending", label: "Pending or retrying" },
  { value: "delivered", label: "Delivered" },
  { value: "given_up", label: "Failed" },
] as const

export const Deliveries = ({ route }: { readonly route: Route }): JSX.Element => {
  const filter = { business: route.query.get("business") ?? "", state: route.query.get("state") ?? "" }
  const state = STATES.find(({ value }) => value === filter.state)?.value
  const names = useNames()
  const action = useAction()
  const [resending, setResending] = useState(false)
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
      notify("Message resent.")
      loaded.reload()
    })
  }
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Webhooks</h1>
        <button type="button" onClick={() => setResending(true)}>
          Resend failed…
        </button>
      </div>
      <p class="lead">
        When a session ends, its campaign’s webhook is called. Failed deliveries are retried for 24 hours, always with
        the same ID.
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
              <Empty title="No deliveries.">
                <p>Sessions of web campaigns with a webhook appear here when they end.</p>
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
      {resending && (
        <ResendFailed
          businessId={filter.business}
          business={names.business(filter.business)}
          onClose={() => setResending(false)}
          onDone={() => {
            setResending(false)
            loaded.reload()
          }}
        />
      )}
    </>
  )
}

export const StateMark = ({
  of: { lastOutcome, state },
}: {
  readonly of: Pick<Delivery, "lastOutcome" | "state">
}): JSX.Element => {
  if (state === "delivered") return <span class="mark on">Delivered</span>
  if (state === "given_up") return <span class="mark bad">Failed</span>
  return lastOutcome === null ? <span class="mark">Pending</span> : <span class="mark warn">Retrying</span>
}

const columnsOf = (
  names: Names,
  sendAgain: (delivery: Delivery) => void,
  sending: string | undefined,
): ReadonlyArray<Column<Delivery>> => [
  {
    title: "Campaign",
    card: "title",
    cell: ({ businessId, campaignId, id }) => (
      <a class="name" href={href("webhooks", id)} title={names.business(businessId)}>
        {names.campaign(campaignId)}
      </a>
    ),
  },
  { title: "State", card: "aside", cell: (delivery) => <StateMark of={delivery} /> },
  { title: "Last response", card: "plain", cell: ({ lastOutcome }) => words.begun(lastOutcome ?? "No response yet") },
  { title: "Attempts", cell: ({ attempts }) => attempts },
  {
    title: "Next attempt",
    // what is over has none
    cell: ({ nextAttemptAt }) => (nextAttemptAt === null ? null : <Ago of={nextAttemptAt} />),
  },
  { title: "Created", card: "plain", cell: ({ createdAt }) => <Ago of={createdAt} /> },
  {
    title: "Actions",
    untitled: true,
    cell: (delivery) => (
      <Menu
        of={`the message of ${words.at(delivery.createdAt)}`}
        items={[
          { label: "Details", name: `Details of ${delivery.id}`, run: href("webhooks", delivery.id) },
          ...(delivery.state === "delivered"
            ? []
            : [
                {
                  label: sending === delivery.id ? "Sending…" : "Resend",
                  name: `Resend ${delivery.id}`,
                  run: () => sendAgain(delivery),
                  disabled: sending !== undefined,
                },
              ]),
        ]}
      />
    ),
  },
]
