/**
 * Signed tokens (JWT) by which a caller says who calls: whether one proves it, and whether it was used already. `layer.ts` is the layer.
 *
 * A token is signed with a secret that a backend of the operator shares with the gate (HS256), or with a private key whose public part a server
 * of the operator publishes (`Identity.JwksUrl`). The algorithm follows from the key, never from the token.
 */
import { Context, type Effect } from "effect"
import type { Identity } from "../protocol/identity.ts"
import type { IdentityRefused, IdentityUnavailable, StoreUnavailable } from "../protocol/refusals.ts"

/** How far the clocks of who signs and who verifies may differ (ms). */
export const CLOCK_TOLERANCE_MILLIS = 30_000
/** The longest lifetime of a token (ms). */
export const MAX_LIFETIME_MILLIS = 86_400_000

/** A token that proves who calls. */
export interface VerifiedToken {
  readonly identity: Identity
  /** the campaigns that it is for; absent for all */
  readonly campaigns?: ReadonlyArray<string>
  /** names the token among those of its subject and issuer; absent where it has no `jti` */
  readonly use?: string
  /** until when it is accepted (ms since 1970) */
  readonly until: number
}

/** The ticket that a token has been used for. */
export interface TokenUse {
  readonly ticket: string
  /** whether this call has used it */
  readonly own: boolean
  /** when it was used, and how long ago (ms) */
  readonly at: number
  readonly ageMillis: number
}

/** What is known of the server of the keys. */
export interface KeysState {
  /** usable keys */
  readonly keys: number
  /** when they were read (ms since 1970); 0 while there are none */
  readonly readAt: number
  /** when they are read next (ms since 1970); 0 before the first read */
  readonly nextAt: number
  /** until when those that are known are used while they cannot be read (ms since 1970) */
  readonly usedUntil: number
  /** why the last read has failed; empty if it has not */
  readonly problem: string
}

export class IdentityTokens extends Context.Service<
  IdentityTokens,
  {
    /** Succeeds with who has been proved to call. Undefined where the settings have no key: then no token is read. */
    readonly verify:
      | ((token: string) => Effect.Effect<VerifiedToken, IdentityRefused | IdentityUnavailable>)
      | undefined
    /** Uses a token for a ticket, once on all instances; a token that was used already tells for which ticket. */
    readonly use: (token: VerifiedToken, ticket: string) => Effect.Effect<TokenUse, IdentityRefused | StoreUnavailable>
    /**
     * Uses a token for another ticket than one that was never admitted, as the caller has found out: its gate has died, or the store has failed. One
     * request gets it; to another this tells for which ticket.
     */
    readonly retake: (
      token: VerifiedToken,
      ticket: string,
      lost: TokenUse,
    ) => Effect.Effect<TokenUse, IdentityRefused | StoreUnavailable>
    /** A token that was used for a ticket which has come to nothing may be used again. Idempotent. */
    readonly unuse: (token: VerifiedToken, use: TokenUse) => Effect.Effect<void, StoreUnavailable>
    /** Undefined without `Identity.JwksUrl`. */
    readonly keys: (() => KeysState) | undefined
  }
>()("voicegate/IdentityTokens") {}
