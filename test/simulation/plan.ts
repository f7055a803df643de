/** A history before it runs: the settings and a list of actions, each of which can be removed without affecting the others. */
import type { LengthControl } from "../../src/platform-api/model.ts"
import type { Offer } from "../../src/protocol/offers.ts"
import type { Budget } from "../../src/settings/groups/budgets.ts"
import type { CampaignName } from "./settings.ts"

/**
 * `limited`: the key's requests are limited; `unacceptable`: the caller's input is refused; `refused`: the key is
 * refused; `failed`: no session runs; `ghost`: no answer, but a session runs; `lost`: no answer and no session;
 * `unreachable`: nothing was sent.
 */
export type Outcome =
  | "started"
  | "capacity"
  | "limited"
  | "unacceptable"
  | "refused"
  | "failed"
  | "ghost"
  | "lost"
  | "unreachable"

/** The platform's reaction to one start. Times in ms. */
export interface PlatformScript {
  /** until the answer */
  readonly delay: number
  readonly outcome: Outcome
  /** how long the platform asks to wait if it limits the key's requests */
  readonly retryAfter: number
  /** how long the session runs, from its beginning, which is half-way to the answer */
  readonly talk: number
  /** when the end is reported, each counted from the end of the session; empty: never */
  readonly webhooks: ReadonlyArray<number>
  /** the ids of the session that the answer names; a webhook may name any */
  readonly names: "both" | "web" | "conversation"
  /** from when on the session's history names both ids, counted from its beginning */
  readonly historyAfter: number
}

/** One caller and all its actions. Times in ms; -1 is never. */
export interface Arrive {
  readonly kind: "arrive"
  readonly at: number
  readonly id: number
  readonly campaign: CampaignName
  /** whose budgets are used */
  readonly address: number
  readonly gate: number
  /** hangs up this long after asking */
  readonly hangUp: number
  /** opens a connection this long after being queued */
  readonly connect: number
  /** starts this long after a start call */
  readonly react: number
  /** starts again, on another gate, this long after the first start */
  readonly twice: number
  /** starts without being called, this long after being queued */
  readonly early: number
  /** disconnects this long after connecting, noticed or not, and returns this long after that */
  readonly vanish: number
  readonly silently: boolean
  readonly comeBack: number
  /** leaves this long after being queued */
  readonly leave: number
  /** queries the ticket's state this often */
  readonly poll: number
  /** its page is hidden, and says so when it is called */
  readonly hidden: boolean
  /** repeats the request with the same ticket, this long after being queued */
  readonly rejoin: number
  /** repeats the request without a ticket when the gate failed */
  readonly retries: number
  /** takes one of the things that are offered, this long after the offer; absent where nothing is offered */
  readonly takes?: number
  /** signed by the host: who calls; absent where callers have no tokens */
  readonly token?: TokenPlan
  /** the platform's answers to this caller's starts; the last one for all further starts */
  readonly platform: readonly [PlatformScript, ...ReadonlyArray<PlatformScript>]
}

export type Action =
  | Arrive
  /** A gate dies: at once, or around its next call to the store or the platform; with `rule`, around its next call of that rule of the store. */
  | {
      readonly kind: "crash"
      readonly at: number
      readonly gate: number
      readonly when: "now" | "before" | "after" | "platform"
      readonly rule?: BudgetRule | LookRule
      readonly downMillis: number
    }
  /** A gate stands still and wakes with stale beliefs: at once, or when it next asks the platform, or has asked the store for a rule. */
  | {
      readonly kind: "freeze"
      readonly at: number
      readonly gate: number
      readonly when: "now" | "platform" | BudgetRule
      readonly millis: number
      /**
       * which clocks of its machine stop with it, as when it is suspended; the wall clock continues if it is set on
       * resuming
       */
      readonly clocks: "none" | "steady" | "both"
    }
  /**
   * A gate's calls to the store fail: not carried out, carried out unheard, or carried out after they failed: soon, or all at once when
   * the path is whole again. In mode `starts` only the starts of called tickets fail, and the reports
   * of such an outage are carried out unheard.
   */
  | {
      readonly kind: "store"
      readonly at: number
      /** -1 is all of them */
      readonly gate: number
      readonly millis: number
      readonly mode: "refused" | "unheard" | "late" | "swallowed" | "mixed" | "starts"
    }
  | {
      readonly kind: "bus"
      readonly at: number
      readonly millis: number
      readonly mode: "lose" | "repeat" | "reorder"
    }
  /** A gate is told to stop, at once or when it next asks the platform: it finishes what it is starting, and goes. */
  | {
      readonly kind: "stop"
      readonly at: number
      readonly gate: number
      readonly when: "now" | "platform"
      readonly downMillis: number
    }
  | { readonly kind: "slots"; readonly at: number; readonly slots: number }
  /** The campaign gets its first hours: one gate after the other starts anew with them. */
  | { readonly kind: "hours"; readonly at: number }
  /** An operator adds to a budget, or takes from it, and repeats it until a gate has answered. */
  | {
      readonly kind: "topUp"
      readonly at: number
      readonly gate: number
      /** the index of the budget in the plan */
      readonly budget: number
      /** whose budget it is, if it is one of callers: the id of an arrival */
      readonly caller: number
      /** in seconds of calls; negative to take from it */
      readonly seconds: number
    }
  /** The campaign goes from the settings of one gate after the other, each of which starts anew, and after `millis` comes back. */
  | { readonly kind: "remove"; readonly at: number; readonly millis: number }

export interface TokenPlan {
  readonly subject: string
  /** how long a call of the subject may last (s); absent for no limit of its own */
  readonly callSeconds?: number
  /** somebody sends it once more, to another gate, this long after the first request (ms); -1 is never */
  readonly replay: number
}

/** A rule of the budgets around whose next call a gate dies, or stands still. */
export type BudgetRule = "budgets.hold" | "budgets.settle" | "budgets.correct" | "budgets.due"

/** A rule that looks for what is due: a gate that is to die after its next call of it dies when it has found something. */
export type LookRule = "budgets.due" | "queue.findUnpaid"

export interface LengthsPlan {
  /** `MaxCallSeconds` of the campaign; absent where only tokens limit calls */
  readonly callSeconds?: number
}

/** What the platform lets the gate do about the length of a call. */
export interface VendorPlan {
  /** `endable`: the gate ends it; `bounded`: the platform ends it at the limit that its start names; `unbounded`: neither */
  readonly control: LengthControl
  /**
   * how an endable one ends a call: `confirmed` at once; `silent`: it does not answer the first time, and ends nothing; `unconfirmed`: it ends the call
   * and says so only the next time
   */
  readonly ends: "confirmed" | "silent" | "unconfirmed"
}

export interface HoursPlan {
  /** as in the settings */
  readonly open: ReadonlyArray<string>
  readonly afterCloseMinutes: 0 | 1 | 2
  /** when the campaign closes, and opens again (ms since the beginning); without an end it stays closed */
  readonly closesAt: number
  readonly opensAt?: number
  /** the gates begin without hours: an action adds them */
  readonly added: boolean
}

/** What the campaigns with callers offer to those who would wait long, or are not taken. */
export interface OverflowPlan {
  readonly afterSeconds: number
  readonly offers: ReadonlyArray<Offer>
}

/** What all campaigns with callers have in common. */
export interface BudgetsPlan {
  readonly budgets: ReadonlyArray<Budget>
  /** time is held in the books of caller and campaign in one step, as on a single Redis; else in one after the other, as on a Cluster */
  readonly oneStep: boolean
  /** so that an hour or a day ends in the course of some histories */
  readonly zone: string
  readonly blockSeconds: number
  readonly leadSeconds: number
  /** how far away the next window may be for which callers wait */
  readonly waitMinutes: number
  readonly roundUp: number
  readonly minimum: number
  /** what the platform reports of a call with its end */
  readonly reports: "nothing" | "length" | "cost"
}

/** What is controlled of the calls of the first campaign. What is absent is off. */
export interface ControlPlan {
  /** events are reported to a host: how well its server takes them until `millis` of the history */
  readonly events?: "well" | "badly"
  readonly hours?: HoursPlan
  readonly lengths?: LengthsPlan
  readonly overflow?: OverflowPlan
  /** absent where the gate cannot end a call */
  readonly vendor?: VendorPlan
  readonly budgets?: BudgetsPlan
  readonly identity?: { readonly singleUse: boolean }
}

/** What two campaigns share, both of which have callers. */
export interface AccountPlan {
  readonly cap: number
  /** together at most `cap` */
  readonly reserved: { readonly [campaign in CampaignName]: number }
}

export interface Plan {
  readonly seed: number
  readonly gates: number
  /** how far (ms) each gate's clock may be off, either way: usually 0, since the store's time is measured */
  readonly skewMillis: number
  /** of the first campaign */
  readonly slots: number
  /** the account of both campaigns; without one, the second has no callers */
  readonly account?: AccountPlan
  /** read from the platform, so it may change */
  readonly slotsFromPlatform: boolean
  readonly maxLength: number
  /** a network's share of slots and scarce places */
  readonly networkShare: number
  readonly graceSeconds: number
  readonly windowSeconds: number
  readonly callMinutes: number
  readonly concurrent: number
  readonly hourly: number
  /** the answer to a query of a session's status */
  readonly status: "truth" | "unknown" | "fails"
  /**
   * how the gates learn that a call is over, where not as the scripts and `status` say: by the page that leaves alone, whose word is taken once
   * its credential has expired, or by nobody, so that only the longest call ends a lease
   */
  readonly signals?: "page" | "none"
  readonly control: ControlPlan
  /** when nobody can reach the platform (ms); both are 0 if it is always reachable */
  readonly outageFrom: number
  readonly outageTo: number
  /** until when spontaneous faults happen (ms) */
  readonly millis: number
  readonly actions: ReadonlyArray<Action>
}

/** Delay before an action's effect, once the gates are up; the store's actions count from the beginning. */
export const ARRIVE_AFTER_MILLIS = 500
