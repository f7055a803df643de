/** What one step of a campaign changed: its data before and after, what is known of the step, and the tickets that it called or ended. */
import { type QueueState, type Record, TERMINAL } from "./queue-state.ts"

/** The effect of one step. */
export interface Change {
  readonly before: QueueState
  readonly after: QueueState
  readonly now: number
  /** when the store carried the step out; absent: at once */
  readonly time?: number
  readonly slots: number
  /** bounds of the slots that the campaign's account leaves it (`accounts.ts`); absent without an account */
  readonly account?: { readonly most: number; readonly least: number }
  /** how many calls may begin by the budgets for which callers wait (`awaited.ts`); absent for none */
  readonly paid?: number
  /** a network's share of the slots; 1 is no limit */
  readonly share: number
  /** how far the clocks of two gates may be apart (ms); absent for not at all */
  readonly skew?: number
  /** how long a called ticket may take to start (ms) */
  readonly window: number
  /** the gate that ran the step; empty if a gate has no name */
  readonly self?: string
  /** until when that gate had touched its connected tickets; set for a sweep */
  readonly shown?: number
  /** the step was a sweep that left no work for another one */
  readonly swept: boolean
  /** whether nobody swept for long; if absent, as in `before` */
  readonly away?: boolean
  /** from when until when nobody swept for long, lately; absent for never */
  readonly absences?: ReadonlyArray<readonly [from: number, until: number]>
  /** the step was a failed start whose caller gets nothing back */
  readonly refused?: boolean
  /** the step withdrew tickets whose callers do not know of them */
  readonly withdraws?: boolean
  /** the step was an operator's call, which no hold or backoff prevents */
  readonly anyway?: boolean
  /** the step removed waiting or called tickets of a removed campaign */
  readonly clears?: boolean
  /** the tickets whose callers' own budgets have enough again, as the step says */
  readonly pays?: ReadonlyArray<string>
  /** the ticket that the step admitted, and its caller; empty for none */
  readonly admits?: readonly [id: string, caller: string]
}

export const isCalled = (ticket: Record | undefined): boolean => ticket !== undefined && ticket.state === "called"

/** Whether a gate has taken back its start of a ticket that is called now: it was starting, in the same slot. */
export const isTakenBack = (was: Record | undefined, is: Record): boolean =>
  was !== undefined && was.state === "starting" && isCalled(is) && was.lease === is.lease

/** The tickets that this step called: those called now that were not, or had another lease. */
export const newlyCalled = ({ before, after }: Change): ReadonlyArray<readonly [string, Record]> =>
  [...after.tickets].filter(([id, t]) => {
    const was = before.tickets.get(id)
    return isCalled(t) && !(isCalled(was) && was?.lease === t.lease) && !isTakenBack(was, t)
  })

/** The tickets that this step ended. */
export const newlyOver = ({ before, after }: Change): ReadonlyArray<readonly [string, Record]> =>
  [...after.tickets].filter(
    ([id, t]) => TERMINAL.has(t.state) && !TERMINAL.has(before.tickets.get(id)?.state ?? "newcomer"),
  )

/** Whether a ticket was withdrawn before its admission arrived. */
export const withdrawn = ({ forget, tickets }: QueueState, id: string): boolean => !tickets.has(id) && forget.has(id)
