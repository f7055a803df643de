/** Faults in the time limits of calls: who is warned, and which gate ends which call, and when. */
import { load } from "../../../src/fifo-queue/rules/shared/load.ts"
import { queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

export const lengthFaults: ReadonlyArray<Planted> = [
  {
    name: "a page is warned, and nobody ends its call",
    rule: tampered("dueLengths", (db, s) => ({
      zadd: (key, score, member) => {
        if (key === s.keys.limits && db.zscore(key, member) !== undefined && score <= s.now + 10_000)
          db.zrem(key, member)
        else db.zadd(key, score, member)
      },
    })),
  },
  {
    name: "the end of a call is given to two gates",
    rule: tampered("dueLengths", (db, s, { claimMillis }) => ({
      zadd: (key, score, member) =>
        db.zadd(key, key === s.keys.limits && score === s.now + claimMillis ? s.now : score, member),
    })),
  },
  {
    name: "the end of a call is lost with the gate that was to end it",
    rule: tampered("dueLengths", (db, s, { claimMillis }) => ({
      zadd: (key, score, member) => {
        if (key === s.keys.limits && score === s.now + claimMillis) db.zrem(key, member)
        else db.zadd(key, score, member)
      },
    })),
  },
  { name: "nobody looks for calls at their limit", rule: queue("dueLengths", () => ({ result: {} })) },
  {
    name: "another's call is ended at a limit",
    rule: tampered("dueLengths", (db, s) => ({
      hget: (key, field) => {
        if (key !== s.keys.data) return db.hget(key, field)
        const other = db.zrange(s.keys.leases, 0, 100).find((id) => id !== field && load(s, id)?.state === "live")
        return db.hget(key, other ?? field)
      },
    })),
  },
  {
    name: "a call is ended at its first warning",
    rule: queue("dueLengths", (s, _call, real) => {
      const [first] = s.db.zrangebyscore(s.keys.limits, Number.NEGATIVE_INFINITY, s.now, 1)
      const answer = real()
      const data = first === undefined ? undefined : s.db.hget(s.keys.data, first)
      return data === undefined ? answer : { ...answer, result: { ...answer.result, sessions: [data] } }
    }),
  },
  {
    name: "a call that is over keeps its limit",
    rule: tampered("end", (db, s) => ({
      zrem: (key, member) => (key === s.keys.limits ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "a call gets a minute more than its limit",
    rule: (rule) =>
      rule.name === "queue.bind"
        ? {
            ...rule,
            run: (db, keys, now, context, calls) =>
              rule.run(
                db,
                keys,
                now,
                context,
                calls.map((call) =>
                  "endsAt" in call && typeof call.endsAt === "number"
                    ? { ...call, endsAt: call.endsAt + 60_000 }
                    : call,
                ),
              ),
          }
        : rule,
  },
]
