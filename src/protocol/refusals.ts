/**
 * The refusals of a session request: the error of each, its message for the caller, and its name in the metrics. `http/answers/failures.ts`
 * maps them to statuses and codes. To add one, declare it here and map it there.
 */
import { Schema, Struct } from "effect"
import { blockedMessages } from "./block-reasons.ts"
import { type Offer, offersField, withOffers } from "./offers.ts"

/**
 * Builds an expected error without a stack trace: capturing one costs more than the rest of a refusal. Only for errors that are
 * created on the path of every request.
 */
export const stackless = <A>(make: () => A): A => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = limit
  }
}

/** One invalid field of a request, and what was expected. */
export const FieldIssue = Schema.Struct({
  field: Schema.String.annotate({ description: "The path of the field, with dots." }),
  message: Schema.String.annotate({ description: "What was expected." }),
})
export type FieldIssue = typeof FieldIssue.Type

/** The request is invalid; `issues` names every invalid field and what was expected. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  code: Schema.Literals(["invalid_request", "unknown_campaign", "region_not_allowed"]),
  message: Schema.String,
  issues: Schema.Array(FieldIssue),
}) {}

/** Why a token is refused, and what its caller reads. */
export const identityMessages = {
  malformed: "The token cannot be read, or says something that it must not.",
  signature: "The signature of the token is wrong.",
  algorithm: "The token is signed in another way than its key is for.",
  unknown_key: "The key that has signed the token is not known.",
  expired: "The token has expired.",
  not_yet_valid: "The token is not valid yet.",
  issuer: "The token is of another issuer.",
  audience: "The token is for another service.",
  campaign: "The token is for another campaign.",
  replayed: "The token has been used already.",
}
export type IdentityReason = keyof typeof identityMessages

/** The request has no token and needs one. */
export class IdentityRequired extends Schema.TaggedError<IdentityRequired>()("IdentityRequired", {
  message: Schema.String,
}) {}

export const identityRequired = (): IdentityRequired =>
  stackless(() => new IdentityRequired({ message: "Sign in to call." }))

/** The token does not prove who calls. */
export class IdentityRefused extends Schema.TaggedError<IdentityRefused>()("IdentityRefused", {
  reason: Schema.Literals(Struct.keys(identityMessages)).annotate({ description: "Why the token is refused." }),
  message: Schema.String,
}) {}

export const identityRefused = (reason: IdentityReason): IdentityRefused =>
  stackless(() => new IdentityRefused({ reason, message: identityMessages[reason] }))

/** No key is known by which the token could be checked, because the server of the keys does not answer. */
export class IdentityUnavailable extends Schema.TaggedError<IdentityUnavailable>()("IdentityUnavailable", {
  retryAfterSeconds: Schema.Int,
  message: Schema.String,
}) {}

export const identityUnavailable = (retryAfterSeconds: number): IdentityUnavailable =>
  stackless(
    () => new IdentityUnavailable({ retryAfterSeconds, message: "Who calls cannot be checked right now. Try again." }),
  )

/** The address is blocked: `reason` is the deciding fact, `ip_check_failed` with `IpIntel.OnError: block`, or `operator`. */
export class Blocked extends Schema.TaggedError<Blocked>()("Blocked", {
  reason: Schema.Literals(Struct.keys(blockedMessages)).annotate({ description: "Why the address is blocked." }),
  message: Schema.String,
}) {}

export const blocked = (reason: Blocked["reason"]): Blocked =>
  stackless(() => new Blocked({ reason, message: blockedMessages[reason] }))

/** One rate limit of a caller, for the RateLimit headers. Times in seconds. */
export const LimitState = Schema.Struct({
  name: Schema.Literals(["hour", "day", "concurrent"]),
  quota: Schema.Int,
  windowSeconds: Schema.Int,
  remaining: Schema.Int,
  resetSeconds: Schema.Int,
})
export type LimitState = typeof LimitState.Type

/** A rate limit of the caller is exhausted; it has reset when `retryAfterSeconds` have passed. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  limit: Schema.Literals(["hour", "day", "concurrent"]).annotate({ description: "The limit that is exhausted." }),
  retryAfterSeconds: Schema.Int,
  limits: Schema.Array(LimitState),
  message: Schema.String,
}) {}

const rateLimitedMessage = (limit: LimitState["name"]): string =>
  limit === "concurrent"
    ? "You've reached the limit of simultaneous calls, including those waiting."
    : `You've reached your call limit for this ${limit}.`

export const rateLimited = (
  limit: LimitState["name"],
  retryAfterSeconds: number,
  limits: ReadonlyArray<LimitState>,
): RateLimited =>
  stackless(() => new RateLimited({ limit, retryAfterSeconds, limits, message: rateLimitedMessage(limit) }))

/** A budget is used up: the caller's own, or one that he shares with others, of whose amounts he is told nothing. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  /** its name in the settings */
  budget: Schema.String,
  /** whether it is the caller's own */
  own: Schema.Boolean,
  /** when its next window begins (ms since 1970) */
  resetsAt: Schema.Finite,
  retryAfterSeconds: Schema.Int,
  message: Schema.String,
  offers: offersField,
}) {}

/** @param now ms since 1970 */
export const budgetExhausted = (budget: string, own: boolean, resetsAt: number, now: number): BudgetExhausted =>
  stackless(
    () =>
      new BudgetExhausted({
        budget,
        own,
        resetsAt,
        retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - now) / 1000)),
        message: own
          ? "You've used up your call time for now."
          : "The call time that is planned for now is used up. Try again later.",
      }),
  )

/** The same refusal, with what the campaign offers instead. */
export const withOffersInstead = (
  { budget, message, own, resetsAt, retryAfterSeconds }: BudgetExhausted,
  offers: ReadonlyArray<Offer> | undefined,
): BudgetExhausted =>
  stackless(() => new BudgetExhausted({ budget, message, own, resetsAt, retryAfterSeconds, ...withOffers(offers) }))

/** `Queue.MaxLength` tickets wait already. Nothing was kept, and the quota was given back. */
export class QueueFull extends Schema.TaggedError<QueueFull>()("QueueFull", {
  retryAfterSeconds: Schema.Int,
  message: Schema.String,
  offers: offersField,
}) {}

/** Suggests a retry after half the average time between ending calls, between ten seconds and five minutes. */
export const queueFull = (averageMillis: number, slots: number, offers?: ReadonlyArray<Offer>): QueueFull =>
  stackless(
    () =>
      new QueueFull({
        retryAfterSeconds: Math.min(300, Math.max(10, Math.ceil(averageMillis / 2000 / Math.max(1, slots)))),
        message: "The queue is full. Try again later.",
        ...withOffers(offers),
      }),
  )

/**
 * The campaign is closed by its hours, or would be before the caller's turn. Nothing was kept and nothing was asked of others. It opens
 * at `opensAt` (ISO 8601), absent when it does not open within a year.
 */
export class Closed extends Schema.TaggedError<Closed>()("Closed", {
  opensAt: Schema.optionalKey(Schema.String),
  retryAfterSeconds: Schema.Int,
  message: Schema.String,
  offers: offersField,
}) {}

export const closed = (fields: Pick<Closed, "opensAt" | "retryAfterSeconds" | "message" | "offers">): Closed =>
  stackless(() => new Closed(fields))

/**
 * An operator admits no new requests for now, or this instance is shutting down. Nothing was kept, the quota was given back, and
 * a called ticket stays called.
 */
export class Draining extends Schema.TaggedError<Draining>()("Draining", {
  retryAfterSeconds: Schema.Int,
  message: Schema.String,
}) {}

/** An operator drains the campaign and decides when draining ends, so the retry delay is a guess. */
export const draining = (): Draining =>
  stackless(
    () => new Draining({ retryAfterSeconds: 60, message: "We're not taking new calls right now. Try again later." }),
  )

/** This instance shuts down; the retry delay is short, because another instance may answer at once. */
export const shuttingDown = (): Draining =>
  stackless(() => new Draining({ retryAfterSeconds: 1, message: "This server is shutting down. Try again." }))

/** The platform did not start the session. The slot was given back, and the quota unless the kind is `refused`. */
export class PlatformUnavailable extends Schema.TaggedError<PlatformUnavailable>()("PlatformUnavailable", {
  /**
   * `refused`: the platform does not accept the content of the request; `rejected`: it refused the gate's key or campaign;
   * `unavailable`: it gave no usable answer
   */
  kind: Schema.Literals(["refused", "rejected", "unavailable"]),
  retryAfterSeconds: Schema.Int,
  message: Schema.String,
}) {}

type OfKind<Kind extends PlatformUnavailable["kind"]> = PlatformUnavailable & { readonly kind: Kind }

/** Why the start of a called ticket has failed: while the platform refuses the gate's key or campaign, such a ticket waits. */
export type StartFailed = OfKind<"refused" | "unavailable">

export const platformUnavailable = <const Kind extends PlatformUnavailable["kind"]>(
  kind: Kind,
  message: string,
  retryAfterSeconds = 5,
): OfKind<Kind> =>
  // assigned for the type: the class does not say which kind it is
  Object.assign(
    stackless(() => new PlatformUnavailable({ kind, message, retryAfterSeconds })),
    { kind },
  )

/** An operator must mend something, which takes longer than a usual outage. */
export const platformRejected = (): OfKind<"rejected"> =>
  platformUnavailable("rejected", "The voice agent is unavailable because of a configuration problem.", 60)

/** The shared store cannot be reached. What it may have done for the request is undone once it can be reached again. */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
  /** true if the store was never called, so that nothing needs to be undone */
  unasked: Schema.optionalKey(Schema.Boolean),
  /** true if the store was called too late and did nothing; the same call may succeed now */
  expired: Schema.optionalKey(Schema.Boolean),
  /** set if the store answered with an error that every instance would get: its error code, such as `OOM` */
  refusal: Schema.optionalKey(Schema.String),
}) {}

/** Every refusal of a session request. */
export type RequestRefusal =
  | InvalidRequest
  | IdentityRequired
  | IdentityRefused
  | IdentityUnavailable
  | Blocked
  | RateLimited
  | BudgetExhausted
  | QueueFull
  | Closed
  | Draining
  | PlatformUnavailable
  | StoreUnavailable

/** The outcome under which metrics and the charts of the console count each refusal; of the platform's, the code of the answer. */
const refusalOutcomes = {
  InvalidRequest: "invalid",
  IdentityRequired: "identity_required",
  IdentityRefused: "identity_refused",
  IdentityUnavailable: "identity_unavailable",
  Blocked: "blocked",
  RateLimited: "rate_limited",
  BudgetExhausted: "budget_exhausted",
  QueueFull: "queue_full",
  Closed: "closed",
  Draining: "draining",
  PlatformUnavailable: "platform_unavailable",
  StoreUnavailable: "store_unavailable",
} as const satisfies Readonly<Record<RequestRefusal["_tag"], string>>

const platformOutcomes = {
  refused: "request_refused",
  rejected: "platform_rejected",
  unavailable: "platform_unavailable",
} as const satisfies Readonly<Record<PlatformUnavailable["kind"], string>>

export const allRefusalOutcomes = { ...refusalOutcomes, ...platformOutcomes } as const
export type RefusalOutcome = (typeof allRefusalOutcomes)[keyof typeof allRefusalOutcomes]

export function outcomeOf(refusal: Exclude<RequestRefusal, Blocked>): Exclude<RefusalOutcome, "blocked">
export function outcomeOf(refusal: RequestRefusal): RefusalOutcome
export function outcomeOf(refusal: RequestRefusal): RefusalOutcome {
  return refusal._tag === "PlatformUnavailable" ? platformOutcomes[refusal.kind] : refusalOutcomes[refusal._tag]
}
