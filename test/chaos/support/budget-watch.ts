/**
 * Watches a queue that waits for a budget (`OnLimit: wait`) beside its gates: whether somebody is called for whom the budget has no time, how
 * long callers wait although it has time and a slot is free (W1 and W2 of `test/model/awaited.ts`), and how long they wait for it.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type Awaited, callsPaid, isPaid } from "../../model/awaited.ts"
import { type LedgerLine, ledgerLines } from "../../model/budgets.ts"
import { isResting } from "../../model/invariants.ts"
import type { QueueState } from "../../model/queue-state.ts"
import { makeSpans, type Span } from "./spans.ts"
import type { StoreView } from "./store.ts"

const LOOK_EVERY_MILLIS = 100

/** A budget that the queue waits for. */
export interface WatchedBudget {
  /** the key of its ledger */
  readonly ledger: string
  /** in seconds, like what a call begins with, and what it holds where there is more */
  readonly cap: number
  readonly least: number
  readonly block: number
  /** its line in the ledger at this moment (ms since 1970) */
  readonly lineAt: (now: number) => string
}

export interface BudgetWatch {
  readonly wrongs: () => ReadonlyArray<string>
  /** when callers waited, and a slot was free, and the budget had too little */
  readonly awaited: () => ReadonlyArray<Span>
  /** when callers waited, a slot was free, and the budget had enough */
  readonly idle: () => ReadonlyArray<Span>
  readonly dispose: () => Promise<void>
}

const NOTHING: LedgerLine = { settled: 0, held: 0, adjusted: 0 }

export const watchBudget = (view: StoreView, slots: number, budget: WatchedBudget): BudgetWatch => {
  const wrongs = new Set<string>()
  const [awaited, idle] = [makeSpans(), makeSpans()]
  const standing = (hash: ReadonlyArray<string>, now: number): Awaited => {
    const lines = ledgerLines({ hgetall: () => hash }, budget.ledger)
    const { adjusted, held, settled } = lines.get(budget.lineAt(now)) ?? NOTHING
    return { left: budget.cap + adjusted - settled - held, least: budget.least, block: budget.block }
  }
  const judge = (state: QueueState, has: Awaited): void => {
    const paid = callsPaid([has])
    // one that starts may hold its time already
    const called = [...state.tickets.values()].filter((ticket) => ticket.state === "called").length
    if (called > paid)
      wrongs.add(`W1: ${called} are called, and the budget has ${has.left} s, which is enough for ${paid}`)
    const waits = state.waiting.size > state.parked.size && state.leases.size < slots && !isResting(state, Date.now())
    const now = performance.now()
    awaited.note(waits && !isPaid(paid, state), now)
    idle.note(waits && isPaid(paid, state), now)
  }
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      const found = await view.lookWith(budget.ledger)
      if (found !== undefined) judge(found.state, standing(found.hash, Date.now()))
      await sleep(LOOK_EVERY_MILLIS)
    }
  })()
  return {
    wrongs: () => [...wrongs],
    awaited: awaited.all,
    idle: idle.all,
    dispose: async () => {
      stopped = true
      await watching
    },
  }
}
