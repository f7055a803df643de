/** The campaigns of the gate side by side: their state and their figures. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import { isKnownNumber } from "../../../fifo-queue/bounds.ts"
import type { Campaigns as View } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { levelOf, stateOf } from "../campaign-state.ts"
import { MARKS } from "../headline.ts"
import { Mark } from "../parts/Mark.tsx"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { chosenTime, count, duration, heldOf } from "../words.ts"
import { refusedIn } from "./Refusals.tsx"

type Row = View["campaigns"][number]

/** So many are shown at a time. */
const ROWS = 12

/** Those in which something does not work first, then those that are limited: of many, a page has those to look at. */
const byLevel = (rows: ReadonlyArray<Row>, now: number): ReadonlyArray<Row> => {
  const rank = ({ figures, ...terms }: Row): number =>
    figures === null ? 0 : ["bad", "limited", "planned", "good"].indexOf(levelOf(figures, now, terms))
  return rows.toSorted((a, b) => rank(a) - rank(b))
}

export const Campaigns = ({
  view,
  current,
  onChoose,
}: {
  /** undefined before it is known */
  readonly view: View | undefined
  readonly current: string
  readonly onChoose: (name: string) => void
}): JSX.Element => {
  const [first, setFirst] = useState(0)
  const now = view?.now ?? 0
  const all = view?.campaigns ?? []
  const rows = all.length > ROWS ? byLevel(all, now) : all
  return (
    <ListPanel
      title="Campaigns"
      of="panel wide records"
      id="campaigns"
      pager={<Pager of="campaigns" first={first} rows={ROWS} total={rows.length} onMove={setFirst} />}
      empty="Loading…"
      columns={columnsOf(
        now,
        current,
        onChoose,
        all.some(({ account }) => account !== undefined),
      )}
      items={rows.slice(first, first + ROWS)}
      keyOf={({ name }) => name}
    />
  )
}

const accountOf = ({ account, figures }: Row): string => {
  if (account === undefined) return "none"
  const found = figures?.account
  if (found === undefined) return account
  const reserved = found.reserved === 0 ? "" : `, ${count(found.reserved)} reserved`
  return `${account}: ${heldOf(found.held, isKnownNumber(found.cap) ? found.cap : null)}${reserved}`
}

/** @param shares whether any campaign shares an account */
const columnsOf = (
  now: number,
  current: string,
  onChoose: (name: string) => void,
  shares = false,
): ReadonlyArray<Column<Row>> => {
  const figure = (show: (figures: NonNullable<Row["figures"]>, row: Row) => string) => (row: Row) =>
    row.figures === null ? "unknown" : show(row.figures, row)
  return [
    {
      title: "Campaign",
      cell: ({ name }) => (
        <button
          type="button"
          class="row-name"
          aria-current={name === current ? "true" : undefined}
          onClick={() => onChoose(name)}
        >
          {name}
        </button>
      ),
    },
    {
      title: "State",
      cell: ({ figures, ...terms }) => {
        if (figures === null) return <Mark of="bad">Store unreachable</Mark>
        const { title, until } = stateOf(figures, now, terms)
        return (
          <>
            <Mark of={MARKS[levelOf(figures, now, terms)]}>{title}</Mark>
            {until !== undefined && <span class="soft">{` until ${chosenTime(until)}`}</span>}
          </>
        )
      },
    },
    { title: "Waiting", class: "number", cell: figure(({ waiting }) => count(waiting)) },
    {
      title: "Longest wait",
      class: "number",
      cell: figure(({ firstAcceptedAt }) => (firstAcceptedAt === 0 ? "none" : duration(now - firstAcceptedAt))),
    },
    { title: "In call", class: "number", cell: figure(({ live }) => count(live)) },
    { title: "Slots in use", class: "number", cell: figure(({ held }, { slots }) => heldOf(held, slots)) },
    {
      title: "Refused in the last hour",
      class: "number",
      cell: ({ refused }) => (refused === null ? "unknown" : count(refusedIn({ refused }))),
    },
    ...(shares ? [{ title: "Account", cell: accountOf }] : []),
  ]
}
