/** The names of the budgets' keys in the store; `budgets/rules/book.ts` describes their contents. */
import { keysOf, ledgersOf, ownKeyOf } from "../fifo-queue/keys.ts"
import { queueKeys } from "../fifo-queue/rules/shared/keys.ts"

/** A campaign's book, under the hash tag of its queue. Campaigns of one account share the ledger of the account. */
export const campaignBook = (key: string): ReadonlyArray<string> => {
  const [ledger, shared] = ledgersOf(key)
  const { events, meta } = queueKeys(keysOf(key))
  return [
    ledger,
    ownKeyOf(key, "heldTime"),
    ownKeyOf(key, "heldTimeDue"),
    shared,
    events,
    meta,
    ownKeyOf(key, "earlyReports"),
  ]
}

/** A caller's book, under the hash tag of the caller's limits; `caller` is the rate limiter's key. The ledger of an account, a log of events and early reports are not its. */
export const callerBook = (caller: string): ReadonlyArray<string> => {
  const ledger = `vg:{${caller}}:budgets`
  return [ledger, `vg:{${caller}}:heldTime`, `vg:{${caller}}:heldTimeDue`, ledger, ledger, ledger, ledger]
}
