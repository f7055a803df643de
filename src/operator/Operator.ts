/** What an operator sees and does, as a service. Its layer is in `layer.ts`. */

import { Context, type Effect } from "effect"
import type { Pages } from "../fifo-queue/inputs.ts"
import type { Action, ActionOutcome } from "../fifo-queue/operator/actions.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { BudgetCaller, BudgetOrder } from "./budget-orders.ts"
import type { BudgetOutcome, BudgetsView } from "./budget-shapes.ts"
import type { Deliveries, DeliveryFilter, Redelivered, Redelivery, TestedEvent } from "./delivery-shapes.ts"
import type { SearchPosition } from "./find.ts"
import type { ForgetRequest, Forgotten } from "./forgotten.ts"
import type {
  Asking,
  AuditFilter,
  AuditLog,
  CampaignHistory,
  Campaigns,
  Found,
  HistoryRange,
  SettingsChanges,
  View,
} from "./shapes.ts"

/** What an operator searches for: a ticket by the start of its hash in lower case, or a caller by an address or a signed subject. */
export type Search = { readonly hash: string } | { readonly caller: string }

/** `full`: as many addresses are blocked as may be. `invalid`: it is no address that can be blocked. */
export type BlockResult = "done" | "already" | "full" | "invalid"

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
    /** The tickets of all campaigns that are searched for. A long search continues `from` where it ended. */
    readonly find: (search: Search, from?: SearchPosition) => Effect.Effect<Found, StoreUnavailable>
    /** What happened in a campaign over time. */
    readonly history: (
      campaign: string | undefined,
      range: HistoryRange,
    ) => Effect.Effect<CampaignHistory | undefined, StoreUnavailable>
    /** The addresses that ask most, and those that are blocked. */
    readonly asking: Effect.Effect<Asking, StoreUnavailable>
    /**
     * Blocks an address or a network at all campaigns for the operator `who`, until a time (ms since 1970) or for good (0), or lifts the
     * block when there is no time. Every instance with a console knows within seconds; this one at once.
     */
    readonly block: (
      who: string,
      address: string,
      until: number | undefined,
    ) => Effect.Effect<BlockResult, StoreUnavailable>
  }
>()("voicegate/Operator") {}
