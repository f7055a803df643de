/** What the gate knows of a platform's sessions, whichever platform it is. */
import type { Credential } from "../protocol/credential.ts"

/** A session that the platform started. */
export interface WebSession {
  /** every id that the platform may use for the session later, the web session's first; never empty */
  readonly sessionIds: ReadonlyArray<string>
  /** of the default platform, and of a host's own */
  readonly webSocketUrl?: string | undefined
  /** of any other vendor */
  readonly credential?: Credential | undefined
  /** of a session that begins with its page's offer: how long the page has for it (ms) */
  readonly offerMillis?: number | undefined
}

/** A session that began with its page's offer. */
export interface RelayedSession extends WebSession {
  /** the vendor's SDP answer */
  readonly answer: string
  /** the vendor's own id of the call; absent where its answer has none */
  readonly callId?: string | undefined
}

/**
 * How far the gate can limit the length of a platform's calls. `endable`: it can have the platform end one at any time. `bounded`: a call
 * gets its longest length when it starts, and cannot be ended before. `unbounded`: neither.
 */
export type LengthControl = "endable" | "bounded" | "unbounded"

/** A vendor says that a side of a running call begins to speak, or has stopped. */
export interface Speech {
  readonly side: "caller" | "agent"
  /** false: this side has spoken until now, or just now where the vendor tells no begin and no end */
  readonly speaks: boolean
}

/** Takes what the vendor says of a running call, at the moment when it says it. Returns at once, and never throws. */
export type Hears = (speech: Speech) => void

/** The account's limit of concurrent calls, and how many run now. */
export interface Concurrency {
  /** infinite where the account has none: then the platform's refusals at capacity are the limit */
  readonly limit: number
  readonly inUse: number
  /**
   * The platform has no read of these figures and tells the limit in its answers to starts: `limit` is what this process has learned
   * from them, infinite before the first, and `inUse` is 0.
   */
  readonly fromStarts?: true
}

/** The state of a session according to the platform's history. */
export interface SessionState {
  /** `unknown` when the platform cannot tell, or does not know the session */
  readonly status: "running" | "over" | "unknown"
  /** every id in the answer, in no order; may be empty */
  readonly sessionIds: ReadonlyArray<string>
  /**
   * Whether somebody has opened it; absent where the platform does not tell. Of a session that is over, false also where perhaps nobody has:
   * the platform need not report the end of such a session.
   */
  readonly opened?: boolean | undefined
}

/** Why the platform serves nobody: it gives no usable answer, or refuses what the operator must mend. */
export interface Fault {
  readonly state: "unavailable" | "rejected"
  /** one word: the platform's code, `HTTP_401` without one, or what happened: `timeout`, `unreachable`, … */
  readonly code: string
  /** the setting to check, below the campaign; empty if it is none, such as the account's credit */
  readonly setting: string
}

export interface Finding {
  readonly subject:
    | "platform"
    | "web campaign"
    | "region"
    | "credential"
    | "vendor's settings"
    | "silent calls"
    | "length of calls"
  readonly state: "ok" | "failed" | "not_checked"
  /** one sentence, without the key; for a failure it names the setting */
  readonly detail: string
  /** of a failure that every caller meets */
  readonly fault?: Fault
  /** of a failure that says nothing about starts, such as a key that may not read: the platform has answered */
  readonly answers?: true
}
