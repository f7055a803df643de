/** What the budgets of the campaign and of its account have in their present windows. Absent where there are none, or the gate knows none. */
import type { JSX } from "preact"
import type { BudgetsView } from "../../../operator/budget-shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import { Mark } from "../parts/Mark.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { chosenTime } from "../words.ts"

type Balance = BudgetsView["budgets"][number]

export const Budgets = ({ view }: { readonly view: BudgetsView | undefined }): JSX.Element | null => {
  if (view === undefined || view.budgets.length === 0) return null
  return (
    <ListPanel
      title="Budgets"
      of="panel wide records"
      note="In their present hour, day or month. Callers’ own budgets are shown by voicegate budget show."
      empty=""
      columns={COLUMNS}
      items={view.budgets}
      keyOf={({ budget }) => budget}
    />
  )
}

const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 2 })

const amount = (value: number, { unit }: Balance): string =>
  unit === "minutes" ? `${numbers.format(value)} min` : `${numbers.format(value)} ${unit}`

const markOf = ({ adjusted, cap, left, refusing }: Balance): "good" | "soon" | "bad" => {
  if (left <= 0 || refusing === true) return "bad"
  return left < (cap + adjusted) / 10 ? "soon" : "good"
}

/** The share that is used or held, from 0 to 1. */
const usedOf = ({ adjusted, cap, held, settled }: Balance): number =>
  cap + adjusted <= 0 ? 1 : Math.min(1, Math.max(0, (settled + held) / (cap + adjusted)))

const COLUMNS: ReadonlyArray<Column<Balance>> = [
  { title: "Budget", cell: ({ budget }) => <code>{budget}</code> },
  {
    title: "Left",
    cell: (each) => (
      <>
        <Mark of={markOf(each)}>
          {each.overrun > 0 ? `none, ${amount(each.overrun, each)} over` : amount(each.left, each)}
        </Mark>
        <div class="gauge" data-mark={markOf(each)} aria-hidden="true">
          <div style={{ transform: `scaleX(${1 - usedOf(each)})` }} />
        </div>
      </>
    ),
  },
  { title: "Resets", cell: ({ resetsAt }) => chosenTime(Date.parse(resetsAt)) },
  { title: "Of", cell: ({ of, per }) => `the ${of}, each ${per}` },
  { title: "Settled", class: "number", cell: (each) => amount(each.settled, each) },
  { title: "Held", class: "number", cell: (each) => amount(each.held, each) },
  {
    title: "Cap",
    class: "number",
    cell: (each) =>
      each.adjusted === 0
        ? amount(each.cap, each)
        : `${amount(each.cap, each)} ${each.adjusted > 0 ? "+" : "−"} ${amount(Math.abs(each.adjusted), each)}`,
  },
]
