/** What an operator sees and does, as schemas: the endpoints of the console and its page use these types. Times in ms since 1970. */
import { Schema } from "effect"
import { auditLogFields, figures, heldSlot, waitingTicket } from "../fifo-queue/operator/schemas.ts"

const { Array: List, Finite, Int, Literals, NullOr, optionalKey, Record, String: Text, Struct } = Schema

/** The names of what instances count; `refused.` is followed by a refusal's outcome in the metrics, or by the reason of a block. */
export type CountName =
  | "started"
  | "queued"
  | "waited"
  | "waitedMillis"
  | "pickedUp"
  | "pickedUpMillis"
  | "letThroughUnchecked"
  | "offered"
  | "offersTaken"
  | `refused.${string}`

/** A request that was refused. */
export const RefusedRequest = Struct({
  at: Finite,
  /** empty when it names no campaign that exists */
  campaign: Text,
  /** the outcome of a refusal, or for a blocked request what it was blocked for, as in `CountName` */
  reason: Text,
  /** the budget that is used up; absent for another reason, and from gates of the version before */
  budget: optionalKey(Text),
  /** the caller's address (IPv6: the /64), or its hash */
  address: Text,
  /** the instance that refused it, and the refusal's number there */
  by: Text,
})
export type RefusedRequest = typeof RefusedRequest.Type

/** How far back the history of a campaign goes, in steps of a minute, of ten minutes and of an hour. */
export const HistoryRange = Literals(["hour", "day", "week"])
export type HistoryRange = typeof HistoryRange.Type

/**
 * What happened in a campaign over time, on all instances. The counts of a bucket: `over.` and a final state of tickets, `refused.` and a
 * reason, `wait.` and the upper bound in seconds of the waits until the start call, or `more`; `samples`, and the sums over those of
 * `waiting` and of slots `held`; and the greatest `max.waiting`, `max.held` and `max.slots`.
 */
export const CampaignHistory = Struct({
  campaign: Text,
  range: HistoryRange,
  now: Finite,
  /** the length of a bucket (ms), and when the first and the last begin; the last is not over */
  stepMillis: Finite,
  from: Finite,
  to: Finite,
  /** oldest first; absent where no instance reported */
  buckets: List(Struct({ at: Finite, counts: Record(Text, Finite) })),
})
export type CampaignHistory = typeof CampaignHistory.Type

/** An address that operators have blocked. `until` is 0 for a block without an end. */
export const AddressBlock = Struct({ address: Text, until: Finite, at: Finite, by: Text })
export type AddressBlock = typeof AddressBlock.Type

/** The addresses that have asked most in the last hour (50 to 60 minutes), at all campaigns, and those that are blocked. */
export const Asking = Struct({
  addresses: List(Struct({ address: Text, requests: Finite, refused: Finite })),
  blocks: List(AddressBlock),
})
export type Asking = typeof Asking.Type

/** What became of a block, or of lifting one. `already`: there was none to lift. `full`: as many are blocked as may be. */
export const Blocked = Struct({ result: Literals(["done", "already", "full"]) })
export type Blocked = typeof Blocked.Type

/** A campaign's queue at one moment: its figures, a page of its slots and a page of its waiting tickets. */
export const Queue = Struct({ ...figures, slotPage: List(heldSlot), waitingPage: List(waitingTicket) })
export type Queue = typeof Queue.Type

/** The age at which the check of a platform is refreshed when somebody looks (ms). */
export const PLATFORM_CHECK_MILLIS = 30_000

/** The state of a dependency or of the gate itself. `at`: when it was checked; 0 before the first check. */
export const Health = Struct({
  name: Text,
  /** `off`: it is not configured */
  state: Literals(["ok", "failed", "checking", "off"]),
  /** all of it as one text */
  detail: Text,
  /** the parts of `detail`, where the check looks at several things */
  facts: optionalKey(List(Struct({ subject: Text, detail: Text }))),
  at: Finite,
})
export type Health = typeof Health.Type

export { SILENT_MILLIS } from "./silent-instances.ts"

export const Instance = Struct({ id: Text, seenAt: Finite, host: Text, startedAt: Finite, connections: Finite })
export type Instance = typeof Instance.Type

/**
 * What the hours of a campaign say. `closing`: nobody new is let in, and those who wait are served until `servedUntil`. `closesAt` is
 * absent when that is not soon, `opensAt` when that is not within a year.
 */
export const Hours = Struct({
  state: Literals(["open", "closing", "closed"]),
  opensAt: optionalKey(Finite),
  closesAt: optionalKey(Finite),
  servedUntil: optionalKey(Finite),
})
export type Hours = typeof Hours.Type

/** The budget because of which new callers are refused, until the next window begins; of several the one that begins anew last. */
export const UsedUpBudget = Struct({
  budget: Text,
  until: Finite,
  /** whether running calls are ended too */
  endsCalls: Schema.Boolean,
})
export type UsedUpBudget = typeof UsedUpBudget.Type

export const View = Struct({
  /** `VIEW_VERSION` of the instance that answers */
  version: Int,
  /** the store's time */
  now: Finite,
  campaigns: List(Text),
  campaign: Text,
  /** null where nobody knows how many there are: the platform's refusals at capacity are the limit (`allowed` in `queue`) */
  slots: NullOr(Finite),
  /** the account whose calls it shares with other campaigns; absent without one */
  account: optionalKey(Text),
  /** absent for a campaign that is always open */
  hours: optionalKey(Hours),
  /** absent where callers are not refused for a budget, and in answers of the version before */
  usedUp: optionalKey(UsedUpBudget),
  /** the instance that answers */
  instance: Text,
  health: List(Health),
  /** null while the store is unavailable */
  queue: NullOr(Queue),
  instances: List(Instance),
  /**
   * the latest 100 refusals of this campaign, and 100 of requests that name none, newest first. Absent in answers of the version before
   */
  refused: optionalKey(List(RefusedRequest)),
  /** when a bucket begins, and what all instances counted in it, by `CountName` */
  buckets: List(Struct({ at: Finite, counts: Record(Text, Finite) })),
})
export type View = typeof View.Type

/** What changed of the settings: each with its values as they may be shown, and how many more there are. */
export const SettingsChanges = Struct({
  settings: List(Struct({ setting: Text, before: optionalKey(Text), after: optionalKey(Text) })),
  more: Finite,
})
export type SettingsChanges = typeof SettingsChanges.Type

/** Which lines of the audit log: of changed settings, or of actions on the queue. */
export const AuditFilter = Literals(["settings", "actions"])
export type AuditFilter = typeof AuditFilter.Type

const auditLine = Struct({ ...auditLogFields, changes: optionalKey(SettingsChanges) })
export type AuditLine = typeof auditLine.Type

/** A page of the audit log, newest first, and the number of all lines. */
export const AuditLog = Struct({ total: Finite, lines: List(auditLine) })
export type AuditLog = typeof AuditLog.Type

/** null while the store is unavailable */
const refusalsByReason = NullOr(Record(Text, Finite))

/** The campaigns side by side. */
export const Campaigns = Struct({
  now: Finite,
  campaigns: List(
    Struct({
      name: Text,
      /** null where nobody knows how many there are */
      slots: NullOr(Finite),
      account: optionalKey(Text),
      hours: optionalKey(Hours),
      usedUp: optionalKey(UsedUpBudget),
      /** null while the store is unavailable */
      figures: NullOr(Struct(figures)),
      /** the requests of the last hour that all instances refused, by reason */
      refused: refusalsByReason,
    }),
  ),
  /** refused requests that name no campaign */
  refusedElsewhere: refusalsByReason,
})
export type Campaigns = typeof Campaigns.Type

/** A ticket that was found by its hash, where it was at that moment. */
export const FoundTicket = Struct({
  campaign: Text,
  ticket: Text,
  /** `waiting`, or the state of its slot */
  state: Literals(["waiting", "called", "starting", "live", "ending", "in_doubt"]),
  /** its row among the waiting tickets or among the slots, from 0 */
  row: Finite,
  /** of one that waits: its place, as its caller is told it; absent in answers of the version before */
  position: optionalKey(Finite),
  /** of one that waits for a budget: when it has more again at the latest (ms since 1970), and which that is, by name */
  resumesAt: optionalKey(Finite),
  budgets: optionalKey(List(Text)),
  /** since when it waits or holds the slot; 0 when unknown */
  since: Finite,
})
export type FoundTicket = typeof FoundTicket.Type

/** `more`: there are others, so the hash must be longer. `next`: not everything was read; ask again from there. */
export const Found = Struct({ found: List(FoundTicket), more: Schema.Boolean, next: optionalKey(Text) })
export type Found = typeof Found.Type

/** What a reload of the settings did: the names of those that changed, and of those that change only with the next start. */
export const Reloaded = Struct({ changed: List(Text), kept: List(Text) })
export type Reloaded = typeof Reloaded.Type
