/** What the commands `budget` print: the balances of a campaign's budgets, and what a change has made of one. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { BudgetAnswer } from "../../protocol/budget-answers.ts"
import type { BudgetCaller, BudgetOrder } from "../budget-orders.ts"
import { type ConsoleClient, ConsoleFailed, printable } from "./console-client.ts"
import { columns, type Printed } from "./run.ts"

const HEAD = ["BUDGET", "OF", "PER", "CAP", "ADDED", "SETTLED", "HELD", "LEFT", "OVERRUN", "UNIT", "RESETS AT"]

/** With at most two decimal places, four of small amounts of money. */
const amount = (value: number): string => String(Number(value.toFixed(Math.abs(value) < 1 ? 4 : 2)))

const rowOf = (balance: BudgetAnswer): ReadonlyArray<string> => [
  balance.budget,
  balance.of,
  balance.per,
  ...[balance.cap, balance.adjusted, balance.settled, balance.held, balance.left, balance.overrun].map(amount),
  balance.unit,
  balance.resetsAt,
]

const linesOf = (budgets: ReadonlyArray<BudgetAnswer>): ReadonlyArray<string> => columns([HEAD, ...budgets.map(rowOf)])

/** Budgets of callers are shown for one caller alone. */
const withoutBudgets = (campaign: string, { caller, subject }: BudgetCaller): string =>
  caller === undefined && subject === undefined
    ? `${printable(campaign)} has no budgets, or budgets of callers alone: for those, add --caller or --subject.`
    : `${printable(campaign)} has no budgets.`

export const showBudgets = (client: Pick<ConsoleClient, "budgets">, campaign: string, whose: BudgetCaller) =>
  Effect.map(client.budgets(campaign, whose), (document): Printed => {
    const { budgets, differences = [] } = document
    const differing = differences.map((each) =>
      printable(
        `The instances have different settings, and these are the caps of the one that has answered ("here"): ${each}.`,
      ),
    )
    return {
      ok: true,
      document,
      lines: [...(budgets.length === 0 ? [withoutBudgets(campaign, whose)] : linesOf(budgets)), ...differing],
    }
  })

/** By how much a cap is to be changed, and the name of the change. */
export const changeOf = (
  add: number,
  take: number,
  id: string | undefined,
): Effect.Effect<{ readonly by: number; readonly id: string }, ConsoleFailed> => {
  if ((add === 0) === (take === 0)) return Effect.fail(new ConsoleFailed({ message: "Expected --add or --take." }))
  return Effect.sync(() => ({ by: add - take, id: id ?? randomUUID() }))
}

export const adjustBudget = (client: Pick<ConsoleClient, "adjustBudget">, campaign: string, order: BudgetOrder) =>
  client.adjustBudget(campaign, order).pipe(
    Effect.mapError(
      ({ message }) => new ConsoleFailed({ message: `${message} To try the same again, add --id ${order.id}.` }),
    ),
    Effect.map((document): Printed => {
      if (document.result === "unknown_budget") {
        const line = "There is no such budget, or it is one of callers: then add --caller or --subject."
        return { ok: false, document, lines: [line] }
      }
      if (document.result === "other_amount") {
        const line = `Nothing was changed: ${order.id} was made before, by another amount.`
        return { ok: false, document, lines: [line] }
      }
      const { balance, made } = document
      return {
        ok: true,
        document,
        lines: [
          made
            ? `Changed for this ${balance.per} (id ${order.id}).`
            : `Nothing was changed: ${order.id} was made before.`,
          ...linesOf([balance]),
        ],
      }
    }),
  )
