/**
 * The keys of a campaign, all under one hash tag. Campaigns of one account share the hash tag, and `account`.
 *
 *   meta           hash    `seq` and `lease`, counters; `live`, running sessions; `started`, sessions ever started; `doubts`, starts
 *                          in doubt; `averageMillis`, the measured length of a call; `backoffUntil` and `backoffs`, the backoff of
 *                          a platform at capacity and how often in a row; `disrupted`, 1 while the platform cannot be reached,
 *                          and `probeUntil`, until when nobody else is called to probe it; `platformState` and `platform`, what is
 *                          known of the platform (`platform-state.ts`), with `startedAt`, when a session last started,
 *                          `failing` and `failingSince`, failed starts since then, `refused` and `refusedCallers`, those that were
 *                          refused for what their callers sent, `heardAt` and `watchedAt`, when reading the
 *                          platform last succeeded and was last due, and `readsContradictedAt`; `sweptAt`, when a gate last swept;
 *                          `unattended`, `unattendedFrom` and `unattendedUntil`, when none did for long (`unattended.ts`);
 *                          `graceUntil`, until when nobody counts as absent; `forgivenAt`, when time was last given back after an
 *                          outage; `heldFrom`, since when calls are held; `stalledAt` and `stallsSince`, when steps arrived late
 *                          (`stall.ts`); `auditUntil` and `askedUntil`, until when a gate has
 *                          claimed the check of old sessions and of doubts; `unpaidUntil`, the same of those in `unpaid`, and `ownBudgetsAt`,
 *                          when a gate last said that it has such budgets; `paused` and `draining`, 1 while set by an operator; `pausedUntil`,
 *                          when the pause ends by itself; `openAt`, when a gate last said that the campaign is open, and `hoursAt`, when one
 *                          last told its hours (`closing.ts`); `passedSeq`, the place up to which waiting tickets have been examined; `changed`,
 *                          a counter, with `changedBefore` and `changesFrom` (`changes.ts`); `fairCap` and `fairAt` (`fair-places.ts`);
 *                          `withdrawnUntil`, until when `forget` holds ids withdrawn before their admission; `auditLog`, a counter;
 *                          `quarantined`, `junk` and `recount` (`load.ts`)
 *   tickets        hash    id → record, JSON (`Ticket`)
 *   data           hash    id → what the gate stores with the ticket: its configuration, then its session
 *   waiting        zset    id by `seq`, the order of acceptance, which never depends on time
 *   presence       zset    waiting id by the time until which it counts as present, or by the gate that holds its connection
 *                          (`presence.ts`)
 *   leases         zset    id by deadline: one held slot each
 *   sessions       hash    session id → ticket id, while live
 *   endedSessions  zset    ids of ended sessions, by time: recognizes repeated and early webhooks; and `=` with the attempt that freed
 *                          the slot (`../end.ts`)
 *   forget         zset    ids of ended tickets by the time when they are forgotten, and ids withdrawn before their admission
 *                          arrived, which have no record
 *   settlements    zset    `refund|release|missed id caller` that the rate limiter still has to carry out, by time
 *   passed         zset    `network seq id` of examined waiting tickets, all with score 0; seq has 16 digits
 *   networks       hash    tickets of a network that wait (`w` + network) and that hold a slot (`h` + network); never 0
 *   near           zset    waiting ids for which their network has room under its share, by `seq` (`fair-places.ts`)
 *   crowds         zset    `network seq id` of waiting tickets with a network, all with score 0; only with such shares
 *   parked         zset    waiting ids that are not called now, by the time until when
 *   gates          zset    gates by the time of their last sweep or report (`outage.ts`)
 *   quarantine     zset    invalid records, by number (`load.ts`)
 *   auditLog       zset    actions of operators, by a counter: JSON
 *   ending         zset    ids of live tickets by the time from which a gate ends their session at the platform (`ending.ts`)
 *   unopened       zset    ids of live tickets by the time from which a gate asks whether somebody has opened their session
 *                          (`../unopened.ts`)
 *   limits         zset    ids of live tickets whose call has a time limit of its own, by the time when the next thing is due of it
 *                          (`../lengths.ts`)
 *   holders        zset    gates that hold connections, by number, with the time of their last heartbeat (`presence.ts`)
 *   changes        zset    ids that began or ceased to wait, or are held by another gate, by `changed` (`changes.ts`)
 *   steps          string  which place is shown to whom beyond the first hundred, JSON (`order.ts`); made anew after a moment
 *   events         zset    events for the host by `meta.events`, a counter: JSON (`events.ts`)
 *   charges        zset    `hold seconds 0|1 caller session …` of calls that the budgets must still be charged with, by time; 1 for one in doubt
 *   unpaid         zset    waiting ids whose callers have too little left of a budget of their own, by `seq` (`own-budgets.ts`); also in `parked`
 *   account        hash    of all campaigns of an account: what each holds and asks for (`account.ts`); absent without an account
 */
export interface QueueKeys {
  readonly meta: string
  readonly tickets: string
  readonly data: string
  readonly waiting: string
  readonly presence: string
  readonly leases: string
  readonly sessions: string
  readonly endedSessions: string
  readonly forget: string
  readonly settlements: string
  readonly passed: string
  readonly networks: string
  readonly parked: string
  readonly gates: string
  readonly quarantine: string
  readonly auditLog: string
  readonly ending: string
  readonly near: string
  readonly crowds: string
  readonly unopened: string
  readonly holders: string
  readonly changes: string
  readonly steps: string
  readonly events: string
  readonly limits: string
  readonly charges: string
  readonly unpaid: string
  readonly account: string
}

export const QUEUE_KEY_COUNT = 28

/** Names the keys, which a rule is given as a list in this order. */
export const queueKeys = (keys: ReadonlyArray<string>): QueueKeys => ({
  meta: keys[0] as string,
  tickets: keys[1] as string,
  data: keys[2] as string,
  waiting: keys[3] as string,
  presence: keys[4] as string,
  leases: keys[5] as string,
  sessions: keys[6] as string,
  endedSessions: keys[7] as string,
  forget: keys[8] as string,
  settlements: keys[9] as string,
  passed: keys[10] as string,
  networks: keys[11] as string,
  parked: keys[12] as string,
  gates: keys[13] as string,
  quarantine: keys[14] as string,
  auditLog: keys[15] as string,
  ending: keys[16] as string,
  near: keys[17] as string,
  crowds: keys[18] as string,
  unopened: keys[19] as string,
  holders: keys[20] as string,
  changes: keys[21] as string,
  steps: keys[22] as string,
  events: keys[23] as string,
  limits: keys[24] as string,
  charges: keys[25] as string,
  unpaid: keys[26] as string,
  account: keys[27] as string,
})
