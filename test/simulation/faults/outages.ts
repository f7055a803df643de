/** Planted faults in the handling of outages: each costs somebody a turn or a place, or blocks a slot forever. */
import { load } from "../../../src/fifo-queue/rules/shared/load.ts"
import { asked, everywhere, queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

export const outageFaults: ReadonlyArray<Planted> = [
  {
    name: "an outage that a gate noticed is not reported",
    rule: queue("reportOutage", () => ({ result: 0 })),
  },
  {
    name: "the report of an outage withdraws nothing",
    rule: asked("reportOutage", ({ call: { since } }) => ({ call: { since } })),
  },
  {
    name: "any start of a ticket is taken back, not the one that its gate has given up",
    rule: asked("reportOutage", ({ call: { starts = [], ...call } }, s) => ({
      call: { ...call, starts: starts.map(({ id, attempt }) => ({ id, attempt: load(s, id)?.attempt ?? attempt })) },
    })),
  },
  {
    name: "a report takes back every start, not those that its gate has given up",
    rule: asked("reportOutage", ({ call }, s) => ({
      call: {
        ...call,
        starts: s.db.zrange(s.keys.leases, 0, 1_000).flatMap((id) => {
          const attempt = load(s, id)?.attempt
          return attempt === undefined ? [] : [{ id, attempt }]
        }),
      },
    })),
  },
  {
    name: "calls are not held after an outage",
    rule: everywhere((name) =>
      tampered(name, (db) => ({
        hgetNumbers: (key, fields) =>
          db.hgetNumbers(key, fields).map((value, i) => (fields[i] === "heldFrom" ? 0 : value)),
      })),
    ),
  },
  {
    name: "an outage renews no start window",
    rule: tampered("reportOutage", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.leases ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "an outage grants nobody a new grace",
    rule: tampered("reportOutage", (db) => ({
      hset: (key, field, value) => (field === "graceUntil" ? undefined : db.hset(key, field, value)),
    })),
  },
  {
    name: "a turn is missed while a gate is silent that the caller could have used",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrangebyscore: (key, min, max, limit, offset) =>
          key === s.keys.gates ? [] : db.zrangebyscore(key, min, max, limit, offset),
      })),
    ),
  },
  {
    name: "a place is given up while its gate is silent",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zscore: (key, member) => (key === s.keys.gates ? undefined : db.zscore(key, member)),
      })),
    ),
  },
  {
    name: "a dead gate is waited for forever",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrangebyscore: (key, min, max, limit, offset) =>
          db.zrangebyscore(key, key === s.keys.gates ? Number.NEGATIVE_INFINITY : min, max, limit, offset),
        zremrangebyscore: (key, min, max) => (key === s.keys.gates ? 0 : db.zremrangebyscore(key, min, max)),
      })),
    ),
  },
  {
    name: "the callers of a dead gate are waited for forever",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zscore: (key, member) =>
          key === s.keys.gates && member !== s.context.instance ? s.now : db.zscore(key, member),
      })),
    ),
  },
  {
    name: "a gate finds its own callers absent before it has touched them",
    // without a value, all of them count as touched now
    rule: asked("sweep", () => ({ call: {} })),
  },
  {
    name: "a start window in the past is returned",
    rule: queue("attach", (s, { id }, real) => {
      const ticket = load(s, id)
      if (ticket?.state !== "called") return real()
      const startBefore = s.db.zscore(s.keys.leases, id) ?? 0
      return { result: { _tag: "called" as const, startBefore, lease: ticket.lease ?? "" } }
    }),
  },
  {
    name: "repeated outages extend a turn without bound",
    rule: tampered("reportOutage", (db, s) => ({
      hset: (key, field, value) => {
        if (key !== s.keys.tickets) return db.hset(key, field, value)
        db.hset(key, field, JSON.stringify({ ...JSON.parse(value), since: s.now }))
      },
    })),
  },
  {
    name: "a start at a gate that has just resumed has no time left",
    rule: everywhere((name) =>
      name === "admit" || name === "start"
        ? tampered(name, (db) => ({
            hget: (key, field) => (field === "sweptAt" ? undefined : db.hget(key, field)),
          }))
        : (rule) => rule,
    ),
  },
  {
    name: "a gate that was suspended keeps the clock difference from before",
    keepsTime: true,
  },
]
