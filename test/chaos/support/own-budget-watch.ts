/**
 * Watches beside the gates the callers of a campaign who wait for budgets of their own (`OnLimit: wait`, `Of: caller`): whether they keep their
 * places and are not called (W4, W6 of `test/model/awaited.ts`), whether they hold up others (W5), and for how long nobody finds that such a
 * budget has time again (W7, W8).
 */
import { setTimeout as sleep } from "node:timers/promises"
import { callerBook } from "../../../src/budgets/keys.ts"
import { wrongUnpaid } from "../../model/awaited.ts"
import { isResting } from "../../model/invariants.ts"
import type { QueueState } from "../../model/queue-state.ts"
import type { BooksView } from "./books.ts"
import { makeSpans, type Span } from "./spans.ts"
import type { StoreView } from "./store.ts"

const LOOK_EVERY_MILLIS = 100

/** The budget of callers for which they wait. */
export interface OwnBudget {
  /** in seconds, like what a call begins with */
  readonly cap: number
  readonly least: number
  /** its line in the ledgers at this moment (ms since 1970) */
  readonly lineAt: (now: number) => string
}

export interface OwnBudgetWatch {
  readonly wrongs: () => ReadonlyArray<string>
  /** what a call would pass that lasts longer than what was held for it */
  readonly overdrawn: () => ReadonlyArray<string>
  /** the tickets that have waited for such a budget */
  readonly tickets: () => ReadonlySet<string>
  /** when somebody waited for such a budget */
  readonly awaited: () => ReadonlyArray<Span>
  /** when somebody else waited, a slot was free, and nobody was called */
  readonly idle: () => ReadonlyArray<Span>
  /** when the oldest ticket of a caller waited for a budget that had enough for a call */
  readonly unfound: () => ReadonlyArray<Span>
  readonly dispose: () => Promise<void>
}

/** The oldest ticket of each caller who waits for a budget of his own, by caller. */
const oldestOf = ({ tickets, unpaid }: QueueState): ReadonlyMap<string, string> => {
  const oldest = new Map<string, string>()
  for (const [id] of [...unpaid].toSorted(([, a], [, b]) => a - b)) {
    const caller = tickets.get(id)?.caller
    if (caller !== undefined && !oldest.has(caller)) oldest.set(caller, id)
  }
  return oldest
}

export const watchOwnBudgets = (
  view: StoreView,
  books: BooksView,
  slots: number,
  budget: OwnBudget,
): OwnBudgetWatch => {
  const [wrongs, overdrawn, tickets] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const [awaited, idle] = [makeSpans(), makeSpans()]
  const unfound = new Map<string, ReturnType<typeof makeSpans>>()
  /** What a caller has left; undefined while the store is down. */
  const leftOf = async (caller: string): Promise<number | undefined> => {
    const line = budget.lineAt(Date.now())
    const book = await books.book(callerBook(caller)).catch(() => undefined)
    if (book === undefined) return undefined
    const { adjusted, held, settled } = book.lines.get(line) ?? { settled: 0, held: 0, adjusted: 0 }
    const left = budget.cap + adjusted - settled - held
    if (left < 0)
      overdrawn.add(`B1: ${caller} has ${settled} s settled and ${held} s held of ${budget.cap + adjusted} s`)
    return left
  }
  const judge = async (state: QueueState): Promise<void> => {
    const now = performance.now()
    for (const id of state.unpaid.keys()) tickets.add(id)
    const still = { before: state, after: state, now: Date.now(), slots, share: 1, window: 0, swept: false }
    for (const wrong of wrongUnpaid(still)) wrongs.add(wrong)
    awaited.note(state.unpaid.size > 0, now)
    const isFree = state.leases.size < slots && !isResting(state, Date.now())
    idle.note(isFree && state.waiting.size > state.parked.size, now)
    const found = new Set<string>()
    for (const [caller, id] of oldestOf(state)) {
      const left = await leftOf(caller)
      if (left === undefined || left < budget.least) continue
      found.add(id)
      const spans = unfound.get(id) ?? makeSpans()
      unfound.set(id, spans)
      spans.note(true, performance.now())
    }
    for (const [id, spans] of unfound) if (!found.has(id)) spans.note(false, performance.now())
  }
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      const state = await view.look()
      if (state !== undefined) await judge(state)
      await sleep(LOOK_EVERY_MILLIS)
    }
  })()
  return {
    wrongs: () => [...wrongs],
    overdrawn: () => [...overdrawn],
    tickets: () => tickets,
    awaited: awaited.all,
    idle: idle.all,
    unfound: () => [...unfound.values()].flatMap((spans) => spans.all()),
    dispose: async () => {
      stopped = true
      await watching
    },
  }
}
