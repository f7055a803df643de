/** What the platform knows, as its services hand it out. Times in milliseconds since 1970; no secret is in any of it in the clear. */
import { type Redacted, Schema } from "effect"

export interface User {
  readonly id: string
  /** null for a user who cannot sign in */
  readonly email: string | null
  readonly name: string
  /** how many calls of all the user's businesses may run at once */
  readonly callConcurrency: number
  readonly disabled: boolean
  readonly createdAt: number
}

export interface Business {
  readonly id: string
  readonly userId: string
  readonly name: string
  readonly disabled: boolean
  readonly createdAt: number
}

/** Where a campaign's session-ended is sent, as its owner typed it. */
export interface WebhookTarget {
  /** http or https */
  readonly url: string
  /** custom headers such as `X-Api-Token` */
  readonly headers: Readonly<Record<string, Redacted.Redacted<string>>>
  /** Standard Webhooks secret, `whsec_` and base64; unsigned without it */
  readonly signingSecret?: Redacted.Redacted<string>
}

export interface WebCampaign {
  readonly id: string
  readonly businessId: string
  readonly name: string
  readonly sessionEnded?: WebhookTarget
  /** how long a session may last from its start, in minutes; then it ends by itself */
  readonly maxCallMinutes: number
  readonly createdAt: number
}

/** All businesses of the creating user, or the listed ones. Restricted to none is not the same as unrestricted. */
export type KeyScope =
  | { readonly type: "Unrestricted" }
  | { readonly type: "Restricted"; readonly businessIds: ReadonlyArray<string> }

/**
 * What a key is for: `start` sessions and calls (and read what whoever starts them needs), `read` everything, `manage`
 * (change and delete) what there is. None includes another.
 */
export const PERMISSIONS = ["start", "read", "manage"] as const
export type Permission = (typeof PERMISSIONS)[number]

/** A key as it is shown: without its secret. */
export interface ApiKey {
  readonly id: string
  readonly userId: string
  readonly name: string
  /** prefix and last four characters of the secret */
  readonly display: string
  readonly scope: KeyScope
  /** at least one, in the order of `PERMISSIONS` */
  readonly permissions: ReadonlyArray<Permission>
  /** whether everything at and below `/user` is open to the key */
  readonly userManagement: boolean
  readonly createdAt: number
  readonly expiresAt: number | null
  /** to the minute */
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
}

/** A caller who proved a key. */
export interface Principal {
  readonly key: ApiKey
  readonly user: User
}

/**
 * The platform says no. `kind` is why, `code` for programs (those of the reference where it has one), `message` for people:
 * what is missing, but never whether a key or somebody else's business exists.
 */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  kind: Schema.Literals(["invalid", "unauthenticated", "forbidden", "not_found", "conflict"]),
  code: Schema.String,
  message: Schema.String,
}) {}

export const refuse = (kind: Refused["kind"], code: string, message: string): Refused =>
  new Refused({ kind, code, message })

/** As many calls of the user run as its concurrency allows. */
export class ConcurrencyLimitReached extends Schema.TaggedError<ConcurrencyLimitReached>()("ConcurrencyLimitReached", {
  limit: Schema.Int,
}) {}
