/** Planted faults in what an outage is held against: each takes a turn, a place, or for ever a slot from somebody. */
import { everywhere, queue, replaced, tampered } from "./tampering.ts"
import type { Planted } from "./world.ts"

export const outageFaults: ReadonlyArray<Planted> = [
  {
    name: "an outage that a gate saw is not told",
    script: replaced("queue.back", () => () => [["forgiven"], [], []]),
  },
  {
    name: "an outage renews no start window",
    script: tampered("back", (db, s) => ({
      zadd: (key, score, member) => (key === s.leases ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "an outage gives nobody the grace anew",
    script: tampered("back", (db) => ({
      hset: (key, field, value) => (field === "mercy" ? undefined : db.hset(key, field, value)),
    })),
  },
  {
    name: "a turn is missed though a gate that could have been asked is silent",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrangebyscore: (key, min, max, limit, offset) =>
          key === s.gates ? [] : db.zrangebyscore(key, min, max, limit, offset),
      })),
    ),
  },
  {
    name: "a place is given up though its gate is silent",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zscore: (key, member) => (key === s.gates ? undefined : db.zscore(key, member)),
      })),
    ),
  },
  {
    name: "a gate that died is waited for for ever",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrangebyscore: (key, min, max, limit, offset) =>
          db.zrangebyscore(key, key === s.gates ? Number.NEGATIVE_INFINITY : min, max, limit, offset),
        zremrangebyscore: (key, min, max) => (key === s.gates ? undefined : db.zremrangebyscore(key, min, max)),
      })),
    ),
  },
  {
    name: "the callers of a gate that died are waited for for ever",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zscore: (key, member) => (key === s.gates && member !== s.self ? s.now : db.zscore(key, member)),
      })),
    ),
  },
  {
    name: "a gate finds its own callers absent before it has shown who is connected",
    script: replaced("queue.sweep", (real) => (db, keys, args) => real(db, keys, args.with(6, args[0] ?? ""))),
  },
  {
    name: "a start window that has ended is told",
    script: queue("attach", (s, real) => {
      const t = s.load(s.arg(0))
      return t?.[0] === "c" ? s.reply(["called", String(s.db.zscore(s.leases, s.arg(0)) ?? 0), t[2]]) : real()
    }),
  },
  {
    name: "a turn lasts as long as outages follow each other",
    script: tampered("back", (db, s) => ({
      hset: (key, field, value) => {
        if (key !== s.tickets) return db.hset(key, field, value)
        const record: Array<string> = JSON.parse(value)
        db.hset(key, field, JSON.stringify(record.with(5, String(s.now))))
      },
    })),
  },
  {
    name: "a start that a gate lets begin when it has just woken has no time left",
    script: everywhere((name) =>
      name === "admit" || name === "start"
        ? tampered(name, (db) => ({
            hget: (key, field) => (field === "swept" ? undefined : db.hget(key, field)),
          }))
        : (script) => script,
    ),
  },
  {
    name: "a gate that was suspended keeps the time from before",
    keepsTime: true,
  },
]
