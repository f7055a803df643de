/** What an operator sees and does, as a service. Its layer is in `layer.ts`. */

import { Context, type Effect } from "effect"
import type { Pages } from "../fifo-queue/inputs.ts"
import type { Action, ActionOutcome } from "../fifo-queue/operator/actions.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { BudgetCaller, BudgetOrder, BudgetOutcome, BudgetsView } from "./budget-shapes.ts"
import type { Deliveries, DeliveryFilter, Redelivered, Redelivery, TestedEvent } from "./deliveries.ts"
import type { SearchPosition } from "./find.ts"
import type { ForgetRequest, Forgotten } from "./forgotten.ts"
import type { AuditFilter, AuditLog, Campaigns, Found, SettingsChanges, View } from "./shapes.ts"

/** The methods take a campaign's name, undefined for the default campaign, and return undefined for an unknown one. */
export class Operator extends Context.Service<
  Operator,
  {
    /** One page of the view, with the buckets since a time (ms since 1970). */
    readonly view: (campaign: string | undefined, pages: Pages, since: number) => Effect.Effect<View | undefined>
    /** Performs an action for the operator `who` and adds its line to the audit log. */
    readonly act: (
      campaign: string | undefined,
      who: string,
      action: Action,
    ) => Effect.Effect<ActionOutcome | undefined, StoreUnavailable>
    /** Adds a line to the audit log of every campaign: these settings of this instance were changed by `who`. */
    readonly noteSettings: (who: string, changes: SettingsChanges["settings"]) => Effect.Effect<void>
    /** At most `count` lines of the audit log, newest first, from line `first`; of one kind, or all. */
    readonly auditLog: (
      campaign: string | undefined,
      first: number,
      count: number,
      only?: AuditFilter,
    ) => Effect.Effect<AuditLog | undefined, StoreUnavailable>
    /** At most `count` deliveries of events, newest first, of events before the number `before`; 0 for the newest. */
    readonly deliveries: (
      campaign: string | undefined,
      filter: DeliveryFilter,
      before: number,
      count: number,
    ) => Effect.Effect<Deliveries | undefined, StoreUnavailable>
    /** Sends events again, for the operator `who`; a line of the audit log is written before. */
    readonly redeliver: (
      campaign: string | undefined,
      who: string,
      of: Redelivery,
    ) => Effect.Effect<Redelivered | undefined, StoreUnavailable>
    /** Sends a test event to the receiver of the campaign's events; "none" without `Events.Url`. */
    readonly testEvent: (campaign: string | undefined, who: string) => Effect.Effect<TestedEvent | "none" | undefined>
    /**
     * Forgets a caller in all campaigns, for the operator `who`, or counts what is known of them. An answer with `next` is incomplete. The
     * request must be one of which `wrongForget` says nothing.
     */
    readonly forget: (who: string, request: ForgetRequest) => Effect.Effect<Forgotten, StoreUnavailable>
    /** The budgets of a campaign; `no_caller` where the caller who is meant is nobody. */
    readonly budgets: (
      campaign: string | undefined,
      whose: BudgetCaller,
    ) => Effect.Effect<BudgetsView | "no_caller" | undefined, StoreUnavailable>
    /** Changes the cap of a budget for its present window, for the operator `who`. */
    readonly adjustBudget: (
      campaign: string | undefined,
      who: string,
      order: BudgetOrder,
    ) => Effect.Effect<BudgetOutcome | "no_caller" | undefined, StoreUnavailable>
    /** The figures of all campaigns. */
    readonly campaigns: Effect.Effect<Campaigns>
    /** The tickets of all campaigns whose hash begins with this one, in lower case. A long search continues `from` where it ended. */
    readonly find: (hash: string, from?: SearchPosition) => Effect.Effect<Found, StoreUnavailable>
  }
>()("voicegate/Operator") {}
