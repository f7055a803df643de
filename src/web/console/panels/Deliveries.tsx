/** What became of the events that a campaign sends to its host: what was delivered last, what waits, what was given up and why. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { DeliveryFilter, Deliveries as Page, Redelivery } from "../../../operator/delivery-shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { answerOf, deliveryStates, redeliveredText, standingOf, testedText } from "../delivery-words.ts"
import { order } from "../order.ts"
import { Confirm } from "../parts/Confirm.tsx"
import { Mark } from "../parts/Mark.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import type { PanelProps } from "../parts/PanelProps.ts"
import { usePolling } from "../polling.ts"
import { count, dateTime } from "../words.ts"

const EVERY_MILLIS = 4_000
/** The rows of a page. */
const ROWS = 6

type Row = Page["rows"][number]

const FILTERS: ReadonlyArray<{ readonly value: DeliveryFilter; readonly label: string; readonly empty: string }> = [
  { value: "all", label: "All events", empty: "No events yet." },
  { value: "pending", label: "Not delivered yet", empty: "Every event is delivered or given up." },
  { value: "failed", label: "Given up", empty: "No event was given up." },
]

/** Null for a campaign that reports no events. */
export const Deliveries = ({ campaign, client, refresh }: PanelProps): JSX.Element | null => {
  const [page, setPage] = useState<Page>()
  const [filter, setFilter] = useState<DeliveryFilter>("all")
  /** the first event of each page before this one */
  const [before, setBefore] = useState<ReadonlyArray<number>>([])
  const [asking, setAsking] = useState(false)
  const [ordered, setOrdered] = useState(0)
  const from = before.at(-1) ?? 0
  usePolling(
    () => client.deliveries(campaign, filter, from, ROWS),
    EVERY_MILLIS,
    [client, campaign, filter, from, refresh, ordered],
    setPage,
    // the console's own view reports a problem
    () => {},
  )
  if (page === undefined || page.campaign !== campaign || (!page.reports && page.stored === 0)) return null

  const orderAndRefresh: typeof order = async (...given) => {
    await order(...given)
    setOrdered((times) => times + 1)
  }
  const again = (of: Redelivery): void =>
    void orderAndRefresh(client.redeliver(campaign, of), (answer) => redeliveredText(of, answer), "Not sent again")
  const answerAll = (confirmed: boolean): void => {
    setAsking(false)
    if (confirmed) again({ type: "failed", from: 0, to: Date.now() })
  }
  const choose = (value: string): void => {
    setFilter(FILTERS.find((each) => each.value === value)?.value ?? "all")
    setBefore([])
  }
  const last = page.rows.at(-1)?.event.seq
  return (
    <>
      <ListPanel
        title="Deliveries of events"
        of="panel wide records"
        note={standingOf(page, Date.now())}
        pager={
          <div class="pager">
            <select
              aria-label="Show of the deliveries"
              value={filter}
              onChange={({ currentTarget }) => choose(currentTarget.value)}
            >
              {FILTERS.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
            <Turn to="Newer" off={before.length === 0} onTurn={() => setBefore(before.slice(0, -1))} />
            <Turn
              to="Older"
              off={!page.more || last === undefined}
              onTurn={() => last !== undefined && setBefore([...before, last])}
            />
            {page.sends && page.failed > 0 && (
              <button type="button" onClick={() => setAsking(true)}>
                {`Send ${count(page.failed)} again`}
              </button>
            )}
            {page.sends && (
              <button
                type="button"
                onClick={() => void orderAndRefresh(client.testEvent(campaign), testedText, "Not sent")}
              >
                Send a test event
              </button>
            )}
          </div>
        }
        empty={FILTERS.find(({ value }) => value === filter)?.empty ?? ""}
        columns={page.sends ? [...COLUMNS, buttonColumn(again)] : COLUMNS}
        items={page.rows}
        keyOf={({ event }) => event.seq}
      />
      {asking && (
        <Confirm
          question={{
            title: page.failed === 1 ? "Send 1 event again?" : `Send ${count(page.failed)} events again?`,
            text: "All events that were given up and are still kept are sent again, with the ids that they had. The receiver may have some of them already.",
            confirm: "Send again",
          }}
          onAnswer={answerAll}
        />
      )}
    </>
  )
}

const Turn = ({
  to,
  off,
  onTurn,
}: {
  readonly to: "Newer" | "Older"
  readonly off: boolean
  readonly onTurn: () => void
}): JSX.Element => (
  // a disabled button would lose the focus
  <button
    type="button"
    aria-disabled={off}
    onClick={() => {
      if (!off) onTurn()
    }}
  >
    {to}
    <span class="unseen"> events</span>
  </button>
)

const COLUMNS: ReadonlyArray<Column<Row>> = [
  {
    title: "Event",
    cell: ({ event }) => (
      <>
        {event.type} <span class="soft">{`#${event.seq}`}</span>
      </>
    ),
  },
  { title: "Delivery", cell: ({ state }) => <Mark of={deliveryStates[state].mark}>{deliveryStates[state].text}</Mark> },
  { title: "Ticket", cell: ({ event }) => <code>{event.ticketHash?.slice(0, 10) ?? "–"}</code> },
  { title: "Last attempt", cell: (row) => <span class="soft">{answerOf(row)}</span> },
  { title: "Happened", cell: ({ event }) => dateTime(Date.parse(event.at)) },
]

const buttonColumn = (again: (of: Redelivery) => void): Column<Row> => ({
  title: "Send again",
  untitled: true,
  class: "act",
  cell: ({ event, state }) =>
    state === "pending" ? null : (
      <button type="button" class="row-action" onClick={() => again({ type: "one", seq: event.seq })}>
        Send again<span class="unseen">{` event ${event.seq}`}</span>
      </button>
    ),
})
