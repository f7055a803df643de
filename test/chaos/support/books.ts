/** The books of budgets, read beside the gates. */
import { Layer, Logger, ManagedRuntime } from "effect"
import * as redis from "../../../src/store/redis/layer.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { Store } from "../../../src/store/Store.ts"
import { connectionTo } from "../../harness/stores.ts"
import { type HoldLine, holdLines, type LedgerLine, ledgerLines } from "../../model/budgets.ts"
import { readHash } from "../../support/budget-kills.ts"
import type { Rig } from "./rig.ts"

/** Before and after a failover, what was written may be lost (ms). */
export const LOST_MILLIS = 5_000

/** What a book has. */
export interface BookContent {
  readonly lines: ReadonlyMap<string, LedgerLine>
  readonly holds: ReadonlyArray<HoldLine>
  /** of each call that was charged, for how long (s) */
  readonly billed: ReadonlyArray<number>
}

export interface BooksView {
  /** @param keys those of the book */
  readonly book: (keys: ReadonlyArray<string>) => Promise<BookContent>
  readonly dispose: () => Promise<void>
}

export const viewBooks = (url: string): BooksView => {
  const runtime = ManagedRuntime.make(redis.layer(connectionTo(url)).pipe(Layer.provide(Logger.layer([]))))
  const hash = (key: string) =>
    runtime.runPromise(
      Store.use((store) => store.run(readHash, { keys: [key], now: 0, context: NO_CONTEXT, call: {} })),
    )
  return {
    book: async ([ledger = "", records = ""]) => {
      const [lines, holds] = [await hash(ledger), await hash(records)]
      return {
        lines: ledgerLines({ hgetall: () => lines }, ledger),
        holds: holdLines({ hgetall: () => holds }, records),
        billed: holds
          .flatMap((text, i) => (i % 2 === 1 ? [Number(JSON.parse(text).seconds)] : []))
          .filter((n) => n > 0),
      }
    },
    dispose: () => runtime.dispose(),
  }
}

/** Each call is charged whose end a gate has taken; but for those of which a failover may have lost everything. */
export const uncharged = (
  sessions: Rig["platform"]["sessions"],
  charged: number,
  failedAt: number | undefined,
): ReadonlyArray<string> => {
  const taken = sessions.filter(
    ({ joinedAt, released, toldAt = 0 }) =>
      joinedAt !== undefined && released && (failedAt === undefined || Math.abs(toldAt - failedAt) > LOST_MILLIS),
  )
  return taken.length <= charged ? [] : [`${charged} calls were charged, and gates have taken ${taken.length} ends`]
}
