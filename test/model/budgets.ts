/**
 * What budgets promise, in plain words, whatever was repeated, lost or late:
 *
 * - Each second is counted once: what a budget holds in a window is what its holds have, and what it has settled is what they were charged.
 * - Nothing is lost: what a call was charged stays charged until a correction says otherwise.
 * - Nothing is charged twice: a settled hold is charged once, and holds nothing.
 * - The cap is kept: settled and held together exceed it only by what was counted as overrun.
 *
 * That is judged of a ledger (`ledgerViolations`). What a step may do to a book is judged by `budget-steps.ts`: a slot that is free owes its call's
 * length, to the second and once; what is owed stays owed until it is charged; a call counts in the windows in which it began.
 */
import type { MemoryDb } from "../../src/store/memory/MemoryDb.ts"

/** What a ledger has of one budget in one window. */
export interface LedgerLine {
  settled: number
  held: number
  adjusted: number
}

/** The lines of a ledger, by `<budget> <window>`. */
export const ledgerLines = (db: Pick<MemoryDb, "hgetall">, ledger: string): ReadonlyMap<string, LedgerLine> => {
  const lines = new Map<string, LedgerLine>()
  const all = db.hgetall(ledger)
  for (let i = 0; i < all.length; i += 2) {
    const [what = "", name, from, ...more] = (all[i] ?? "").split(" ")
    if (more.length > 0) continue
    const line = lines.get(`${name} ${from}`) ?? { settled: 0, held: 0, adjusted: 0 }
    lines.set(`${name} ${from}`, line)
    if (what === "settled" || what === "held" || what === "adjusted") line[what] = Number(all[i + 1])
  }
  return lines
}

/** What one hold has of a budget in a window. */
export interface HoldLine {
  readonly hold: string
  readonly shared: boolean
  /** `<budget> <window>` */
  readonly line: string
  readonly amount: number
  readonly settled: boolean
}

/** What the holds of a book have. */
export const holdLines = (db: Pick<MemoryDb, "hgetall">, records: string): ReadonlyArray<HoldLine> => {
  const all = db.hgetall(records)
  const lines: Array<HoldLine> = []
  for (let i = 0; i < all.length; i += 2) {
    const record: { parts?: ReadonlyArray<string>; settled: boolean } = JSON.parse(all[i + 1] ?? "{}")
    for (const part of record.parts ?? []) {
      const [name, from, whose, , , amount] = part.split(" ")
      lines.push({
        hold: all[i] ?? "",
        shared: whose === "shared",
        line: `${name} ${from}`,
        amount: Number(amount),
        settled: record.settled,
      })
    }
  }
  return lines
}

const sumOf = (lines: ReadonlyArray<HoldLine>, line: string, settled: boolean): number =>
  lines.filter((each) => each.line === line && each.settled === settled).reduce((sum, { amount }) => sum + amount, 0)

/**
 * What is wrong with a ledger.
 *
 * @param holds those that count in it
 * @param forgotten what holds were charged that are not remembered any more, by line
 * @param bound what settled and held may be at most, by line; undefined where nothing bounds it
 */
export const ledgerViolations = (
  lines: ReadonlyMap<string, LedgerLine>,
  holds: ReadonlyArray<HoldLine>,
  forgotten: ReadonlyMap<string, number>,
  bound: (line: string, ledger: LedgerLine) => number | undefined,
): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  for (const [line, ledger] of lines) {
    const held = sumOf(holds, line, false)
    const settled = sumOf(holds, line, true) + (forgotten.get(line) ?? 0)
    const most = bound(line, ledger)
    if (ledger.held !== held) wrong.push(`${line} holds ${ledger.held}, and its holds have ${held}`)
    if (ledger.settled !== settled)
      wrong.push(`${line} has settled ${ledger.settled}, and its calls were charged ${settled}`)
    if (ledger.held < 0 || ledger.settled < 0) wrong.push(`${line} is below nothing`)
    if (most !== undefined && ledger.settled + ledger.held > most)
      wrong.push(
        `${line} has ${ledger.settled + ledger.held} settled and held, and ${most} is its cap with what was counted as overrun`,
      )
  }
  return wrong
}
