/**
 * The keys of a campaign, all under one hash tag.
 *
 *   meta           hash    `seq` and `lease`, counters; `live`, how many sessions run; `started`, how many ever began; `doubts`, how many
 *                          starts are in doubt; `averageMillis`, the measured length of a call; `backoffUntil` and `backoffs`, the
 *                          back-off of a full platform and how often in a row; `disrupted`, 1 while the platform cannot be reached,
 *                          and `probeUntil`, until when nobody else is called to find out; `sweptAt`, when a gate swept last;
 *                          `graceUntil`, until when nobody counts as absent; `forgivenAt`, when an outage was forgiven last;
 *                          `auditUntil` and `askedUntil`, until when somebody asks after old sessions and doubts; `paused` and
 *                          `draining`, 1 while an operator has them on; `passedSeq`, the place up to which waiting tickets were
 *                          looked at; `withdrawnUntil`, the time up to which `forget` has ids of tickets yet to come; `auditLog`, a
 *                          counter; `quarantined`, `junk` and `recount` (`load.ts`)
 *   tickets        hash    id → record, JSON (`Ticket`)
 *   data           hash    id → what the gate keeps with the ticket: its configuration, then its session
 *   waiting        zset    id by `seq`, which is the order of acceptance and never depends on time
 *   presence       zset    waiting id by the time until which it counts as present
 *   leases         zset    id by deadline: one held slot each
 *   sessions       hash    session id → ticket id, while live
 *   endedSessions  zset    session ids that have ended, by time: what tells a repeat or an early webhook
 *   forget         zset    terminal ids by the time when they are forgotten, and ids that were withdrawn before their admission came,
 *                          which have no record
 *   settlements    zset    `refund|release|missed id caller` that the rate limiter has still to carry out, by time
 *   passed         zset    `network seq id` of waiting tickets that were looked at, all with score 0; seq has 16 digits
 *   networks       hash    how many tickets of a network wait (`w` and network) and hold a slot (`h` and network); never 0
 *   parked         zset    waiting ids that are not called now, by the time until when
 *   gates          zset    gates by the time when each was heard of last (`outage.ts`)
 *   quarantine     zset    records that were none, by their number (`load.ts`)
 *   auditLog       zset    what operators did, by a counter: JSON
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
}

/** How many keys a campaign has, for rules on all of them. */
export const QUEUE_KEY_COUNT = 16

/** The keys by name, from the order in which a rule is given them. */
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
})
