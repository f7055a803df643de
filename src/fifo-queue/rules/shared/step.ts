/** One step of a campaign's queue: the input of every queue rule, and its effects besides the answer. */

import type { Charge, Settlement, SettlementKind } from "../../../protocol/settlements.ts"
import type { Signal } from "../../../protocol/signals.ts"
import type { Db } from "../../../store/rules/db.ts"
import { encode, numberOf } from "../../../store/rules/native.ts"
import type { StepAnswer } from "../../answers.ts"
import { QUEUE_KEY_COUNT, type QueueKeys, queueKeys } from "./keys.ts"
import type { Ticket } from "./ticket.ts"

/** The campaign as a gate's settings define it, and the gate that asks. Durations in ms. */
export interface QueueContext {
  readonly slots: number
  /** a network's share of slots and of scarce places; 1 is no limit */
  readonly share: number
  readonly maxLength: number
  /** the gate that asks; empty when it reaches every connection itself */
  readonly instance: string
  /** the number under which this gate holds connections (`presence.ts`): at least 0, below 2^48 */
  readonly holder: number
  /** prefix of the channel on which a gate receives signals, followed by its name */
  readonly channel: string
  readonly windowMillis: number
  readonly graceMillis: number
  /** how long a connected ticket counts as present after a heartbeat: the grace, counted from when the next heartbeat is due */
  readonly seenMillis: number
  readonly callMillis: number
  /** how long a session may run before somebody has opened it; absent for no limit */
  readonly openMillis?: number
  /** the answers about a waiting ticket say when it was accepted */
  readonly tellsAccepted?: true
  /** newcomers are refused while the platform refuses what the operator must mend; absent when they wait */
  readonly refuses?: true
  /** the campaign has budgets: what its calls use is charged to them */
  readonly charges?: true
  /** budgets for which callers wait: the step then has the keys of their ledgers; absent for none */
  readonly awaited?: ReadonlyArray<AwaitedBudget>
  /** callers wait for budgets of their own (`own-budgets.ts`); absent where none does */
  readonly awaitsOwn?: true
  /** the account whose capacity the campaign shares; absent for none */
  readonly account?: Account
  /** the campaign reports events to its host (`events.ts`); absent when it does not */
  readonly events?: true
}

/** A budget for which callers wait, in its present window. Amounts are in its unit. */
export interface AwaitedBudget {
  /** the fields of the ledger: what is settled, what is held, what was added to the cap */
  readonly fields: ReadonlyArray<string>
  readonly cap: number
  /** what a call may begin with, and what it holds at first where there is more */
  readonly least: number
  readonly block: number
  /** when the next window begins (ms since 1970) */
  readonly until: number
  /** the ledger is the account's */
  readonly ofAccount?: true
}

/** An account whose campaigns share its capacity (`account.ts`). */
export interface Account {
  /** names the campaign within the account */
  readonly id: string
  /** the maximum number of concurrent calls of the account */
  readonly cap: number
  /** how many of them are reserved for a campaign, by its id; at most `cap` together */
  readonly reserved: { readonly [id: string]: number }
}

export interface Step {
  readonly db: Db
  readonly keys: QueueKeys
  /** the keys of the ledgers of budgets, only with `awaited` */
  readonly ledgers: { readonly campaign: string; readonly account: string }
  readonly now: number
  readonly context: QueueContext
  /** how many slots the campaign may hold in this step: its own, or fewer while its account withholds some */
  slots: number
  /** the same, had the platform refused no start */
  mostSlots: number
  readonly signals: Array<Signal>
  /** what this step did to tickets that the asking gate has nothing to deliver for: see `StepAnswer` */
  readonly elsewhere: Array<Signal>
  readonly settlements: Array<Settlement>
  /** what calls that end in this step have used; absent for none */
  charges?: Array<Charge>
  lastCalled?: string
  /** entries of `passed` that this step has scanned */
  scanned: number
  /** when this gate last sent the heartbeat of its connected tickets (ms); set by a sweep only */
  heartbeatAt?: number
  /** campaigns of the account that wait for a slot which is free after this step */
  wanting?: ReadonlyArray<string>
  /** whether an outage delayed this step (`stall.ts`); unknown until a rule asks */
  cutOff?: boolean
}

export const stepOf = (db: Db, keys: ReadonlyArray<string>, now: number, context: QueueContext): Step => ({
  db,
  keys: queueKeys(keys),
  ledgers: { campaign: keys[QUEUE_KEY_COUNT] ?? "", account: keys[QUEUE_KEY_COUNT + 1] ?? "" },
  now,
  context,
  slots: context.slots,
  mostSlots: context.slots,
  signals: [],
  elsewhere: [],
  settlements: [],
  scanned: 0,
})

export const answerOf = <A>({ charges, elsewhere, settlements, signals, wanting }: Step, result: A): StepAnswer<A> => {
  if (wanting !== undefined || charges !== undefined || elsewhere.length > 0) {
    return {
      result,
      ...(signals.length === 0 ? {} : { signals }),
      ...(elsewhere.length === 0 ? {} : { elsewhere }),
      ...(settlements.length === 0 ? {} : { settlements }),
      ...(charges === undefined ? {} : { charges }),
      ...(wanting === undefined ? {} : { wanting }),
    }
  }
  if (signals.length === 0) return settlements.length === 0 ? { result } : { result, settlements }
  return settlements.length === 0 ? { result, signals } : { result, signals, settlements }
}

/** A numeric field of the campaign; 0 when absent. */
export const meta = (s: Step, field: string): number => numberOf(s.db.hget(s.keys.meta, field))

/** Notifies the gate that holds the ticket's connection: this one, or another over its channel. */
export const notify = (s: Step, ticket: Ticket, { kind, ticket: id }: Signal): void => {
  const signal: Signal = ticket.trace === undefined ? { ticket: id, kind } : { ticket: id, kind, trace: ticket.trace }
  if (ticket.instance !== undefined && ticket.instance !== s.context.instance) {
    s.db.publish(s.context.channel + ticket.instance, encode(signal))
    s.elsewhere.push({ ticket: id, kind })
  } else {
    s.signals.push(signal)
  }
}

/** Records what the rate limiter must do for the caller of a ticket or of a start in doubt. */
export const settle = (s: Step, kind: SettlementKind, id: string, { caller, holds }: Ticket): void => {
  if (caller === undefined || (kind === "release" && holds !== true)) return
  s.db.zadd(s.keys.settlements, s.now, `${kind} ${id} ${caller}`)
  s.settlements.push({ kind, ticket: id, caller })
}
