/**
 * Schemas of what the rules in `rules/operator` show, which have their types from here. So has the console's page: this file imports nothing
 * that needs Node. What operators do: `actions.ts`.
 */
import { Schema } from "effect"

const { Array: List, Boolean: Flag, Finite, Literals, optionalKey, String: Text, Struct } = Schema

/** The names of budgets that are waited for. The rules do not know them: the gate that answers an operator adds them (`operator/awaited.ts`). */
const budgets = optionalKey(List(Text))

/** Who calls, where a signed token or the host has said so: percent-encoded, or hashed with `Privacy.Addresses: hashed`. */
const subject = optionalKey(Text)

/** The caller's address (IPv6: the /64), or its hash; absent where the caller is known by a subject, or the record has none. */
const address = optionalKey(Text)

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
  /** of a running call: when it ends at its own limit, or because a budget has no more for it; absent without such an end */
  endsAt: optionalKey(Finite),
  /** of a running call in which nobody speaks: when it ends unless somebody does */
  silentUntil: optionalKey(Finite),
  subject,
  address,
})

export type HeldSlot = typeof heldSlot.Type

export const waitingTicket = Struct({
  ticket: Text,
  seq: Finite,
  /** what the caller is told; absent in answers of the version before */
  position: optionalKey(Finite),
  acceptedAt: Finite,
  presentUntil: Finite,
  subject,
  address,
  /**
   * why it is passed over while others are called; absent where it waits in order. `parked`: its start has failed or is in doubt, and is
   * tried again; `network`: its network has its share of the slots
   */
  passedOver: optionalKey(Literals(["parked", "network", "budget"])),
  /** of one that waits for a budget of its caller: when it is called again at the latest (ms since 1970) */
  resumesAt: optionalKey(Finite),
  budgets,
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
  /** a budget has too little for a call to begin: nobody is called before then, unless it has more again (ms since 1970); absent otherwise */
  resumesAt: optionalKey(Finite),
  budgets,
  /** how many of those who wait do so for a budget of their own, and are not called meanwhile; absent for none */
  unpaid: optionalKey(Finite),
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
