/** Faults in starts that fail, or whose outcome nobody knows. */
import { load, save } from "../../../src/fifo-queue/rules/shared/load.ts"
import type { Step } from "../../../src/fifo-queue/rules/shared/step.ts"
import { asked, everywhere, failedAs, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** A ticket that returns to the queue goes to its end. */
const toTheEnd = (s: Step, id: string): number | undefined => {
  const ticket = load(s, id)
  if (ticket === undefined) return undefined
  ticket.seq = s.db.hincrby(s.keys.meta, "seq", 1)
  save(s, id, ticket)
  return ticket.seq
}

export const startFaults: ReadonlyArray<Planted> = [
  {
    name: "a backoff never ends",
    rule: tampered("fail", (db, s) => ({
      hset: (key, field, value) => db.hset(key, field, field === "backoffUntil" ? String(s.now + 86_400_000) : value),
    })),
  },
  {
    name: "the backoff is long although no call runs whose end would reveal a free slot",
    rule: tampered("fail", (db) => ({
      hget: (key, field) => (field === "live" ? "1" : db.hget(key, field)),
    })),
  },
  {
    name: "an end leaves the campaign backing off",
    rule: tampered("end", (db) => ({
      hdel: (key, field) => (field === "backoffUntil" ? undefined : db.hdel(key, field)),
    })),
  },
  {
    name: "a ticket refused for capacity goes to the end of the queue",
    rule: tampered("fail", (db, s) => ({
      zadd: (key, score, member) => {
        if (key !== s.keys.waiting) return db.zadd(key, score, member)
        const seq = toTheEnd(s, member)
        if (seq !== undefined) db.zadd(key, seq, member)
      },
    })),
  },
  {
    name: "a platform that cannot be reached ends the ticket",
    rule: failedAs("disrupted", "failed"),
  },
  {
    name: "a platform that refuses the key ends the ticket",
    rule: failedAs("rejected", "failed"),
  },
  {
    name: "all tickets probe an unreachable platform at once",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        hget: (key, field) => (key === s.keys.meta && field === "disrupted" ? undefined : db.hget(key, field)),
      })),
    ),
  },
  {
    name: "a turn is missed while the platform cannot be reached",
    rule: everywhere((name) =>
      tampered(name, (db, s) => {
        let passing = false
        return {
          // a turn passes between the end of its lease and the next query
          zrem: (key, member) => {
            passing = key === s.keys.leases && load(s, member)?.state === "called"
            return db.zrem(key, member)
          },
          hget: (key, field) =>
            passing && key === s.keys.meta && field === "disrupted" ? undefined : db.hget(key, field),
        }
      }),
    ),
  },
  {
    name: "a ticket whose start failed loses its place at once",
    rule: failedAs("answered", "failed"),
  },
  {
    name: "a start that may have happened gives up its slot",
    rule: failedAs("doubt", "answered"),
  },
  {
    name: "a start in doubt is given up though the platform has its session",
    rule: asked("resolve", ({ call: { id } }) => ({ call: { id } })),
  },
  {
    name: "a ticket is called while a session of it may run",
    rule: tampered("fail", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.parked ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a ticket whose start is in doubt is never called again",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) =>
          key === s.keys.parked && load(s, member)?.state === "waiting" ? false : db.zrem(key, member),
      })),
    ),
  },
  {
    name: "the slot of a start in doubt is never freed",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) => (key === s.keys.leases && member.startsWith("?") ? true : db.zrem(key, member)),
      })),
    ),
  },
  {
    name: "a start whose gate died frees its slot",
    rule: tampered("sweep", (db, s) => ({
      zadd: (key, score, member) =>
        key === s.keys.leases && member.startsWith("?") ? undefined : db.zadd(key, score, member),
    })),
  },
  {
    name: "a limit of the key's requests backs off like a platform at capacity",
    rule: failedAs("limited", "capacity"),
  },
  {
    name: "a limit of the key's requests ends the ticket",
    rule: failedAs("limited", "refused"),
  },
  {
    name: "a ticket that met the limit of the key's requests goes to the end of the queue",
    rule: tampered("fail", (db, s, { reason }) => ({
      zadd: (key, score, member) =>
        db.zadd(
          key,
          (key === s.keys.waiting && reason === "limited" ? toTheEnd(s, member) : undefined) ?? score,
          member,
        ),
    })),
  },
  {
    name: "a caller for whom a budget has too little at the start goes to the end of the queue",
    rule: tampered("fail", (db, s, { reason }) => ({
      zadd: (key, score, member) =>
        db.zadd(
          key,
          (key === s.keys.waiting && reason === "unpaid" ? toTheEnd(s, member) : undefined) ?? score,
          member,
        ),
    })),
  },
  {
    name: "a caller for whom a budget has too little at the start loses the place",
    rule: failedAs("unpaid", "failed"),
  },
]
