/**
 * Counts what keys and addresses do in windows of one minute, in this process. Several processes count separately, so together they allow
 * a multiple. What must be exact (the account's concurrent calls) is not counted here.
 */
import { Context, Layer } from "effect"
import { ageOf } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import { makeWindows } from "../../lib/windows.ts"

/**
 * After this many wrong keys from one address in a minute, its unknown keys are looked up sequentially: wrong keys then use at
 * most one database connection, and the right key still works.
 */
export const FAILURES_PER_MINUTE = 20

export type BudgetName = "request" | "start"

export interface Limits {
  /** requests of one key per minute; 0 is no limit */
  readonly requestsPerMinute: number
  /** starts of one key per minute, counted separately; 0 is no limit */
  readonly startsPerMinute: number
}

/** The state after a use: what remains, and when the window ends. */
export interface BudgetState {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetSeconds: number
}

/** Times are in milliseconds. */
export class Budgets extends Context.Service<
  Budgets,
  {
    readonly use: (keyId: string, budget: BudgetName, now: number) => BudgetState
    readonly wrongKey: (address: string, now: number) => BudgetState
    /** Whether an address has used up its wrong keys. */
    readonly isGuessing: (address: string, now: number) => boolean
    /** Whether to record that a key was refused at an address; counts the record. */
    readonly recordsRefusal: (keyId: string, address: string, now: number) => boolean
  }
>()("voicegate/platform/Budgets") {}

const MINUTE = 60_000
/** Maximum keys or addresses that are counted; one that was evicted starts with a full budget. */
const MAX_COUNTED = 10_000
/** A key's refusals are written to the audit log once for an address in this time, in milliseconds. */
const REFUSED_ADDRESS_MILLIS = 60 * 60_000
/** Limit of such entries of one key per minute: whoever has a stolen key and many networks cannot fill the audit log. */
const REFUSED_ADDRESSES_PER_MINUTE = 1

const UNLIMITED: BudgetState = { allowed: true, remaining: Number.MAX_SAFE_INTEGER, resetSeconds: 0 }

/** A budget of `limit` uses per minute; 0 is no limit. */
const makeBudget = (limit: number) => {
  const windows = makeWindows(MINUTE, MAX_COUNTED)
  return {
    isUsedUp: (name: string, now: number): boolean => limit !== 0 && windows.used(name, now) >= limit,
    use: (name: string, now: number): BudgetState => {
      if (limit === 0) return UNLIMITED
      const used = windows.add(name, now)
      return {
        allowed: used <= limit,
        remaining: Math.max(0, limit - used),
        resetSeconds: Math.max(1, Math.ceil((windows.endsAt(name, now) - now) / 1000)),
      }
    },
  }
}

export const layer = (limits: Limits): Layer.Layer<Budgets> =>
  Layer.sync(Budgets, () => {
    const budgets = { request: makeBudget(limits.requestsPerMinute), start: makeBudget(limits.startsPerMinute) }
    const wrongKeys = makeBudget(FAILURES_PER_MINUTE)
    const refusals = makeBudget(REFUSED_ADDRESSES_PER_MINUTE)
    const recordedAt = boundedCache<number>(MAX_COUNTED)
    return Budgets.of({
      use: (keyId, budget, now) => budgets[budget].use(keyId, now),
      wrongKey: wrongKeys.use,
      isGuessing: wrongKeys.isUsedUp,
      recordsRefusal: (keyId, address, now) => {
        const name = `${keyId} ${address}`
        if (ageOf(recordedAt.get(name) ?? Number.NEGATIVE_INFINITY, now) < REFUSED_ADDRESS_MILLIS) return false
        if (!refusals.use(keyId, now).allowed) return false
        recordedAt.set(name, now)
        return true
      },
    })
  })
