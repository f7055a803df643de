/** Faults in deadlines: of presence, of leases and of start windows. */
import { load } from "../../../src/fifo-queue/rules/shared/load.ts"
import { everywhere, queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

export const deadlineFaults: ReadonlyArray<Planted> = [
  {
    name: "presence never expires",
    rule: tampered("admit", (db, s) => ({
      zadd: (key, score, member) => db.zadd(key, key === s.keys.presence ? score + 86_400_000 : score, member),
    })),
  },
  {
    name: "a sweep does not look for absent tickets",
    rule: tampered("sweep", (db, s) => ({
      zrangebyscore: (key, min, max, limit, offset) =>
        key === s.keys.presence ? [] : db.zrangebyscore(key, min, max, limit, offset),
    })),
  },
  {
    name: "a heartbeat keeps nobody present",
    rule: tampered("heartbeat", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.presence ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a lease past its deadline is kept",
    rule: tampered("sweep", (db, s) => ({
      zrangebyscore: (key, min, max, limit, offset) =>
        key === s.keys.leases ? [] : db.zrangebyscore(key, min, max, limit, offset),
    })),
  },
  {
    name: "a start that comes too late is accepted",
    rule: tampered("start", (db, s) => ({
      zscore: (key, member) => (key === s.keys.leases ? Number.MAX_SAFE_INTEGER : db.zscore(key, member)),
    })),
  },
  {
    name: "a starting ticket may start again",
    rule: queue("start", (s, { id }, real) => {
      const ticket = load(s, id)
      if (ticket?.state !== "starting") return real()
      const { accepted: acceptedAt, lease = "", since: calledAt = 0 } = ticket
      return {
        result: { _tag: "starting" as const, lease, data: s.db.hget(s.keys.data, id) ?? "", calledAt, acceptedAt },
      }
    }),
  },
  {
    name: "a caller who never starts keeps the place as long as the platform cannot be reached",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        hset: (key, field, value) =>
          db.hset(key, field, key === s.keys.tickets ? value.replace(/,"excusedTurns":\d+/, "") : value),
      })),
    ),
  },
  {
    name: "waiting tickets count as absent during an outage",
    rule: everywhere((name) =>
      tampered(name, (db) => ({
        hget: (key, field) => (field === "sweptAt" || field === "graceUntil" ? undefined : db.hget(key, field)),
      })),
    ),
  },
  {
    name: "after an outage nobody ever counts as absent",
    rule: tampered("sweep", (db, s) => ({
      hset: (key, field, value) => db.hset(key, field, field === "graceUntil" ? String(s.now + 86_400_000) : value),
    })),
  },
]
