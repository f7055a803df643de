/** Schemas of what the rules of the queue answer, as decoded from Redis. */
import { Schema } from "effect"
import type { TakenAndAdmitted } from "../admission/rules/take-and-admit.ts"
import { END_STATES, TicketState } from "../protocol/Session.ts"
import type { Usage } from "../rate-limiter/rules/take.ts"
import { auditFields, figures, heldSlot, Performed, platformState, waitingTicket } from "./operator-schemas.ts"
import type { Admitted } from "./rules/admit.ts"
import type { TicketSnapshot } from "./rules/attach.ts"
import type { Cleared } from "./rules/clear.ts"
import type { Failed } from "./rules/fail.ts"
import type { Heartbeat } from "./rules/heartbeat.ts"
import type { Offered } from "./rules/offer.ts"
import type { Performed as RulePerformed } from "./rules/operator/actions.ts"
import type { AuditLine } from "./rules/operator/audit-log.ts"
import type { CampaignSnapshot } from "./rules/operator/snapshot.ts"
import type { Settlement, Signal, StepAnswer } from "./rules/shared/step.ts"
import type { Silence } from "./rules/silence.ts"
import type { Start } from "./rules/start.ts"
import type { Swept } from "./rules/sweep.ts"

const { Array: List, Boolean: Flag, Finite, Literal, Literals, String: Text, Struct, Union, optionalKey } = Schema

const endState = Literals(END_STATES)

export const signal: Schema.Codec<Signal> = Struct({
  ticket: Text,
  kind: Union([
    Struct({ _tag: Literal("called"), startBefore: Finite, lease: Text }),
    Struct({ _tag: Literal("ended"), state: endState }),
  ]),
  trace: optionalKey(Text),
})

const settlement: Schema.Codec<Settlement> = Struct({
  kind: Literals(["refund", "release", "missed"]),
  ticket: Text,
  caller: Text,
})

/** The answer of a step, with its signals and settlements. */
export const stepAnswer = <A>(result: Schema.Codec<A>): Schema.Codec<StepAnswer<A>> =>
  Struct({
    result,
    signals: optionalKey(List(signal)),
    elsewhere: optionalKey(List(signal)),
    settlements: optionalKey(List(settlement)),
    wanting: optionalKey(List(Text)),
  })

/** Why nobody is called, and how many slots an account leaves to the campaign. */
const hindrances = {
  paused: optionalKey(Literal(true)),
  pausedUntil: optionalKey(Finite),
  slots: optionalKey(Finite),
}
const waiting = Struct({
  _tag: Literal("waiting"),
  position: Finite,
  length: Finite,
  averageMillis: Finite,
  disrupted: Flag,
  ...hindrances,
})
const live = Struct({ _tag: Literal("live"), data: Text, silentUntil: optionalKey(Finite) })
const ended = Struct({ _tag: Literal("ended"), state: endState })
const unknown = Struct({ _tag: Literal("unknown") })

const lastPlace = Struct({
  _tag: Literal("waiting"),
  position: Finite,
  length: optionalKey(Finite),
  averageMillis: optionalKey(Finite),
  disrupted: optionalKey(Literal(true)),
  ...hindrances,
})
const starting = Struct({ _tag: Literal("starting"), lease: Text })
const full = Struct({ _tag: Literal("full"), length: Finite, averageMillis: Finite })
const rejected = Struct({ _tag: Literal("rejected") })
const draining = Struct({ _tag: Literal("draining") })

export const admitted: Schema.Codec<Admitted> = Union([starting, lastPlace, full, rejected, draining])

export const started: Schema.Codec<Start> = Union([
  Struct({ _tag: Literal("starting"), lease: Text, data: Text, calledAt: Finite, acceptedAt: Finite }),
  waiting,
  Struct({ _tag: Literal("busy") }),
  live,
  ended,
  unknown,
])

export const offered: Schema.Codec<Offered> = Union([
  Struct({ _tag: Literal("starting"), lease: Text }),
  Struct({ _tag: Literal("used") }),
  Struct({ _tag: Literal("foreign") }),
  ended,
  unknown,
])

export const failed: Schema.Codec<Failed> = Union([
  waiting,
  Struct({ _tag: Literal("failed") }),
  Struct({ _tag: Literal("stale") }),
])

export const standing: Schema.Codec<TicketSnapshot> = Union([
  waiting,
  Struct({ _tag: Literal("called"), startBefore: Finite, lease: Text }),
  Struct({ _tag: Literal("starting") }),
  live,
  ended,
  unknown,
])

export const heartbeat: Schema.Codec<Heartbeat> = Struct({
  length: Finite,
  averageMillis: Finite,
  disrupted: Flag,
  ...hindrances,
  tickets: optionalKey(
    List(
      Struct({
        state: optionalKey(Union([TicketState, Literal("doubt")])),
        position: optionalKey(Finite),
        startBefore: optionalKey(Finite),
        lease: optionalKey(Text),
      }),
    ),
  ),
})

export const swept: Schema.Codec<Swept> = Struct({
  platform: optionalKey(platformState),
  watch: optionalKey(Literal(true)),
  more: Flag,
  waiting: Finite,
  leases: Finite,
  live: Finite,
  doubts: Finite,
  averageMillis: Finite,
  owed: optionalKey(List(settlement)),
  disrupted: Flag,
  quarantined: Finite,
  allowed: optionalKey(Finite),
  junk: optionalKey(Struct({ at: Finite, key: Text, id: Text })),
})

export const cleared: Schema.Codec<Cleared> = Union([
  Struct({ _tag: Literal("served") }),
  Struct({
    _tag: Literal("cleared"),
    more: Flag,
    sent: Finite,
    left: Flag,
    waiting: Finite,
    leases: Finite,
    live: Finite,
    owed: optionalKey(List(settlement)),
  }),
])

export const repaired = Struct({ cursor: Text, repaired: Finite })

export const doubts = Struct({
  doubts: optionalKey(List(Struct({ id: Text, ticket: Text, since: Finite, data: Text }))),
})

export const dueEnds = Struct({ sessions: optionalKey(List(Text)) })

export const speech = Literals(["live", "unknown"])

export const silence: Schema.Codec<Silence> = Union([
  Struct({ _tag: Literal("silent"), endsAt: Finite }),
  Struct({ _tag: Literal("speech") }),
  ended,
  unknown,
])

export const audited = Struct({ sessions: optionalKey(List(Text)) })

export const usage: Schema.Codec<Usage> = Struct({
  hour: Finite,
  hourReset: Finite,
  day: Finite,
  dayReset: Finite,
  open: Finite,
  openReset: Finite,
})

const noted = {
  near: optionalKey(Struct({ hour: Flag, day: Flag })),
  shadow: optionalKey(Literals(["hour", "day", "concurrent"])),
}

export const takenAndAdmitted: Schema.Codec<TakenAndAdmitted> = Union([
  Struct({ ...starting.fields, ...noted }),
  Struct({ ...lastPlace.fields, ...noted }),
  Struct({ ...full.fields, ...noted }),
  Struct({ ...rejected.fields, ...noted }),
  Struct({ ...draining.fields, ...noted }),
  Struct({ _tag: Literal("refused"), usage }),
])

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)

const isObject = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null

/**
 * Whether an answer is a place in the queue and nothing else: what nearly every admission of a busy gate returns. The
 * schema checks the same at twenty times the cost (2 µs of about 60 per request).
 */
export const isPlainPlace = (answer: unknown): answer is StepAnswer<TakenAndAdmitted> => {
  if (!isObject(answer)) return false
  if ("signals" in answer || "elsewhere" in answer || "settlements" in answer || "wanting" in answer) return false
  const { result } = answer
  return (
    isObject(result) &&
    result._tag === "waiting" &&
    result.near === undefined &&
    result.shadow === undefined &&
    isNumber(result.position) &&
    (result.length === undefined || isNumber(result.length)) &&
    (result.averageMillis === undefined || isNumber(result.averageMillis)) &&
    (result.disrupted === undefined || result.disrupted === true) &&
    (result.paused === undefined || result.paused === true) &&
    (result.pausedUntil === undefined || isNumber(result.pausedUntil)) &&
    (result.slots === undefined || isNumber(result.slots))
  )
}

export const campaignSnapshot: Schema.Codec<CampaignSnapshot> = Struct({
  ...figures,
  slotPage: optionalKey(List(heldSlot)),
  waitingPage: optionalKey(List(waitingTicket)),
})

export const performed: Schema.Codec<RulePerformed> = Performed

const auditLine: Schema.Codec<AuditLine> = Struct({ ...auditFields, changes: optionalKey(Text) })
export const auditLog = Struct({ total: Finite, lines: optionalKey(List(auditLine)) })
