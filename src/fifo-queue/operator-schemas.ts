/**
 * Schemas of the input and the answers of the rules in `rules/operator`, which have their types from here. So has the console's page: this
 * file imports nothing that needs Node.
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
  /**
   * - `already`: the campaign was in that state
   * - `more`: the step reached its bound before it found a ticket to call; repeat the action
   * - `ended`: no session of the slot runs any more
   * - `freed`: the slot is free, but a session may still run at the platform
   * - `ending`: the session is being ended at the platform, and holds its slot until then, for at most `STOP_MILLIS`
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

/** `ticket` is the short hash of the ticket concerned, or `-`. */
export const ActionOutcome = Struct(outcomeFields)
export type ActionOutcome = typeof ActionOutcome.Type

/** The outcome as the rule answers it. `session` contains its caller's credential, so it is given to nobody else. */
export const Performed = Struct({
  ...outcomeFields,
  /** what was bound to the session, JSON, and when its slot is freed at the latest (ms); with the result `ending` */
  session: optionalKey(Struct({ data: Text, deadline: Finite })),
})
export type Performed = typeof Performed.Type

/** A held slot. Times in ms since 1970. */
export const heldSlot = Struct({
  /** a short hash of the ticket, never its id */
  ticket: Text,
  /**
   * `in_doubt`: it is not known whether its session has started; `ending`: an operator has ended its session, and the platform has not
   * confirmed the end
   */
  state: Literals(["called", "starting", "live", "ending", "in_doubt"]),
  lease: Text,
  since: Finite,
  deadline: Finite,
  acceptedAt: Finite,
  /** whether it has ever opened a push channel */
  attached: Flag,
  /** of a running call in which nobody speaks: when it ends unless somebody does */
  silentUntil: optionalKey(Finite),
})

export type HeldSlot = typeof heldSlot.Type

export const waitingTicket = Struct({
  ticket: Text,
  seq: Finite,
  /** what the caller is told; absent in answers of the version before */
  position: optionalKey(Finite),
  acceptedAt: Finite,
  presentUntil: Finite,
})
export type WaitingTicket = typeof waitingTicket.Type

/** What is known of the campaign's platform while it serves nobody (`fifo-queue/rules/shared/platform-state.ts`). Times in ms since 1970. */
export const PlatformTrouble = Literals(["at_capacity", "rate_limited", "unavailable", "rejected", "webhooks_missing"])
export const platformState = Struct({
  state: PlatformTrouble,
  since: Finite,
  startAt: Finite,
  /** the platform's code, or what happened; without spaces */
  code: Text,
  /** the setting to check, or empty */
  setting: Text,
})
export type PlatformState = typeof platformState.Type

/** The account at one moment. */
const accountFigures = Struct({
  /** what its campaigns hold together */
  held: Finite,
  cap: Finite,
  /** what only this campaign may hold */
  reserved: Finite,
  /** how many slots this campaign may still take; others may be reserved for other campaigns, or wanted by older callers */
  free: Finite,
})
export type AccountFigures = typeof accountFigures.Type

/** The figures of a campaign's snapshot, without its pages. */
export const figures = {
  waiting: Finite,
  /** waiting tickets that are not absent */
  present: Finite,
  held: Finite,
  live: Finite,
  averageMillis: Finite,
  /** when the backoff ends (ms); 0 when there is none */
  backoffUntil: Finite,
  /** the platform cannot be reached; one ticket at a time is called as a probe */
  disrupted: Flag,
  /** why the platform serves nobody; absent while it works */
  platform: optionalKey(platformState),
  /** when the next probe may be called (ms); 0 when at once */
  probeUntil: Finite,
  /** slots held for starts in doubt */
  doubts: Finite,
  paused: Flag,
  /** when the pause ends by itself (ms since 1970); absent without such a time */
  pausedUntil: optionalKey(Finite),
  draining: Flag,
  /** tickets accepted since the campaign was created in the store */
  accepted: Finite,
  /** when the oldest waiting ticket was accepted (ms); 0 when nobody waits */
  firstAcceptedAt: Finite,
  /** how many slots the platform has allowed, where nobody knows how many there are; absent before it has refused a start */
  allowed: optionalKey(Finite),
  /** absent without an account */
  account: optionalKey(accountFigures),
} as const

/** A line of the audit log, without what changed. */
export const auditLogFields = { n: Finite, at: Finite, who: Text, action: Text, target: Text, result: Text } as const
