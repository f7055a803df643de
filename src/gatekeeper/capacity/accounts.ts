/** The accounts whose capacity campaigns share, and what each campaign's steps are told of it. */

import { UNKNOWN_SLOTS } from "../../fifo-queue/bounds.ts"
import type { AccountCapacity } from "../../fifo-queue/step.ts"
import type { Campaign } from "../../settings/Settings.ts"
import type { Campaigns } from "../Campaigns.ts"

export interface SharedAccount {
  readonly name: string
  /** in the order of their keys, so that it is the same on all instances; never empty */
  readonly members: readonly [Campaign, ...ReadonlyArray<Campaign>]
  /** `Account.MaxConcurrency`; undefined if only the platform tells the limit */
  readonly limit: number | undefined
}

export const accountsOf = ({ all, key }: Pick<Campaigns["Service"], "all" | "key">): ReadonlyArray<SharedAccount> => {
  const sorted = all.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  const accounts: Array<SharedAccount> = []
  for (const [name, [first, ...others] = []] of Map.groupBy(sorted, ({ Account }) => Account?.Name)) {
    if (name === undefined || first === undefined) continue
    accounts.push({ name, members: [first, ...others], limit: first.Account?.MaxConcurrency })
  }
  return accounts
}

/** The reserved slots by the campaigns' keys. If the cap is smaller than their sum, the last campaigns get fewer. */
const reservedOf = (
  { members }: SharedAccount,
  cap: number,
  key: Campaigns["Service"]["key"],
): Record<string, number> => {
  const reserved: Record<string, number> = {}
  let left = cap
  for (const campaign of members) {
    const slots = Math.min(campaign.Account?.ReservedSlots ?? 0, left)
    left -= slots
    if (slots > 0) reserved[key(campaign)] = slots
  }
  return reserved
}

/** Returns the same object while the account's cap does not change. */
export const accountCapacities = (key: Campaigns["Service"]["key"]) => {
  const known = new Map<string, AccountCapacity>()
  return (account: SharedAccount, cap: number): AccountCapacity => {
    const last = known.get(account.name)
    // JSON has no infinity
    const shareable = Math.min(cap, UNKNOWN_SLOTS)
    if (last?.cap === shareable) return last
    const capacity: AccountCapacity = { cap: shareable, reserved: reservedOf(account, cap, key) }
    known.set(account.name, capacity)
    return capacity
  }
}
