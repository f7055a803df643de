/** The platform's entities, as its services return them. Times are in milliseconds since 1970. Secrets are always redacted. */
import { Effect, type Redacted, Schema } from "effect"
import type { ApiKey } from "./keys/ApiKey.ts"

/** Who says a turn of a conversation. */
export type Role = "agent" | "caller"

export interface User {
  readonly id: string
  /** null for a user who cannot sign in */
  readonly email: string | null
  readonly name: string
  /** limit of concurrent calls of all the user's businesses */
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

/** The target of a campaign's session-ended webhook, as its owner entered it. */
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
  /** how long a session may last from its start, in minutes; then the platform ends it */
  readonly maxCallMinutes: number
  readonly createdAt: number
}

/** An authenticated caller. */
export interface Principal {
  readonly key: ApiKey
  readonly user: User
}

/**
 * The platform refuses a request. `kind` is the reason, `code` is for programs (the reference's code if it has one), `message` for
 * people: it names what is missing, but never reveals whether a key or another user's business exists.
 */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  kind: Schema.Literals(["invalid", "unauthenticated", "forbidden", "not_found", "conflict"]),
  code: Schema.String,
  message: Schema.String,
  /** the fields of the request that are wrong, each with its problem; absent when none is known */
  fields: Schema.optionalKey(Schema.Array(Schema.Struct({ field: Schema.String, message: Schema.String }))),
}) {}

export interface FieldProblem {
  /** its path in the request, such as `scope` */
  readonly field: string
  readonly code: string
  readonly message: string
}

export const refuse = (kind: Refused["kind"], code: string, message: string): Refused =>
  new Refused({ kind, code, message })

/** Refuses a request with all its problems at once; the code is the first one's. Succeeds when there are none. */
export const refuseProblems = (problems: ReadonlyArray<FieldProblem>): Effect.Effect<void, Refused> => {
  const [first] = problems
  if (first === undefined) return Effect.void
  return Effect.fail(
    new Refused({
      kind: "invalid",
      code: first.code,
      message: problems.map(({ message }) => message).join("; "),
      fields: problems.map(({ field, message }) => ({ field, message })),
    }),
  )
}

export class ConcurrencyLimitReached extends Schema.TaggedError<ConcurrencyLimitReached>()("ConcurrencyLimitReached", {
  limit: Schema.Int,
}) {}
