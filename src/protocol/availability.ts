/** Whether a caller who came now would be served, and when: what a page may show before its visitor asks for a session. */
import { Schema } from "effect"
import { offersField } from "./offers.ts"

const OpensAt = Schema.optionalKey(
  Schema.String.annotate({ description: "When the campaign opens, ISO 8601; absent when that is not within a year." }),
)

export const Availability = Schema.Union([
  Schema.Struct({
    state: Schema.Literal("open").annotate({ description: "Newcomers are served, or queue." }),
    estimatedWaitSeconds: Schema.NullOr(Schema.Int).annotate({
      description: "How long a newcomer would wait: 0 while a slot is free, null while that is not known.",
    }),
  }),
  Schema.Struct({
    state: Schema.Literal("paused").annotate({ description: "Newcomers queue, and nobody is called." }),
    pausedUntil: Schema.optionalKey(
      Schema.String.annotate({
        description:
          "When the pause ends by itself, ISO 8601, or a budget for which callers wait has more again at the latest; absent where the operator has not said so.",
      }),
    ),
  }),
  Schema.Struct({
    state: Schema.Literal("full").annotate({ description: "The queue takes nobody." }),
    offers: offersField,
  }),
  Schema.Struct({
    state: Schema.Literal("draining").annotate({ description: "An operator lets nobody in for now." }),
    offers: offersField,
  }),
  Schema.Struct({
    state: Schema.Literal("budget_exhausted").annotate({
      description: "Newcomers are refused, because a budget of the campaign or its account is used up.",
    }),
    resetsAt: Schema.String.annotate({
      description: "When it begins anew, ISO 8601; an operator may add to it before.",
    }),
    offers: offersField,
  }),
  Schema.Struct({
    state: Schema.Literal("closed").annotate({
      description: "Closed by its hours, or before a newcomer's turn would come.",
    }),
    opensAt: OpensAt,
    offers: offersField,
  }),
])
export type Availability = typeof Availability.Type
