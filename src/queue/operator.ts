/** What an operator asks of a campaign's queue and does with it: rules with typed arguments and answers. */
import type { Effect } from "effect"
import type { Done, Switch } from "../rules/operator/actions.ts"
import type { AuditLine } from "../rules/operator/audit-log.ts"
import type { HeldSlot, Pages, Look as RuleLook, WaitingTicket } from "../rules/operator/look.ts"
import type { QueueContext, StepAnswer } from "../rules/step.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Rule } from "../Store.ts"
import * as rules from "./rules.ts"
import type { CampaignContext, StepResult } from "./step.ts"

export type { Done, Pages, Switch }

/** The most rows of one page. */
export const PAGE_MAX = 100
/** The longest name of an operator (characters). */
const WHO_MAX = 64

export interface Look extends Omit<RuleLook, "linePage" | "slotPage"> {
  readonly slotPage: ReadonlyArray<HeldSlot>
  readonly linePage: ReadonlyArray<WaitingTicket>
}

type Step<A> = Effect.Effect<StepResult<A>, StoreUnavailable>

export interface OperatorQueue {
  /** Figures and pages of one moment; pages have at most `PAGE_MAX` rows. */
  readonly look: (at: CampaignContext, pages: Pages) => Step<Look>
  readonly turn: (at: CampaignContext, who: string, action: Switch) => Step<Done<"done" | "already">>
  /** Calls the oldest waiting ticket to a free slot, whatever back-off or pause says. */
  readonly callOne: (at: CampaignContext, who: string) => Step<Done<"called" | "no_slot" | "nobody" | "more">>
  readonly remove: (at: CampaignContext, who: string, seq: number) => Step<Done<"removed" | "gone">>
  /** `deadline` as it was seen: a lease that has moved on since is left alone. */
  readonly endLease: (at: CampaignContext, who: string, lease: string, deadline: number) => Step<Done<"ended" | "gone">>
  /** A page of the audit log, the newest first, and how many lines there are. */
  readonly auditLog: (
    at: CampaignContext,
    first: number,
    count: number,
  ) => Step<{ readonly total: number; readonly lines: ReadonlyArray<AuditLine> }>
}

/** Runs a rule of the campaign. */
export type RunStep = <Call extends object, R, A>(
  rule: Rule<QueueContext, Call, StepAnswer<R>>,
  at: CampaignContext,
  call: Call,
  read: (result: R) => A,
) => Step<A>

const page = (count: number): number => Math.max(0, Math.min(PAGE_MAX, count))
const nameOf = (who: string): string => who.slice(0, WHO_MAX) || "-"
const same = <A>(result: A): A => result

export const makeOperatorQueue = (step: RunStep): OperatorQueue => ({
  look: (at, { firstPlace, firstSlot, places, slots }) =>
    step(
      rules.look,
      at,
      { firstSlot, slots: page(slots), firstPlace, places: page(places) },
      ({ linePage = [], slotPage = [], ...figures }) => ({ ...figures, slotPage, linePage }),
    ),
  turn: (at, who, action) => step(rules.turnSwitch, at, { who: nameOf(who), action }, same),
  callOne: (at, who) => step(rules.callOne, at, { who: nameOf(who) }, same),
  remove: (at, who, seq) => step(rules.remove, at, { who: nameOf(who), seq }, same),
  endLease: (at, who, lease, deadline) => step(rules.endLease, at, { who: nameOf(who), lease, deadline }, same),
  auditLog: (at, first, count) =>
    step(rules.auditLog, at, { first, count: page(count) }, ({ lines = [], total }) => ({ total, lines })),
})
