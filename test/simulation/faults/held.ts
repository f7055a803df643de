/** Faults in what gates hold: presence by gate, what a gate is told of changes, and the places that it shows. */
import { HELD } from "../../../src/fifo-queue/rules/shared/presence.ts"
import { queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

export const heldFaults: ReadonlyArray<Planted> = [
  {
    name: "a gate takes a ticket from another gate that lives",
    rule: tampered("heartbeat", (db, s) => ({
      zscore: (key, member) => (key === s.keys.holders ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "a ticket whose connection has closed is held for ever",
    rule: tampered("heartbeat", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.presence && score < HELD ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a ticket whose connection has closed is absent at once",
    rule: tampered("heartbeat", (db, s) => ({
      zadd: (key, score, member) => db.zadd(key, key === s.keys.presence && score < HELD ? s.now - 1 : score, member),
    })),
  },
  {
    name: "what a dead gate holds is held for ever",
    rule: tampered("sweep", (db, s) => ({
      zscore: (key, member) => (key === s.keys.holders ? s.now : db.zscore(key, member)),
    })),
  },
  {
    name: "what a gate holds that lives is released",
    rule: tampered("sweep", (db, s) => ({
      zscore: (key, member) => (key === s.keys.holders ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "the first places are told in another order",
    rule: queue("heartbeat", (_s, _call, real) => {
      const { result, ...rest } = real()
      if (result.changes?.first === undefined) return { ...rest, result }
      const first = [0, ...result.changes.first]
      return { ...rest, result: { ...result, changes: { ...result.changes, first } } }
    }),
  },
  {
    // a message that a ticket is called may be lost: then the gate learns it as a change
    name: "a gate is not told what has changed",
    rule: queue("heartbeat", (_s, _call, real) => {
      const { result, ...rest } = real()
      if (result.changes?.changed === undefined) return { ...rest, result }
      const { changed: _changed, ...changes } = result.changes
      return { ...rest, result: { ...result, changes } }
    }),
  },
  {
    name: "a poll keeps nobody present",
    rule: tampered("attach", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.presence ? undefined : db.zadd(key, score, member)),
    })),
  },
]
