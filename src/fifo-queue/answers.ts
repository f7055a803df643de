/** What the rules of the queue answer: the schema of each answer, from which the rules have its type. Times in ms since 1970. */

import { Schema } from "effect"
import { Charge, Settlement } from "../protocol/settlements.ts"
import { Signal } from "../protocol/signals.ts"
import { EndState, TicketState } from "../protocol/ticket.ts"
import { auditLogFields, figures, heldSlot, platformState, waitingTicket } from "./operator/schemas.ts"

const { Array: List, Boolean: Flag, Finite, Literal, Literals, String: Text, Struct, Union, optionalKey } = Schema

/**
 * What a step leaves besides its result. Its signals are for connections of the asking gate. Those in `elsewhere` were published to other
 * gates, or are for nobody, because the caller has left; the asking gate does not deliver them. Together the two are every call and every
 * end of a ticket in this step, each once: the asking gate counts and logs them. Absent when there are none.
 */
const effects = {
  signals: optionalKey(List(Signal)),
  elsewhere: optionalKey(List(Signal)),
  settlements: optionalKey(List(Settlement)),
  charges: optionalKey(List(Charge)),
  /** campaigns of the same account that wait for a slot which is free after this step, in no order */
  wanting: optionalKey(List(Text)),
}
const StepEffects = Struct(effects)

export const stepAnswer = <A>(result: Schema.Codec<A>): Schema.Codec<StepAnswer<A>> => Struct({ result, ...effects })
export type StepAnswer<A> = { readonly result: A } & typeof StepEffects.Type

/** Why nobody is called, and how many slots serve the campaign. */
const hindrances = {
  /** an operator has paused the campaign: nobody is called */
  paused: optionalKey(Literal(true)),
  /** when the pause ends by itself; absent without such a time */
  pausedUntil: optionalKey(Finite),
  /**
   * how many slots serve the campaign now, while its account withholds others, the platform is full, or only its refusals tell; absent when
   * the campaign has all of them
   */
  slots: optionalKey(Finite),
  /** a budget has too little for a call to begin: nobody is called before then, unless it has more again; absent while budgets have enough */
  resumesAt: optionalKey(Finite),
  /** how long that is from now (ms) */
  heldMillis: optionalKey(Finite),
}
const Hindrances = Struct(hindrances)
export type Hindrances = typeof Hindrances.Type

const queueFields = {
  length: Finite,
  /** the average length of a call; 0 while none was measured */
  averageMillis: Finite,
  /** the platform cannot be reached: one ticket at a time is called to probe it */
  disrupted: Flag,
  ...hindrances,
}

/** A ticket's place in the queue. */
export const Waiting = Struct({
  _tag: Literal("waiting"),
  position: Finite,
  ...queueFields,
  /** when it was accepted; of a ticket that waits already, if the campaign asks for it (`QueueContext.tellsAccepted`) */
  accepted: optionalKey(Finite),
})
export type Waiting = typeof Waiting.Type

/**
 * `data` was stored when the session was bound. `silentUntil`: when a silent call ends unless somebody speaks. `endsAt`: when a call ends that
 * has a time limit of its own.
 */
const Live = Struct({
  _tag: Literal("live"),
  data: Text,
  silentUntil: optionalKey(Finite),
  endsAt: optionalKey(Finite),
  /** it ends then because a budget has no more for it */
  spent: optionalKey(Literal(true)),
})
export const Ended = Struct({ _tag: Literal("ended"), state: EndState })
export type Ended = typeof Ended.Type
export type LiveOrEnded = typeof Live.Type | Ended
const Unknown = Struct({ _tag: Literal("unknown") })

export const admittedMembers = [
  Struct({ _tag: Literal("starting"), lease: Text }),
  Waiting,
  Struct({ _tag: Literal("full"), length: Finite, averageMillis: Finite }),
  /** the platform refuses what the operator must mend, and newcomers do not wait for that */
  Struct({ _tag: Literal("rejected") }),
  /** an operator lets no newcomer in, or this one was withdrawn */
  Struct({ _tag: Literal("draining") }),
] as const

/** What became of a newcomer. */
export const Admitted = Union(admittedMembers)
export type Admitted = typeof Admitted.Type

export const Start = Union([
  Struct({ _tag: Literal("starting"), lease: Text, data: Text, calledAt: Finite, acceptedAt: Finite }),
  Waiting,
  /** another start of the ticket is under way */
  Struct({ _tag: Literal("busy") }),
  Live,
  Ended,
  Unknown,
])
export type Start = typeof Start.Type

/** `stale`: the lease is no longer this ticket's. `ended`: the session's end was already reported. */
export const Binding = Literals(["live", "ended", "stale"])
export type Binding = typeof Binding.Type

export const Offered = Union([
  Struct({ _tag: Literal("starting"), lease: Text }),
  /** an offer was made before, with any outcome */
  Struct({ _tag: Literal("used") }),
  /** the session is not this ticket's */
  Struct({ _tag: Literal("foreign") }),
  Ended,
  Unknown,
])
export type Offered = typeof Offered.Type

/** `stale`: the known session is not running. */
export const Aliased = Literals(["kept", "ended", "stale"])
export type Aliased = typeof Aliased.Type

export const Failed = Union([Waiting, Struct({ _tag: Literal("failed") }), Struct({ _tag: Literal("stale") })])
export type Failed = typeof Failed.Type

/** A start that may have happened. */
export const Doubt = Struct({
  id: Text,
  ticket: Text,
  /** when its slot was taken */
  since: Finite,
  /** what was stored with the ticket */
  data: Text,
})
export type Doubt = typeof Doubt.Type
export const Doubts = Struct({ doubts: optionalKey(List(Doubt)) })
export type Doubts = typeof Doubts.Type

/** `open`: still in doubt. `stale`: there is no such doubt any more. */
export const Resolved = Literals(["running", "open", "free", "stale"])
export type Resolved = typeof Resolved.Type

/** `again`: a lost attempt of the same report has freed the slot. */
export const SessionEnd = Literals(["released", "again", "repeat", "unknown"])
export type SessionEnd = typeof SessionEnd.Type

/** `held`: a ticket has it; `ended`: its end was reported, and no ticket has it. */
export const SessionState = Literals(["held", "ended", "unknown"])
export type SessionState = typeof SessionState.Type

/** `busy`: the ticket is starting or live. */
export const LeaveResult = Literals(["left", "busy", "ended", "unknown"])
export type LeaveResult = typeof LeaveResult.Type

/** A ticket's state as its holder sees it. */
export const TicketSnapshot = Union([
  Waiting,
  Struct({ _tag: Literal("called"), startBefore: Finite, lease: Text }),
  Struct({ _tag: Literal("starting") }),
  Live,
  Ended,
  Unknown,
])
export type TicketSnapshot = typeof TicketSnapshot.Type

/** Where a ticket stands; nothing for one that is unknown. */
const TicketHeartbeat = Struct({
  state: optionalKey(Union([TicketState, Literal("doubt")])),
  /** of a waiting ticket */
  position: optionalKey(Finite),
  /** of a called ticket */
  startBefore: optionalKey(Finite),
  lease: optionalKey(Text),
  /** of a waiting ticket, for a gate that holds it: its order of acceptance, and that another gate holds it */
  seq: optionalKey(Finite),
  elsewhere: optionalKey(Literal(true)),
  /** of a waiting ticket whose caller has too little left of a budget of his own: when that begins anew, and how long that is from now (ms) */
  resumesAt: optionalKey(Finite),
  heldMillis: optionalKey(Finite),
  /** of a waiting ticket: when it was accepted, if the campaign asks for it */
  accepted: optionalKey(Finite),
})
export type TicketHeartbeat = typeof TicketHeartbeat.Type

/** What a gate learns that knows the queue up to a change. */
export const QueueChanges = Struct({
  /** the change up to which it knows the queue now */
  until: Finite,
  /** there are more changes */
  more: optionalKey(Literal(true)),
  /** how many tickets it holds */
  holds: Finite,
  /** some changes are not known any more: the gate asks for all of its tickets */
  lost: optionalKey(Literal(true)),
  /** tickets that have begun or ceased to wait, or that another gate has let go of */
  changed: optionalKey(List(Text)),
  /** `seq` of the first hundred, in order; absent for none */
  first: optionalKey(List(Finite)),
  /** behind them, which place is shown up to which `seq`: place, seq, place, seq … as JSON */
  steps: optionalKey(Text),
  /** a page of the tickets that the gate holds */
  held: optionalKey(List(Text)),
})

export type QueueChanges = typeof QueueChanges.Type

/** The tickets are in the order of the ids that were asked for. */
export const Heartbeat = Struct({
  ...queueFields,
  changes: optionalKey(QueueChanges),
  tickets: optionalKey(List(TicketHeartbeat)),
})
export type Heartbeat = typeof Heartbeat.Type

/** What the platform's state tells a sweep. */
const watched = { platform: optionalKey(platformState), watch: optionalKey(Literal(true)) }
const Watched = Struct(watched)
export type Watched = typeof Watched.Type

export const Swept = Struct({
  ...watched,
  /** another sweep has work to do at once */
  more: Flag,
  waiting: Finite,
  leases: Finite,
  /** leases with a running session */
  live: Finite,
  /** leases of starts that may have happened */
  doubts: Finite,
  averageMillis: Finite,
  /** settlements that the process which caused them did not carry out */
  owed: optionalKey(List(Settlement)),
  /** the same of charges */
  uncharged: optionalKey(List(Charge)),
  /** the platform cannot be reached: one ticket at a time is called to probe it */
  disrupted: Flag,
  /** how many invalid records were ever found; in `junk`, when the last was found, and its key and id */
  quarantined: Finite,
  /** how many slots the platform has allowed, where nobody knows how many there are; absent before it has refused a start */
  allowed: optionalKey(Finite),
  junk: optionalKey(Struct({ at: Finite, key: Text, id: Text })),
  /** until when those who wait in a campaign that is closed by its hours are served; absent when nobody waits, or while it is open */
  servedUntil: optionalKey(Finite),
  /** how many of those who wait do so for a budget of their own, and are not called meanwhile; absent for none */
  unpaid: optionalKey(Finite),
  /** an operator lets no newcomer in */
  draining: optionalKey(Literal(true)),
  /** an operator has paused the campaign, and until when: the pause may be over by then, until a step has noted it */
  paused: hindrances.paused,
  pausedUntil: hindrances.pausedUntil,
  resumesAt: hindrances.resumesAt,
  heldMillis: hindrances.heldMillis,
})
export type Swept = typeof Swept.Type

export const Cleared = Union([
  /** a gate serves the campaign; nothing was done */
  Struct({ _tag: Literal("served") }),
  Struct({
    _tag: Literal("cleared"),
    /** another step has work to do at once */
    more: Flag,
    /** tickets that this step removed */
    sent: Finite,
    /** tickets remain, including ended ones still remembered, or settlements are owed */
    left: Flag,
    waiting: Finite,
    leases: Finite,
    /** leases with a running session */
    live: Finite,
    /** settlements that the process which caused them did not carry out */
    owed: optionalKey(List(Settlement)),
    uncharged: optionalKey(List(Charge)),
  }),
])
export type Cleared = typeof Cleared.Type

/** The oldest tickets of callers who wait for budgets of their own, and these callers as the rate limiter knows them. */
export const UnpaidTickets = Struct({ tickets: optionalKey(List(Struct({ ticket: Text, caller: Text }))) })
export type UnpaidTickets = typeof UnpaidTickets.Type

/** The next page of tickets, and how many of the last one were put back. */
export const Repaired = Struct({ cursor: Text, repaired: Finite })
export type Repaired = typeof Repaired.Type

export const Sessions = Struct({ sessions: optionalKey(List(Text)) })
export type Sessions = typeof Sessions.Type

/**
 * Since when each call is billed (ms since 1970): 0 while it has not begun, -1 when its slot is free. `spent`: it ends because a budget has no
 * more for it.
 */
export const CallTimes = Struct({ calls: List(Struct({ since: Finite, spent: optionalKey(Literal(true)) })) })
export type CallTimes = typeof CallTimes.Type

/** A call that is billed since then (ms since 1970), and its caller as the rate limiter knows him. */
export const BilledCall = Struct({ ticket: Text, lease: Text, since: Finite, caller: Text })
export type BilledCall = typeof BilledCall.Type
/** A page of them, and where the next one begins. */
export const BilledCalls = Struct({ calls: optionalKey(List(BilledCall)), next: optionalKey(Finite) })
export type BilledCalls = typeof BilledCalls.Type

/** What was bound to each session to end now, as JSON; and when the next thing is due of a call with a time limit of its own. */
export const DueLengths = Struct({ sessions: optionalKey(List(Text)), nextAt: optionalKey(Finite) })
export type DueLengths = typeof DueLengths.Type

export const Speech = Literals(["live", "unknown"])
export type Speech = typeof Speech.Type

/** `silent`: the call ends at `endsAt` unless somebody speaks. `speech`: no end is due. */
export const Silence = Union([
  Struct({ _tag: Literal("silent"), endsAt: Finite }),
  Struct({ _tag: Literal("speech") }),
  Ended,
  Unknown,
])
export type Silence = typeof Silence.Type

export const CampaignSnapshot = Struct({
  ...figures,
  slotPage: optionalKey(List(heldSlot)),
  waitingPage: optionalKey(List(waitingTicket)),
})
export type CampaignSnapshot = typeof CampaignSnapshot.Type

/** A line of the audit log. */
export const AuditLine = Struct({
  ...auditLogFields,
  /** of changed settings: what changed, as JSON that the rule does not read */
  changes: optionalKey(Text),
})
export type AuditLine = typeof AuditLine.Type
export const AuditLog = Struct({ total: Finite, lines: optionalKey(List(AuditLine)) })
export type AuditLog = typeof AuditLog.Type

/** What one page of tickets has of a caller who is forgotten: those over are forgotten, those that live are kept. `cursor`: the next page; `0` for none. */
export const ForgottenTickets = Struct({
  cursor: Text,
  /** tickets that are over */
  over: Finite,
  waiting: Finite,
  /** tickets and starts in doubt that hold a slot */
  holding: Finite,
  /** settlements that are carried out within seconds */
  owed: Finite,
  quarantined: Finite,
})
export type ForgottenTickets = typeof ForgottenTickets.Type
