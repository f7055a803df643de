/**
 * Schemas of the input and the answers of the rules in `rules/operator`. The console's page derives its types from this file, so it
 * imports nothing that needs Node. `answers.ts` and `operator.ts` check that they match the rules.
 */
import { Schema } from "effect"

const { Boolean: Flag, Finite, Int, Literal, Literals, optionalKey, String: Text, Struct, Union } = Schema

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
  Struct({ type: Literal("end"), lease: Text.check(Schema.isPattern(/^\d{1,15}$/)), deadline: whole }),
])
export type Action = typeof Action.Type

const outcomeFields = {
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
    "gone",
  ]).annotate({
    description:
      "What was done. Of an `end`: `ended`, nothing of it runs any more; `freed`, the slot is free, but a session may still run at the platform; `ending`, the platform has not confirmed the end yet: the gate asks again, and the slot is free within a minute at the latest.",
  }),
  ticket: Text,
  pausedUntil: optionalKey(
    Finite.annotate({
      description:
        "When the pause ends by itself (ms since 1970). A gate of a version that knows no end of a pause answers without it, and has paused the campaign without an end.",
    }),
  ),
}

/** The outcome of an action; `ticket` is the short hash of the ticket concerned, or `-`. */
export const ActionOutcome = Struct(outcomeFields)
export type ActionOutcome = typeof ActionOutcome.Type

/** The outcome as the rule answers it. `session` contains its caller's credential, so it is given to nobody else. */
export const Performed = Struct({
  ...outcomeFields,
  session: optionalKey(Struct({ data: Text, deadline: Finite })),
})

/** A held slot. Times in ms since 1970. */
export const heldSlot = Struct({
  ticket: Text,
  state: Literals(["called", "starting", "live", "ending", "in_doubt"]),
  lease: Text,
  since: Finite,
  deadline: Finite,
  acceptedAt: Finite,
  attached: Flag,
  /** of a running call in which nobody speaks: when it ends unless somebody does */
  silentUntil: optionalKey(Finite),
})

export const waitingTicket = Struct({ ticket: Text, seq: Finite, acceptedAt: Finite, presentUntil: Finite })

/** What is known of the campaign's platform while it serves nobody (`fifo-queue/rules/shared/platform-state.ts`). Times in ms since 1970. */
export const PlatformTrouble = Literals(["at_capacity", "rate_limited", "unavailable", "rejected", "webhooks_missing"])
export const platformState = Struct({
  state: PlatformTrouble,
  since: Finite,
  startAt: Finite,
  code: Text,
  setting: Text,
})

/** The figures of a campaign's snapshot, without its pages. */
export const figures = {
  waiting: Finite,
  present: Finite,
  held: Finite,
  live: Finite,
  averageMillis: Finite,
  backoffUntil: Finite,
  disrupted: Flag,
  /** why the platform serves nobody; absent while it works */
  platform: optionalKey(platformState),
  probeUntil: Finite,
  doubts: Finite,
  paused: Flag,
  /** when the pause ends by itself (ms since 1970); absent without such a time */
  pausedUntil: optionalKey(Finite),
  draining: Flag,
  accepted: Finite,
  firstAcceptedAt: Finite,
  /** how many slots the platform has allowed, where nobody knows how many there are; absent before it has refused a start */
  allowed: optionalKey(Finite),
  /**
   * `held`: the slots that the campaigns of its account hold together; `cap`: how many they may hold; `reserved`: how many only this
   * campaign may hold; `free`: how many it may still take. Absent without an account
   */
  account: optionalKey(Struct({ held: Finite, cap: Finite, reserved: Finite, free: Finite })),
} as const

/** A line of the audit log, without what changed. */
export const auditFields = { n: Finite, at: Finite, who: Text, action: Text, target: Text, result: Text } as const
