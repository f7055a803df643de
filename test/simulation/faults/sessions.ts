/** Faults in sessions: how their starts are fenced, and how they are bound, named and ended. */
import { freeSlot } from "../../../src/fifo-queue/rules/shared/line.ts"
import { load, save } from "../../../src/fifo-queue/rules/shared/load.ts"
import type { Step } from "../../../src/fifo-queue/rules/shared/step.ts"
import type { Answer } from "../did.ts"
import { queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** A bind, or a failed start, that ignores the lease. */
const unfenced = <A>(s: Step, { id, lease }: { readonly id: string; readonly lease: string }, real: () => A): A => {
  const ticket = load(s, id)
  if (ticket !== undefined && ticket.state !== "starting") save(s, id, { ...ticket, state: "starting", lease })
  return real()
}

export const sessionFaults: ReadonlyArray<Planted> = [
  {
    name: "a failed start is accepted without its fence",
    rule: queue("fail", (s, call, real) => unfenced(s, call, real)),
  },
  { name: "a stale session is bound", rule: queue("bind", (s, call, real) => unfenced(s, call, real)) },
  {
    name: "a session that ended before it was bound is bound as live",
    rule: tampered("bind", (db, s) => ({
      zscore: (key, member) => (key === s.keys.endedSessions ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "a bind repeated after a lost answer is stale",
    rule: queue("bind", (s, { id }, real) => (load(s, id)?.state === "live" ? { result: "stale" as const } : real())),
  },
  {
    name: "a repeated end frees the oldest slot",
    rule: queue("end", (s, { sessions }, real) => {
      const repeated = sessions.some((session) => s.db.zscore(s.keys.endedSessions, session) !== undefined)
      const [oldest] = s.db.zrange(s.keys.leases, 0, 1)
      const held = oldest === undefined ? undefined : load(s, oldest)
      if (repeated && oldest !== undefined && held !== undefined) freeSlot(s, oldest, held)
      return real()
    }),
  },
  {
    name: "an end is not remembered",
    rule: tampered("end", (db, s, { sessions }) => ({
      zadd: (key, score, member) =>
        key === s.keys.endedSessions && sessions.includes(member) ? undefined : db.zadd(key, score, member),
    })),
  },
  {
    name: "a repeated end forgets the ids that it names for the first time",
    rule: tampered("end", (db, s, { sessions }) => {
      const repeated = sessions.some((session) => db.zscore(s.keys.endedSessions, session) !== undefined)
      return {
        zadd: (key, score, member) =>
          repeated && key === s.keys.endedSessions ? undefined : db.zadd(key, score, member),
      }
    }),
  },
  {
    name: "a gate takes an end that freed a slot for a repeat, like another campaign's",
    heard: (rule, answer) => {
      const ended = answer as Answer<"end">
      return rule === "queue.end" && ended.result === "released" ? { ...ended, result: "repeat" } : answer
    },
  },
  {
    name: "a webhook that is repeated after a lost answer is told that it freed nothing",
    heard: (rule, answer) => {
      const ended = answer as Answer<"end">
      return rule === "queue.end" && ended.result === "again" ? { ...ended, result: "repeat" } : answer
    },
  },
  {
    name: "two webhooks take the place of one whose answer was lost",
    rule: tampered("end", (db, s) => ({
      zrem: (key, member) =>
        key === s.keys.endedSessions ? db.zscore(key, member) !== undefined : db.zrem(key, member),
    })),
  },
  {
    name: "an end leaves the session's slot held",
    rule: tampered("end", (db, s) => ({
      zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "an alias ignores an end that was reported before",
    rule: tampered("alias", (db, s) => ({
      zscore: (key, member) => (key === s.keys.endedSessions ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "an alias accepts an ended session",
    rule: queue("alias", (s, { known }, real) =>
      s.db.hget(s.keys.sessions, known) === undefined ? { result: "kept" as const } : real(),
    ),
  },
  {
    name: "an alias stores no id",
    rule: tampered("alias", (db, s) => ({
      hset: (key, field, value) => (key === s.keys.sessions ? undefined : db.hset(key, field, value)),
    })),
  },
  {
    name: "an alias that ends a session leaves its slot held",
    rule: tampered("alias", (db, s) => ({
      zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
    })),
  },
]
