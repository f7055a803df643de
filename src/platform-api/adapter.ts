/**
 * What a platform's adapter does, one for each campaign. An adapter knows its vendor's requests, answers and webhooks and nothing of the
 * queue. Sending, time limits, the circuit breaker, spans and metrics are common to all (`requests/send.ts`).
 *
 * A member that a vendor cannot support is absent, and the gate works without it: without `status`, an end that was not reported is noticed
 * only when the lease ends; without `list`, a start that may have happened holds its slot for `DOUBT_MILLIS`; without `end`, the gate
 * cannot end a session.
 */

import type { Effect, Schema } from "effect"
import type { StartConfig } from "../protocol/request.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { PlatformError } from "./errors.ts"
import type {
  Concurrency,
  Finding,
  Hears,
  LengthControl,
  RelayedSession,
  SessionState,
  Speech,
  WebSession,
} from "./model.ts"
import type { Call, Endpoint } from "./requests/transport.ts"

/**
 * The longest time for which a credential is valid for connecting, however long the start window is (s). Sessions older than three
 * minutes are looked up at the vendor: by then a credential that nobody has used must have expired.
 */
export const MAX_LIFETIME_SECONDS = 120

/** A webhook as it arrived. */
export interface VendorWebhook {
  /** by their names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly rawBody: string
}

/** What a vendor says of a call that is over: how long it was, in whole seconds, and what it cost in US dollars. */
export interface CallUse {
  readonly seconds?: number
  readonly dollars?: number
}

/** Why a webhook is ignored: it reports something else than an end, or the gate has not started its session. */
export type IgnoredBecause = "other_event" | "other_session"

/** What an authentic webhook reports. */
export type WebhookMeaning =
  /** These sessions are over; each by its ids. */
  | {
      readonly _tag: "ended"
      readonly sessions: ReadonlyArray<ReadonlyArray<string>>
      /** Until then (ms since 1970) the credential may open the session again, so its slot stays held. */
      readonly notBefore?: number
      /** how long the call was and what it cost, as far as the vendor says it; with `meeting`, only of this meeting */
      readonly used?: CallUse
      /** names the meeting, where the caller may leave a session and open it again */
      readonly meeting?: string
    }
  /** This session has begun, perhaps again after its end; its ids, and its `meeting`. */
  | { readonly _tag: "began"; readonly session: ReadonlyArray<string>; readonly meeting?: string }
  /** Somebody begins to speak in this running session, or has stopped; its ids. */
  | { readonly _tag: "spoke"; readonly session: ReadonlyArray<string>; readonly speech: Speech }
  /** Something else, or about a session that the gate did not start. */
  | { readonly _tag: "ignored"; readonly because: IgnoredBecause }
  /** It does not have the vendor's documented shape. */
  | { readonly _tag: "malformed" }

/** How the webhooks of a vendor are authenticated: `<vendor>/webhooks.ts`. */
export interface Authentication {
  /**
   * Why a webhook is refused whatever its body is, naming the header: its body is then not read. Undefined if the body is needed. Without
   * this function, every body is read.
   */
  readonly refuses?: (headers: VendorWebhook["headers"], now: number) => string | undefined
  /** Campaigns of a platform with the same text authenticate in the same way, so each text is checked once. Contains the key. */
  readonly proof?: string
  /** Returns why a webhook is refused, naming the setting to check; undefined if it is authentic. `now` is in ms since 1970. */
  readonly verify: (webhook: VendorWebhook, now: number) => string | undefined
}

/** How an adapter authenticates and reads its vendor's webhooks. */
export interface Webhooks extends Authentication {
  /** Reads the parsed body of an authentic webhook. */
  readonly ended: (body: unknown) => WebhookMeaning
}

export interface Adapter {
  /** Starts a session and returns its credential. Never repeated. `group` is the caller's, for the circuit breaker. */
  readonly mint: (config: StartConfig, group: string) => Effect.Effect<WebSession, PlatformError>
  /**
   * Begins the session of an `sdp-relay` credential with the page's SDP offer. Its sessions are minted with `offerMillis` and the id of
   * their token (`shared/offer-token.ts`). Never repeated.
   */
  readonly relay?: (config: StartConfig, offer: string, group: string) => Effect.Effect<RelayedSession, PlatformError>
  /**
   * Watches a running session: true when it is over, false when it cannot be watched. Interrupted when the
   * gate stops; then another gate's audit watches it. `hears` is told who speaks, where the vendor says so meanwhile.
   */
  readonly watch?: (sessionId: string, hears?: Hears) => Effect.Effect<boolean, PlatformError>
  readonly webhooks?: Webhooks
  /** How many calls the account may have, and how many run. */
  readonly capacity?: Effect.Effect<Concurrency, PlatformError>
  /** Whether a session still runs. */
  readonly status?: (sessionId: string) => Effect.Effect<SessionState, PlatformError>
  /**
   * The ids of each session that began after `since` (ms since 1970) under this name: the client identifier on the default
   * platform, the `correlationId` at a vendor. Undefined when there is no usable list, or it is too long to be read back to
   * `since`.
   */
  readonly list?: (
    name: string,
    since: number,
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError>
  /** The vendor itself ends a call at the maximum length, so the gate does not. */
  readonly limitsCalls?: true
  /** Where the vendor's limit of a call cannot be shorter (s): a shorter one is sent as this. */
  readonly shortestCallSeconds?: number
  /** How long a start may take (ms), where the vendor is slower than `START_TIMEOUT_MILLIS` allows; at most `LONGEST_START_MILLIS`. */
  readonly startMillis?: number
  /**
   * Ends a session. True if it is over and its credential opens no other; false if the vendor does not say so yet; `unsupported` if this
   * vendor's version cannot be asked. Idempotent.
   */
  readonly end?: (session: WebSession) => Effect.Effect<boolean | "unsupported", PlatformError>
  /**
   * From when on (ms since 1970) the page's report that a session is over is trusted, for a vendor that cannot be asked: usually when
   * the session's credential opens nothing more. Absent if the report is never trusted.
   */
  readonly pageEnds?: (session: WebSession) => number
  /** Checks the campaign's settings with harmless reads, and names what bounds the credential. */
  readonly check: Effect.Effect<ReadonlyArray<Finding>>
}

export const lengthControlOf = ({ end, limitsCalls }: Pick<Adapter, "end" | "limitsCalls">): LengthControl => {
  if (end !== undefined) return "endable"
  return limitsCalls === true ? "bounded" : "unbounded"
}

/** Sends a call through the circuit breaker of the endpoint and decodes its answer. A start is sent once, a read at most twice. */
export type Send = <A>(
  endpoint: Endpoint,
  data: Schema.Decoder<A>,
  call: Call,
  group?: string,
) => Effect.Effect<A, PlatformError>

export interface AdapterContext {
  readonly campaign: Campaign
  readonly send: Send
  /** how long a credential may be valid for connecting, in seconds */
  readonly lifetimeSeconds: number
  /** the maximum length of a call (s) */
  readonly longestCallSeconds: number
}
