/** What an operator sees and does in a campaign's queue: rules with typed arguments and answers. */

import { isoTime } from "../../protocol/session-answers.ts"
import type { Rule } from "../../store/Store.ts"
import type { AuditLine, Doubt, ForgottenTickets, CampaignSnapshot as SnapshotAnswer, StepAnswer } from "../answers.ts"
import type { Pages } from "../inputs.ts"
import type { QueueAction } from "../rules/operator/act.ts"
import type { Forgotten } from "../rules/operator/forget.ts"
import type { QueueContext } from "../rules/shared/step.ts"
import { rules } from "../rules.ts"
import type { CampaignContext, Stepping } from "../step.ts"
import type { Performed } from "./actions.ts"
import type { HeldSlot, WaitingTicket } from "./schemas.ts"

export const PAGE_MAX = 100
/** Maximum length of an operator's name (characters). */
const WHO_MAX = 64

export interface CampaignSnapshot extends Omit<SnapshotAnswer, "waitingPage" | "slotPage"> {
  readonly slotPage: ReadonlyArray<HeldSlot>
  readonly waitingPage: ReadonlyArray<WaitingTicket>
}

export interface OperatorQueue {
  /** The campaign at one moment. Pages have at most `PAGE_MAX` rows. */
  readonly snapshot: (at: CampaignContext, pages: Pages) => Stepping<CampaignSnapshot>
  /** The start in doubt that holds the slot of a lease. */
  readonly doubt: (at: CampaignContext, lease: string) => Stepping<Doubt | undefined>
  /** Performs an action for the operator `who` and adds its line to the audit log. */
  readonly act: (at: CampaignContext, who: string, action: QueueAction) => Stepping<Performed>
  /** A page of the audit log, newest first, and the number of all lines. */
  readonly auditLog: (
    at: CampaignContext,
    first: number,
    count: number,
  ) => Stepping<{ readonly total: number; readonly lines: ReadonlyArray<AuditLine> }>
  /** Forgets a caller in a page of tickets, or counts; `0` is the first page, and as the answer's `cursor` says that it was the last. */
  readonly forget?: (at: CampaignContext, who: Forgotten, cursor: string) => Stepping<ForgottenTickets>
}

export type RunStep = <Call extends object, R, A>(
  rule: Rule<QueueContext, Call, StepAnswer<R>>,
  at: CampaignContext,
  call: Call,
  read: (result: R) => A,
) => Stepping<A>

/** Adds the text for the audit log, because rules do not format times, and gives the rule the end of a pause in the store's time. */
const readable = (action: QueueAction, aheadMillis: number): QueueAction =>
  action.type === "pause" && action.until !== undefined
    ? { ...action, until: action.until - aheadMillis, untilText: `until ${isoTime(action.until)}` }
    : action

const rowsOf = (count: number): number => Math.max(0, Math.min(PAGE_MAX, count))

/** @param aheadMillis how far the time of day is ahead of the store's time (ms) */
export const makeOperatorQueue = (step: RunStep, aheadMillis: () => number): OperatorQueue => ({
  snapshot: (at, { firstPlace, firstSlot, places, slots }) =>
    step(
      rules.campaignSnapshot,
      at,
      { firstSlot, slots: rowsOf(slots), firstPlace, places: rowsOf(places) },
      ({ slotPage = [], waitingPage = [], ...figures }) => ({ ...figures, slotPage, waitingPage }),
    ),
  doubt: (at, lease) => step(rules.doubtAt, at, { lease }, ({ doubts = [] }) => doubts[0]),
  act: (at, who, action) =>
    step(
      rules.act,
      at,
      { who: who.slice(0, WHO_MAX) || "-", action: readable(action, aheadMillis()) },
      (performed: Performed) => performed,
    ),
  forget: (at, who, cursor) => step(rules.forget, at, { ...who, cursor }, (page: ForgottenTickets) => page),
  auditLog: (at, first, count) =>
    step(rules.auditLog, at, { first, count: rowsOf(count) }, ({ lines = [], total }) => {
      const ahead = aheadMillis()
      return { total, lines: ahead === 0 ? lines : lines.map((line) => ({ ...line, at: line.at + ahead })) }
    }),
})
