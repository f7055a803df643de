/** What the operations of the queue take. Durations in ms, times in ms since 1970. */

/** A request that has passed the other checks, as it asks for a slot or a place. */
export interface Newcomer {
  readonly id: string
  /** the rate limiter's key; empty for none */
  readonly caller: string
  /** the network whose share of slots and places the ticket counts toward, without spaces; empty for none */
  readonly network: string
  /** the context of the caller's trace, a W3C `traceparent`; absent or empty without a tracer */
  readonly trace?: string
  /** the caller holds a concurrent unit until the ticket ends */
  readonly holds?: boolean
  /** stored with the ticket and returned by its start */
  readonly data: string
  /** JSON: what its events say of the caller (`EventFacts` of `protocol/host-events.ts`); absent while the campaign reports no events */
  readonly about?: string
}

/**
 * Why a start failed (`fifo-queue/rules/fail.ts`). After `capacity`, `limited`, `elsewhere`, `disrupted` and `rejected` the ticket keeps its
 * place and the campaign backs off, for `millis` where given. After `answered` and `doubt` the ticket keeps its place, and after `doubt`
 * the slot stays held. `failed`, `refused` and, with `ends`, `rejected` end the ticket; `refused` gives no quota back. Where the platform
 * refuses everybody, `refused` is like `rejected`. After `unpaid` the ticket keeps its place: a budget has too little now, and callers wait
 * for more; with `until` it is a budget of its caller, which begins anew then, and others are called meanwhile. `code` and `setting` are for operators (`PlatformState`).
 */
export type StartFailure = (
  | { readonly _tag: "capacity" | "answered" | "doubt" | "failed" | "refused" | "rejected" }
  | { readonly _tag: "unpaid"; readonly until?: number }
  | { readonly _tag: "limited" | "elsewhere"; readonly millis: number }
  | { readonly _tag: "disrupted"; readonly millis?: number | undefined }
) & {
  /** the platform's code, or what happened; absent when nothing is known */
  readonly code?: string
  /** the setting to check; absent when there is none */
  readonly setting?: string
  /** the ticket of a `rejected` start, or of a `refused` one that is like it, does not wait: it has failed */
  readonly ends?: true
  /** of `failed`: a budget has no more for the call */
  readonly spent?: true
  /** the key or the account is refused, which no caller can cause */
  readonly ofAccount?: true
}

/**
 * - `webhook`: the platform has reported the end.
 * - `audit`: a gate has asked the platform, which should have reported the end and has not.
 * - `audit_alone`: a gate has asked the platform, which is not set up to report ends.
 */
export type EndReporter = "webhook" | "audit" | "audit_alone"

/** One attempt of a gate to have the end of a session carried out. */
export interface EndAttempt {
  /** unique */
  readonly attempt: string
  /** earlier attempts of the same report, whose answer nobody was told */
  readonly lost: ReadonlyArray<string>
}

/** What a gate has learned by reading the platform. */
export interface Heard {
  /** `answers`: it can be reached, and whether it would start a call is not known */
  readonly state: "ok" | "answers" | "unavailable" | "rejected"
  /** when the read began (ms since 1970) */
  readonly at: number
  readonly code?: string
  readonly setting?: string
}

/** What a gate has learned of the platform, other than by starts, since its last sweep. */
export interface Learned {
  /** what reading the platform has shown */
  readonly heard?: Heard
  /** another call to the platform has failed, so the platform should be read */
  readonly suspect?: true
}

/**
 * What the campaign's hours say now, for a sweep; `none`: the gate has no hours for it, so it is always open there. `since`: when it closed by
 * them, 0 when that is long ago; `servedMillis`: for how long those who wait are served after the close; `openElsewhere`: a gate that cannot say
 * so itself, of version 0.1, takes callers at any time.
 */
export type HoursNow =
  | { readonly _tag: "none" | "open" }
  | { readonly _tag: "closed"; readonly since: number; readonly servedMillis: number; readonly openElsewhere?: true }

/** Which rows of a campaign an operator sees. */
export interface Pages {
  readonly firstSlot: number
  readonly slots: number
  readonly firstPlace: number
  readonly places: number
}

/** What a gate tells with the heartbeat of its tickets that knows the queue up to a change. */
export interface KnownQueue {
  /** the last change that the gate knows */
  readonly since: number
  /** the gate asks for the first places, and after a change for the steps behind them */
  readonly places?: true
  /** also for the steps although nothing may have changed: older gates note no changes */
  readonly steps?: true
  /** tickets whose connections have closed */
  readonly closed?: ReadonlyArray<string>
  /** returns a page of the tickets that the gate holds, from this one on */
  readonly heldFrom?: number
}
