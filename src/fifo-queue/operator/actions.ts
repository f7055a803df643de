/**
 * The actions of an operator on a queue, and their outcomes: the rule `rules/operator/act.ts` performs them. The console's page has its
 * types from here too: this file imports nothing that needs Node.
 *
 * To add one: its input and results here, what it does in that rule, and its words in `src/operator/action-words.ts`, where the types ask
 * for them.
 */
import { Schema } from "effect"

const { Finite, Int, Literal, Literals, optionalKey, String: Text, Struct, Union } = Schema

const whole = Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/** Ms since 1970, in years of four digits. */
const time = Int.check(Schema.isBetween({ minimum: 1, maximum: Date.UTC(9999, 11, 31) }))

/** An action of an operator; `seq`, `lease` and `deadline` are those that the operator saw. */
export const Action = Union([
  Struct({
    type: Literal("pause"),
    until: optionalKey(time.annotate({ description: "When the pause ends by itself (ms since 1970)." })),
  }),
  Struct({ type: Literals(["resume", "drain", "reopen"]) }),
  Struct({ type: Literal("call") }),
  Struct({ type: Literal("remove"), seq: whole }),
  Struct({ type: Literal("end_calls") }),
  Struct({ type: Literal("end"), lease: Text.check(Schema.isPattern(/^\d{1,15}$/)), deadline: whole }),
])
export type Action = typeof Action.Type

const outcomeFields = {
  /**
   * - `already`: the campaign was in that state
   * - `more`: the step reached its bound before it found a ticket to call; repeat the action
   * - `ended`: no session of the slot runs any more
   * - `freed`: the slot is free, but a session may still run at the platform
   * - `ending`: the session is being ended at the platform, and holds its slot until then, for at most `STOP_MILLIS`
   * - `ending_calls`: so many running calls as `ticket` says are being ended at the platform, each as by `ending`
   * - `cannot_end`: the platform cannot be asked to end calls, of which so many run on
   * - `gone`: the ticket or slot has changed since the operator saw it, or the pause would have ended; nothing was done
   */
  result: Literals([
    "done",
    "already",
    "called",
    "no_slot",
    "nobody",
    "more",
    "removed",
    "ended",
    "freed",
    "ending",
    "ending_calls",
    "cannot_end",
    "gone",
  ]).annotate({
    description:
      "What was done. Of an `end`: `ended`, nothing of it runs any more; `freed`, the slot is free, but a session may still run at the platform; `ending`, the platform has not confirmed the end yet: the gate asks again, and the slot is free within a minute at the latest. Of `end_calls`: `ending_calls`, so many calls are being ended; `cannot_end`, the platform cannot be asked to end calls, and so many run on.",
  }),
  ticket: Text,
  pausedUntil: optionalKey(
    Finite.annotate({
      description:
        "When the pause ends by itself (ms since 1970). A gate of a version that knows no end of a pause answers without it, and has paused the campaign without an end.",
    }),
  ),
}

/** `ticket` is the short hash of the ticket concerned, of `end_calls` the number of calls, or `-`. */
export const ActionOutcome = Struct(outcomeFields)
export type ActionOutcome = typeof ActionOutcome.Type

/** The outcome as the rule answers it. `session` contains its caller's credential, so it is given to nobody else. */
export const Performed = Struct({
  ...outcomeFields,
  /** what was bound to the session, JSON, and when its slot is freed at the latest (ms); with the result `ending` */
  session: optionalKey(Struct({ data: Text, deadline: Finite })),
  /** of `end_calls`: how many calls this page concerns, and the next page; absent when this was the last */
  calls: optionalKey(Finite),
  next: optionalKey(Struct({ below: Finite, upTo: Finite })),
})
export type Performed = typeof Performed.Type
