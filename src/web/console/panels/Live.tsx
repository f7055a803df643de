/** What happens now, side by side: who is in a call, who waits and why, and who was refused. */
import type { ComponentChildren, JSX } from "preact"
import { useState } from "preact/hooks"
import { isKnownNumber } from "../../../fifo-queue/bounds.ts"
import type { HeldSlot, WaitingTicket } from "../../../fifo-queue/operator/schemas.ts"
import { type ActionButton, slotButtons, waitingButtons } from "../../../operator/action-words.ts"
import type { RefusedRequest, View } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { ago, type QueueView } from "../headline.ts"
import { CallerName } from "../parts/CallerName.tsx"
import { Mark } from "../parts/Mark.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { RowActions } from "../parts/RowActions.tsx"
import { type Position, ROWS } from "../polling.ts"
import { reasonText } from "../reasons.ts"
import { count, duration, heldOf, slotState, unknownSlots, whyRow, whyWaiting } from "../words.ts"

/** What the three tables share. */
interface Shown {
  /** the last view that contained the queue */
  readonly view: QueueView | undefined
  readonly position: Position
  readonly onMove: (to: Partial<Position>) => void
  readonly onAct: (button: ActionButton) => void
}

export const Live = ({
  latest,
  refusedInHour,
  notes,
  isBlocked,
  onBlock,
  ...shown
}: Shown & {
  readonly latest: View
  /** undefined where it is not known */
  readonly refusedInHour: number | undefined
  /** what else is to be said of refusals; empty for nothing */
  readonly notes: string
  readonly isBlocked: (address: string) => boolean
  readonly onBlock: (address: string) => void
}): JSX.Element => (
  <div class="live">
    <InCall {...shown} />
    <Waiting {...shown} />
    <Refused view={latest} inHour={refusedInHour} notes={notes} isBlocked={isBlocked} onBlock={onBlock} />
  </div>
)

/** The figure of a table, and what it means. */
const Figure = ({
  value,
  more,
  children,
}: {
  readonly value: string
  readonly more: string
  readonly children?: ComponentChildren
}): JSX.Element => (
  <div class="figure">
    <p class="value">{value}</p>
    {more !== "" && <p class="small">{more}</p>}
    {children}
  </div>
)

/** What holds the slots; empty where that is calls alone. */
const heldText = ({ doubts, live }: QueueView["queue"], others: number): string =>
  others + doubts === 0
    ? ""
    : `${count(live)} in call` +
      (others === 0 ? "" : `, ${count(others)} called or starting`) +
      (doubts === 0 ? "" : `, ${count(doubts)} unconfirmed`)

const averageText = ({ averageMillis }: QueueView["queue"]): string =>
  averageMillis === 0 ? "" : `Average call ${duration(averageMillis)}`

const accountText = ({ account: name, queue: { account } }: QueueView): string => {
  if (account === undefined) return ""
  const held = heldOf(account.held, isKnownNumber(account.cap) ? account.cap : null)
  const reserved = account.reserved === 0 ? "" : `, ${count(account.reserved)} reserved here`
  return `Account ${name ?? ""}: ${held}${reserved}`
}

const InCall = ({ view, position, onMove, onAct }: Shown): JSX.Element => {
  const queue = view?.queue
  const slots = view?.slots ?? null
  const others = queue === undefined ? 0 : queue.held - queue.live - queue.doubts
  const more =
    view === undefined || queue === undefined
      ? "unknown"
      : [heldText(queue, others), averageText(queue), unknownSlots(slots, queue.allowed), accountText(view)]
          .filter((text) => text !== "")
          .join(". ")
  return (
    <ListPanel
      title="In call"
      of="card slots"
      figure={
        <Figure value={queue === undefined ? "–" : heldOf(queue.held, slots)} more={more}>
          <div class="gauge" aria-hidden="true">
            <div
              style={{
                transform: `scaleX(${Math.min(1, (queue?.held ?? 0) / Math.max(1, slots ?? queue?.allowed ?? queue?.held ?? 1))})`,
              }}
            />
          </div>
        </Figure>
      }
      footer={
        <Pager
          of="slots"
          first={position.firstSlot}
          rows={ROWS}
          total={queue?.held ?? 0}
          onMove={(firstSlot) => onMove({ firstSlot })}
        />
      }
      empty={queue === undefined ? "Not known." : "No slots in use."}
      columns={slotColumns(view?.now ?? 0, onAct)}
      items={queue?.slotPage ?? []}
      keyOf={({ lease }) => lease}
    />
  )
}

/** How long the caller still has, to start or to talk. */
const leftOf = ({ deadline, endsAt = deadline, silentUntil, state }: HeldSlot, now: number): string => {
  if (state === "live" && silentUntil !== undefined) return `ends in ${duration(silentUntil - now)}`
  return state === "called"
    ? `${duration(deadline - now)} to start`
    : `at most ${duration(Math.min(endsAt, deadline) - now)} more`
}

const slotColumns = (now: number, onAct: (button: ActionButton) => void): ReadonlyArray<Column<HeldSlot>> => [
  { title: "Caller", cell: (slot) => <CallerName of={slot} />, class: "who" },
  {
    title: "State",
    cell: (slot) => (
      <>
        {slot.state === "live" && slot.silentUntil !== undefined ? (
          <Mark of="soon">Silent</Mark>
        ) : (
          <Mark of={slot.state === "live" ? "good" : "soon"}>{slotState[slot.state]}</Mark>
        )}
        {` ${duration(now - slot.since)}`}
        <span class="second">{leftOf(slot, now)}</span>
      </>
    ),
  },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: (slot) => <RowActions buttons={slotButtons(slot)} onAct={onAct} />,
  },
]

const Waiting = ({ view, position, onMove, onAct }: Shown): JSX.Element => {
  const queue = view?.queue
  const absent = queue === undefined ? 0 : queue.waiting - queue.present
  const longest =
    view === undefined || queue === undefined || queue.firstAcceptedAt === 0
      ? ""
      : `Longest ${duration(view.now - queue.firstAcceptedAt)}`
  const why = view === undefined ? "" : whyWaiting(view.queue, view.slots, view.now, view.usedUp !== undefined)
  const figures = [longest, absent > 0 ? `${count(absent)} absent` : ""].filter((text) => text !== "").join(", ")
  const more = [figures, why].filter((text) => text !== "").join(". ")
  return (
    <ListPanel
      title="Waiting"
      of="card queue"
      figure={
        <Figure
          value={queue === undefined ? "–" : count(queue.waiting)}
          more={queue === undefined ? "unknown" : more}
        />
      }
      footer={
        <Pager
          of="queue"
          first={position.firstPlace}
          rows={ROWS}
          total={queue?.waiting ?? 0}
          jumps
          onMove={(firstPlace) => onMove({ firstPlace })}
        />
      }
      empty={queue === undefined ? "Not known." : "No one is waiting."}
      columns={waitingColumns(view?.now ?? 0, onAct)}
      items={queue?.waitingPage ?? []}
      keyOf={({ seq }) => seq}
    />
  )
}

const waitingColumns = (now: number, onAct: (button: ActionButton) => void): ReadonlyArray<Column<WaitingTicket>> => [
  { title: "Place", cell: ({ position }) => (position === undefined ? "" : count(position)), class: "place" },
  { title: "Caller", cell: (ticket) => <CallerName of={ticket} />, class: "who" },
  {
    title: "Wait",
    cell: (ticket) => (
      <>
        {ticket.acceptedAt === 0 ? "unknown" : duration(now - ticket.acceptedAt)}
        <span class="second">
          <Why ticket={ticket} now={now} />
        </span>
      </>
    ),
  },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: (ticket) => <RowActions buttons={waitingButtons(ticket)} onAct={onAct} />,
  },
]

const Why = ({ now, ticket }: { readonly now: number; readonly ticket: WaitingTicket }): JSX.Element => {
  const why = whyRow(ticket, now)
  if (ticket.presentUntil < now) return <Mark of="bad">{why}</Mark>
  return ticket.passedOver === undefined ? <span>{why}</span> : <Mark of="soon">{why}</Mark>
}

const Refused = ({
  view: { now, queue, refused = [] },
  inHour,
  notes,
  isBlocked,
  onBlock,
}: {
  readonly view: View
  readonly inHour: number | undefined
  readonly notes: string
  readonly isBlocked: (address: string) => boolean
  readonly onBlock: (address: string) => void
}): JSX.Element => {
  const [first, setFirst] = useState(0)
  return (
    <ListPanel
      title="Refused"
      of="card refused"
      figure={
        <Figure
          value={inHour === undefined ? "–" : count(inHour)}
          more={`in the last hour${notes === "" ? "" : `. ${notes}`}`}
        />
      }
      footer={<Pager of="refusals" first={first} rows={ROWS} total={refused.length} onMove={setFirst} />}
      empty={queue === null ? "Not known." : "No recent refusals."}
      columns={refusedColumns(now, isBlocked, onBlock)}
      items={refused.slice(first, first + ROWS)}
      keyOf={({ by }) => by}
    />
  )
}

const refusedColumns = (
  now: number,
  isBlocked: (address: string) => boolean,
  onBlock: (address: string) => void,
): ReadonlyArray<Column<RefusedRequest>> => [
  {
    title: "Caller",
    class: "who",
    cell: ({ address, at }) => (
      <>
        <code>{address}</code>
        <span class="second">{ago(at, now)}</span>
      </>
    ),
  },
  {
    title: "Reason",
    cell: ({ budget, campaign, reason }) => (
      <>
        {reasonText(reason)}
        {budget !== undefined && <span class="second">{budget}</span>}
        {campaign === "" && <span class="second">no campaign</span>}
      </>
    ),
  },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: ({ address }) =>
      isBlocked(address) ? (
        <span class="soft">Blocked</span>
      ) : (
        <button type="button" class="row-action" onClick={() => onBlock(address)}>
          Block<span class="unseen"> {address}</span>
        </button>
      ),
  },
]
