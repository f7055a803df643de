/** Spans of the gatekeeper, in which an answer to a caller is no error, although it is in the error channel. */
import { Effect } from "effect"
import * as Spans from "../lib/spans.ts"
import type { RequestRefusal } from "../protocol/refusals.ts"
import type { Queued } from "../protocol/session-answers.ts"
import type { CredentialRefused, NotYourTurn, TicketOver, TicketUnknown } from "../protocol/ticket.ts"

type Failure = RequestRefusal | Queued | CredentialRefused | NotYourTurn | TicketOver | TicketUnknown

/** Whether each failure is an answer to its caller. */
const IS_ANSWER: { readonly [Tag in Failure["_tag"]]: boolean } = {
  InvalidRequest: true,
  IdentityRequired: true,
  IdentityRefused: true,
  IdentityUnavailable: false,
  Blocked: true,
  RateLimited: true,
  BudgetExhausted: true,
  QueueFull: true,
  Closed: true,
  Draining: true,
  PlatformUnavailable: false,
  StoreUnavailable: false,
  Queued: true,
  NotYourTurn: true,
  TicketUnknown: true,
  TicketOver: true,
  CredentialRefused: true,
}

const answers: ReadonlySet<string> = new Set(Object.entries(IS_ANSWER).flatMap(([tag, is]) => (is ? [tag] : [])))

/** As `inSpan` of `lib/spans.ts`. */
export const inSpan = <A>(name: string, options: Spans.SpanOptions<A> = {}) =>
  Spans.inSpan<A>(name, { ...options, answers })

/** As `tracing` of `lib/spans.ts`. */
export const tracing: Effect.Effect<Spans.Traced> = Effect.map(
  Spans.tracing,
  (traced): Spans.Traced =>
    (name, call, options) =>
      traced(name, call, (...args) => ({ ...options?.(...args), answers })),
)
