/**
 * Slots and waiting tickets of a campaign: the service. `layer.ts` is its layer over the store.
 *
 * Guarantees, on every store and with any number of instances:
 * - Leases never exceed the slots, and those of an account's campaigns never exceed its cap together.
 * - Tickets are called in the order of acceptance, except that a network at its share of the slots is passed over while another one
 *   below its share waits. No newcomer overtakes a waiting ticket.
 * - One opened slot calls one ticket, once.
 * - Ends of sessions are idempotent, and an answer for an old lease changes nothing.
 * - What a dead process held is freed by its deadline, by any instance's sweep.
 *
 * Every operation is one atomic step of the store.
 */

import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Charge, Settlement } from "../protocol/settlements.ts"
import type { TicketState } from "../protocol/ticket.ts"
import type {
  Admitted,
  Aliased,
  BilledCalls,
  Binding,
  CallTimes,
  Cleared as ClearedAnswer,
  Doubt,
  Failed,
  Heartbeat as HeartbeatAnswer,
  LeaveResult,
  Offered,
  Resolved,
  SessionEnd,
  SessionState,
  Silence,
  Speech,
  Start,
  Swept as SweptAnswer,
  TicketSnapshot,
  UnpaidTickets,
  Waiting,
} from "./answers.ts"
import type { EndAttempt, EndReporter, HoursNow, KnownQueue, Learned, Newcomer, StartFailure } from "./inputs.ts"
import type { OperatorQueue } from "./operator/OperatorQueue.ts"
import type { CampaignContext, Stepping } from "./step.ts"

export type Place = Omit<Waiting, "_tag">

/** One ticket of a heartbeat; `state` is undefined when the ticket is unknown. */
export interface HeartbeatEntry {
  readonly ticket: string
  readonly state: TicketState | undefined
  readonly position: number
  readonly startBefore: number
  readonly lease: string
  /** of a waiting ticket, in the answer for a gate that holds it: its order of acceptance */
  readonly seq?: number
  /** another gate holds the waiting ticket */
  readonly elsewhere?: true
  /**
   * of a waiting ticket whose caller has too little left of a budget of his own: when that begins anew (ms since 1970), and how long that is from
   * now (ms)
   */
  readonly resumesAt?: number
  readonly heldMillis?: number
  /** of a waiting ticket: when it was accepted (ms since 1970), where the context asks for it */
  readonly accepted?: number
}

/** What a gate learns of the queue that it knew up to a change. */
export interface QueueChanges {
  /** the change up to which it knows the queue now */
  readonly until: number
  /** there are more changes: the gate asks again */
  readonly more: boolean
  /** how many tickets it holds */
  readonly holds: number
  /** changes are not known any more: the gate must ask for all of its tickets */
  readonly lost: boolean
  /** tickets that have begun or ceased to wait, or that another gate has let go of */
  readonly changed: ReadonlyArray<string>
  /** the page of tickets that was asked for */
  readonly held: ReadonlyArray<string>
  /** where all stand; absent when the gate has not asked */
  readonly places?: {
    /** `seq` of the first hundred, in order */
    readonly first: ReadonlyArray<number>
    /** behind them: a place, and the `seq` up to which it is shown; and so on, both rising. Empty when nothing has changed */
    readonly steps: ReadonlyArray<number>
  }
}

/** Where tickets stand, and the queue that they wait in. */
export interface Heartbeat extends Omit<HeartbeatAnswer, "changes" | "tickets"> {
  readonly tickets: ReadonlyArray<HeartbeatEntry>
  readonly changes?: QueueChanges
}

/** The result of a sweep. */
export interface Swept extends Omit<SweptAnswer, "junk" | "owed" | "quarantined" | "uncharged"> {
  /** settlements that the process which caused them did not carry out */
  readonly owed: ReadonlyArray<Settlement>
  /** the same of charges; absent in a queue that knows none */
  readonly uncharged?: ReadonlyArray<Charge>
  /**
   * how many invalid records were ever found (`fifo-queue/rules/shared/load.ts`), when the last was found (ms since 1970), and in which key
   */
  readonly quarantined: { readonly count: number; readonly at: number; readonly key: string }
}

/** The time limit of one call. Times in ms since 1970, of the store's clock. */
export interface CallLimit {
  /** when the call ends */
  readonly endsAt: number
  /** when it has ended at the latest, where its vendor ends it without the gate; absent where the gate ends it */
  readonly heldUntil?: number | undefined
  /** until when budgets have time for the call, where they have no more: it ends then, if not before; absent where they may have more */
  readonly paidUntil?: number | undefined
}

type Served = Extract<ClearedAnswer, { readonly _tag: "served" }>

export type Cleared =
  | Served
  | (Omit<Exclude<ClearedAnswer, Served>, "owed" | "uncharged"> & {
      /** settlements that the process which caused them did not carry out */
      readonly owed: ReadonlyArray<Settlement>
      readonly uncharged?: ReadonlyArray<Charge>
    })

export class FifoQueue extends Context.Service<
  FifoQueue,
  {
    /** Admits a newcomer to a slot, to the queue, or not at all. */
    readonly admit: (at: CampaignContext, newcomer: Newcomer) => Stepping<Admitted>
    /** A called ticket takes its slot; the answer's lease fences what follows. */
    readonly start: (at: CampaignContext, id: string) => Stepping<Start>
    /**
     * Binds the running session: `stale` when the lease is no longer this ticket's, `ended` when the session's end was already reported.
     */
    readonly bind: (
      at: CampaignContext,
      id: string,
      lease: string,
      session: {
        readonly ids: ReadonlyArray<string>
        readonly data: Readonly<Record<string, string>>
        /** of a session that begins with its page's offer: how long the page has for the offer (ms) */
        readonly offerMillis?: number | undefined
        /** the time limit of this call; absent where it has none of its own. A host's own queue may ignore it. */
        readonly limit?: CallLimit | undefined
      },
    ) => Stepping<Binding>
    /**
     * Takes the offer with which the session of a live ticket begins, once: the ticket is starting again, with `data` stored
     * as before its start. `foreign` when the session is not this ticket's, `used` when the offer was made before.
     */
    readonly offer: (at: CampaignContext, id: string, sessionId: string, data: string) => Stepping<Offered>
    /**
     * Adds further ids of a running session, under any of which its end may be reported. `ended` when the end was already reported under
     * one of them, and the session ends now; `stale` when the known session is not running.
     */
    readonly alias: (at: CampaignContext, knownId: string, furtherIds: ReadonlyArray<string>) => Stepping<Aliased>
    /**
     * The platform has not started the session. The reason decides the next state of ticket, slot and campaign.
     */
    readonly fail: (at: CampaignContext, id: string, lease: string, why: StartFailure) => Stepping<Failed>
    /** The starts in doubt older than `ageMillis`. This instance claims the check for `claimMillis`. */
    readonly doubts: (
      at: CampaignContext,
      ageMillis: number,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<Doubt>, StoreUnavailable>
    /**
     * Resolves a start in doubt by the sessions that the platform reports for it, each by its ids. A session that belongs to no ticket
     * holds the slot until it ends; with `ends` it is this start's alone, and is to be ended (`dueEnds`). When the platform has twice
     * reported no such session, the slot is freed.
     */
    readonly resolve: (
      at: CampaignContext,
      doubt: string,
      sessions: ReadonlyArray<ReadonlyArray<string>>,
      ends?: boolean,
    ) => Stepping<Resolved>
    /**
     * A session ended; any of its ids. `by` says what that tells of the platform's reports (`fifo-queue/rules/end.ts`); absent if nothing, as when
     * the gate has ended it. With an `attempt`, the queue remembers for a day which one freed the slot, and answers `again` to one that
     * names it as lost and thereby takes its place; without any id that is all it does. `seconds` is how long the call was, where the
     * platform says it: so long it is charged to budgets. A host's own queue may ignore both.
     */
    readonly end: (
      at: CampaignContext,
      sessionIds: ReadonlyArray<string>,
      by?: EndReporter,
      attempt?: EndAttempt,
      seconds?: number,
    ) => Stepping<SessionEnd>
    /** Sessions that nobody may have opened within `Queue.OpenSeconds`. Without it, that setting has no effect. */
    readonly unopened?:
      | {
          /** One id of each session to ask the platform about now. No instance is given them again for `claimMillis`. */
          readonly find: (
            at: CampaignContext,
            claimMillis: number,
          ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
          /**
           * What the platform says of a session; `opened` also where it cannot tell. Otherwise the session is to be ended (`dueEnds`), and its
           * ticket has missed its turn. Answers with this ticket; empty if nothing was to be done.
           */
          readonly note: (at: CampaignContext, sessionId: string, opened: boolean) => Stepping<string>
        }
      | undefined
    /** What is known of a session: `held` by a ticket, or `ended` when its end was reported and no ticket has it. Changes nothing. */
    readonly sessionState: (at: CampaignContext, sessionId: string) => Stepping<SessionState>
    readonly leave: (at: CampaignContext, id: string) => Stepping<LeaveResult>
    /**
     * Withdraws tickets whose callers do not know of them, at most `MAX_WITHDRAWN_PER_STEP`, and gives their quota back: frees places and
     * slots, except those of a running session. None of them is called later, even if its admission arrives only later. Returns how many
     * ended. Idempotent.
     */
    readonly withdraw: (at: CampaignContext, ids: ReadonlyArray<string>) => Stepping<number>
    /**
     * Returns a ticket's state, keeps it present, and records where its connection is. If its page is `hidden` and the ticket is called,
     * its turn is extended; a host's own queue may ignore `hidden`.
     */
    readonly attach: (at: CampaignContext, id: string, connected: boolean, hidden?: boolean) => Stepping<TicketSnapshot>
    /**
     * An instance's heartbeat, every `TICK_MILLIS`: returns where these tickets stand and keeps them present. With `known`, those that wait
     * are held from then on: present until the instance says that their connections have closed, or dies; and the answer has the changes, so
     * that the next heartbeat names only the tickets that they concern. A host's own queue may ignore `known`: to an answer without it, the
     * instance sends all of its tickets with every heartbeat.
     */
    readonly heartbeat: (at: CampaignContext, ids: ReadonlyArray<string>, known?: KnownQueue) => Stepping<Heartbeat>
    /**
     * Enforces deadlines, once a second. `heartbeatAt` is when this gate last sent the heartbeat of its connected tickets (ms), now by
     * default: none of them counts as absent if it was present until later. `learned` is what this gate has learned of the platform; the
     * answer has the state of the platform, and in `watch` whether this gate must read it now. `hours` is what the campaign's hours say
     * now, undefined where nothing is said of them: in a queue that ignores them, those who wait at the close wait until it opens.
     */
    readonly sweep: (at: CampaignContext, heartbeatAt?: number, learned?: Learned, hours?: HoursNow) => Stepping<Swept>
    /**
     * Puts back tickets that a rule has left half-done because the store refused one of its commands. Returns how many. Absent for a queue
     * whose steps are carried out whole or not at all.
     */
    readonly repair?: (at: CampaignContext) => Effect.Effect<number, StoreUnavailable>
    /** This gate stops: it holds no ticket, and no rule waits for it any more. */
    readonly unregister: (at: CampaignContext) => Stepping<void>
    /**
     * Clears a campaign that no gate has swept for `unservedMillis`, in place of a sweep: removes tickets that waited or were called
     * before, with a refund; enforces the deadlines of starts in flight and running sessions; forgets ended tickets. Nobody is called.
     * Idempotent.
     */
    readonly clear: (at: CampaignContext, unservedMillis: number) => Stepping<Cleared>
    readonly acknowledge: (
      at: CampaignContext,
      settlements: ReadonlyArray<Settlement>,
    ) => Effect.Effect<void, StoreUnavailable>
    /**
     * These charges were carried out. In a queue without it, no step tells what a call has used, and budgets charge what they hold for it
     * when its ticket is over.
     */
    readonly charged?: (at: CampaignContext, charges: ReadonlyArray<Charge>) => Effect.Effect<void, StoreUnavailable>
    /** Session ids of live leases older than `ageMillis`. This instance claims the check for `claimMillis`. */
    readonly audit: (
      at: CampaignContext,
      ageMillis: number,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /**
     * The `trace` of a ticket, or of the ticket that has a session with one of these ids; empty for none. A gate with a tracer asks. A
     * queue without `traceOf` keeps no traces, so each request of a caller begins its own.
     */
    readonly traceOf?: (
      at: CampaignContext,
      subject: { readonly id: string } | { readonly sessions: ReadonlyArray<string> },
    ) => Stepping<string>
    /**
     * The data bound to each running session that is to be ended at the platform now: those without a caller, those that an operator ends,
     * silent ones and, with `all`, those whose lease is about to end. Each is claimed for `claimMillis`: for so long no other instance is given it;
     * afterwards any instance is, if it still runs. `silenceMillis` is how long nobody may speak in a call now, whatever the limit was when
     * silence was reported; undefined: no call ends because of it.
     */
    readonly dueEnds: (
      at: CampaignContext,
      which: "all" | "at_once",
      claimMillis: number,
      silenceMillis?: number,
    ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /**
     * Since when each of these calls is billed (ms since 1970): 0 while it has not begun, -1 when its slot is free; and whether it ends for a
     * budget. A queue without it has no calls for which budgets hold time.
     */
    readonly callTimes?: (
      at: CampaignContext,
      slots: ReadonlyArray<{ readonly ticket: string; readonly lease: string }>,
    ) => Stepping<CallTimes["calls"]>
    /** A page of the running calls for which budgets should hold time, from the `first` one on. */
    readonly billedCalls?: (at: CampaignContext, first: number) => Stepping<BilledCalls>
    /**
     * A budget has no more for this call: it ends at `endsAt` (ms since 1970) at the latest, as one with a time limit of its own. Undefined:
     * the budgets have more again.
     */
    readonly endAtBudget?: (
      at: CampaignContext,
      ticket: string,
      lease: string,
      endsAt: number | undefined,
    ) => Stepping<boolean>
    /** Tickets that wait for budgets of their callers. In a queue without it, such a budget refuses callers instead. */
    readonly unpaid?:
      | {
          /**
           * The caller of a waiting ticket has too little left of a budget of his own, which begins anew at `until` (ms since 1970): the ticket keeps
           * its place, and others are called meanwhile. `failed` where too many tickets wait like that: it is over, and its quota is given
           * back. `stale`: it does not wait.
           */
          readonly await: (at: CampaignContext, id: string, until: number) => Stepping<Failed>
          /** The oldest such ticket of each caller. No instance is given them again for `claimMillis`. */
          readonly find: (
            at: CampaignContext,
            claimMillis: number,
          ) => Effect.Effect<NonNullable<UnpaidTickets["tickets"]>, StoreUnavailable>
          /** The budgets of these tickets' callers have enough again: they are called at their places. Returns how many have waited for that. */
          readonly pay: (at: CampaignContext, ids: ReadonlyArray<string>) => Stepping<number>
        }
      | undefined
    /**
     * Running calls with a time limit of their own (`CallLimit`): warns the pages of those that end soon, and answers with the data bound to each
     * session that is to be ended at the platform now, claimed as those of `dueEnds`. `ends`: the platform can be asked to end a call. `nextAt`
     * is when the next thing is due (ms since 1970), undefined when there is no such call. In a queue without it, no call has such a limit.
     */
    readonly dueLengths?: (
      at: CampaignContext,
      claimMillis: number,
      ends: boolean,
    ) => Stepping<{ readonly sessions: ReadonlyArray<string>; readonly nextAt: number | undefined }>
    /**
     * The page of a running call reports how long nobody has spoken (ms), 0 when somebody speaks. With a limit (ms), a silent call ends
     * at the answer's `endsAt`; `ends`: a gate can end it (`dueEnds`). In a queue without `silence`, no call ends because of it.
     */
    readonly silence?: (
      at: CampaignContext,
      id: string,
      silentMillis: number,
      limit: { readonly millis: number; readonly ends: boolean } | undefined,
    ) => Stepping<Silence>
    /**
     * The vendor says of a running session, by its ids, whether the caller or the agent speaks: then no end is due because of silence, and
     * a silence that the page reports later is counted from this time. In a queue without `speech`, the page's word counts alone.
     */
    readonly speech?: (
      at: CampaignContext,
      sessions: ReadonlyArray<string>,
      heard: { readonly caller?: boolean; readonly agent?: boolean },
    ) => Stepping<Speech>
    /** What an operator sees and does. */
    readonly operator: OperatorQueue
  }
>()("voicegate/FifoQueue") {}

/** How often an instance sends the heartbeat of its tickets (ms). */
export const TICK_MILLIS = 2_000
