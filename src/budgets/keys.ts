/** The names of the budgets' keys in the store; `budgets/rules/book.ts` describes their contents. */
import { campaignIdOf, keysOf } from "../fifo-queue/keys.ts"
import { queueKeys } from "../fifo-queue/rules/shared/keys.ts"

/** A campaign's book, under the hash tag of its queue. Campaigns of one account share the ledger of the account. */
export const campaignBook = (key: string): ReadonlyArray<string> => {
  const { account, campaign } = campaignIdOf(key)
  const tag =
    account === undefined ? `vg:2:{${encodeURIComponent(campaign)}}:` : `vg:2:{@${encodeURIComponent(account)}}:`
  const own = account === undefined ? tag : `${tag}${encodeURIComponent(campaign)}:`
  const { events, meta } = queueKeys(keysOf(key))
  return [
    `${own}budgets`,
    `${own}heldTime`,
    `${own}heldTimeDue`,
    `${tag}accountBudgets`,
    events,
    meta,
    `${own}earlyReports`,
  ]
}

/** A caller's book, under the hash tag of the caller's limits; `caller` is the rate limiter's key. The ledger of an account, a log of events and early reports are not its. */
export const callerBook = (caller: string): ReadonlyArray<string> => {
  const ledger = `vg:{${caller}}:budgets`
  return [ledger, `vg:{${caller}}:heldTime`, `vg:{${caller}}:heldTimeDue`, ledger, ledger, ledger, ledger]
}
