/**
 * What an operator sees and may do, declared once: the console's endpoints and its page take their types from here. Times are
 * milliseconds since 1970.
 */
import { Schema } from "effect"
import { auditLine, figures, heldSlot, waitingTicket } from "../queue/operator-answers.ts"

const { Array: List, Finite, Int, Literal, Literals, NullOr, String: Text, Struct, Union } = Schema

/** What is counted, in the order that all instances share. New ones go to the end: what older instances wrote stays readable. */
export const COUNTS = [
  "started",
  "queued",
  "pickedUp",
  "invalid",
  "vpn",
  "proxy",
  "tor",
  "datacenter",
  "ipCheckFailed",
  "rateLimited",
  "queueFull",
  "draining",
  "platform",
  "store",
  "waited",
  "waitedMillis",
  "pickedUpMillis",
  "letThroughUnchecked",
] as const
export type CountName = (typeof COUNTS)[number]

export type HeldSlot = typeof heldSlot.Type
export type WaitingTicket = typeof waitingTicket.Type

/** A campaign's queue at one moment: its figures, and a page each of its slots and of its line. */
export const Queue = Struct({ ...figures, slotPage: List(heldSlot), linePage: List(waitingTicket) })
export type Queue = typeof Queue.Type

/** How something that the gate stands on is doing. `at` is when that was found; 0 while it is found out for the first time. */
export const Health = Struct({
  name: Text,
  state: Literals(["ok", "failed", "checking"]),
  says: Text,
  at: Finite,
})
export type Health = typeof Health.Type

export const Instance = Struct({ id: Text, seenAt: Finite, host: Text, startedAt: Finite, connections: Finite })
export type Instance = typeof Instance.Type

export const View = Struct({
  /** the store's time */
  now: Finite,
  campaigns: List(Text),
  campaign: Text,
  slots: Finite,
  /** the instance that answers */
  instance: Text,
  health: List(Health),
  /** null while the store is away */
  queue: NullOr(Queue),
  instances: List(Instance),
  /** names of the counts in each bucket */
  counts: List(Text),
  /** when a bucket begins, and what all instances counted in it */
  buckets: List(Struct({ at: Finite, counts: List(Finite) })),
})
export type View = typeof View.Type

const whole = Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/** An action; `lease` and `deadline` as the view showed them, so that what has moved on is left alone. */
export const Action = Union([
  Struct({ type: Literals(["pause", "resume", "drain", "reopen"]) }),
  Struct({ type: Literal("call") }),
  Struct({ type: Literal("remove"), seq: whole }),
  Struct({ type: Literal("end"), lease: Text.check(Schema.isPattern(/^\d{1,15}$/)), deadline: whole }),
])
export type Action = typeof Action.Type

/** What came of an action, and the short hash of the ticket concerned, or `-`. */
export const Done = Struct({ result: Text, ticket: Text })
export type Done = typeof Done.Type

export type AuditLine = typeof auditLine.Type

/** What operators did: a page, the newest first, and how many lines there are. */
export const Trail = Struct({ total: Finite, lines: List(auditLine) })
export type Trail = typeof Trail.Type
