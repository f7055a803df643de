/**
 * What must hold between the campaigns of one account: together they never hold more than its cap, what is reserved for one is
 * given to no other, and the rest goes to the campaign whose oldest caller waits longest.
 */
import { WANT_MILLIS } from "../../src/fifo-queue/rules/shared/account.ts"
import type { Change } from "./change.ts"
import type { QueueState } from "./queue-state.ts"

/** A campaign of the account after its last step. */
export interface Member {
  readonly state: QueueState
  /** its own slots */
  readonly slots: number
  /** when its last step was taken (ms) */
  readonly steppedAt: number
  /** whether the account withheld a slot in that step */
  readonly limited: boolean
}

export interface AccountState {
  readonly cap: number
  readonly reserved: Readonly<Record<string, number>>
  readonly members: ReadonlyMap<string, Member>
}

const heldBy = ({ members }: AccountState, id: string): number => members.get(id)?.state.leases.size ?? 0

/** What the campaigns hold or have reserved, but for one. */
const takenWithout = (account: AccountState, own: string): number => {
  const others = new Set([...Object.keys(account.reserved), ...account.members.keys()])
  others.delete(own)
  return [...others].reduce((sum, id) => sum + Math.max(heldBy(account, id), account.reserved[id] ?? 0), 0)
}

/** Whether a campaign may wait for a slot of the account. */
const waits = ({ state: { parked, waiting } }: Member): boolean => waiting.size > parked.size

export type Bounds = NonNullable<Change["account"]>

/** Bounds of the slots that a campaign may hold: it may never hold more than `most`, and leaves none free below `least`. */
export const slotsWithin = (account: AccountState, id: string): Bounds => {
  const most = Math.max(0, account.cap - takenWithout(account, id))
  const others = [...account.members].filter(([other, member]) => other !== id && waits(member)).length
  return { most, least: Math.max(Math.min(most, account.reserved[id] ?? 0), most - others) }
}

/** Who waits for a budget of his own waits for no slot. */
const oldestIn = ({ tickets, unpaid, waiting }: QueueState): number => {
  const [first] = [...waiting].filter(([id]) => !unpaid.has(id)).toSorted(([, a], [, b]) => a - b)
  return first === undefined ? Number.POSITIVE_INFINITY : (tickets.get(first[0])?.accepted ?? 0)
}

/** When the oldest caller was accepted of a campaign that the account certainly makes wait. */
const wantedSince = ({ limited, slots, state, steppedAt }: Member, now: number): number => {
  const { meta, leases } = state
  const resting = meta.get("paused") === 1 || meta.get("disrupted") === 1 || (meta.get("backoffUntil") ?? 0) > steppedAt
  // a campaign that waits says so at least every half second
  const isHeard = Math.abs(now - steppedAt) < WANT_MILLIS - 600
  const isWanting = limited && isHeard && !resting && leases.size < slots && state.waiting.size > state.parked.size
  return isWanting ? oldestIn(state) : Number.POSITIVE_INFINITY
}

/** Violations of a step of the campaign `id`, which has left `after`. */
export const accountViolations = (
  account: AccountState,
  id: string,
  { after, before, now }: Change,
): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const gained = after.leases.size - before.leases.size
  if (gained <= 0) return wrong
  const others = takenWithout(account, id)
  const held = Math.max(after.leases.size, account.reserved[id] ?? 0)
  if (after.leases.size + others > account.cap) {
    wrong.push(`I1: ${id} holds ${after.leases.size}, and others hold or have reserved ${others} of ${account.cap}`)
  }
  if (after.leases.size <= (account.reserved[id] ?? 0)) return wrong
  const own = Math.min(oldestIn(before), now)
  const older = [...account.members].filter(([other, member]) => other !== id && wantedSince(member, now) < own)
  if (account.cap - others - held < older.length) {
    wrong.push(`${id} took a slot for which ${older.map(([other]) => other).join(", ")} waited longer`)
  }
  return wrong
}
