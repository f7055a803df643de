/** Faults in the share of one network: of places, and of slots. */
import { everywhere, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

export const networkFaults: ReadonlyArray<Planted> = [
  {
    name: "a network above its share is called while another waits",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        hget: (key, field) => (key === s.keys.networks && field.startsWith("h") ? undefined : db.hget(key, field)),
      })),
    ),
  },
  {
    name: "a passed-over ticket is forgotten while others wait",
    rule: everywhere((name) => tampered(name, () => ({ zlexAfter: () => undefined }))),
  },
  {
    name: "a slot stays free because all waiting tickets are of one network",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        // the next ticket without regard to networks
        zrange: (key, first, count) =>
          key === s.keys.waiting && Number.isFinite(count) ? [] : db.zrange(key, first, count),
      })),
    ),
  },
  {
    name: "a network takes all places",
    rule: tampered("admit", (db, s) => {
      const isPlaces = (key: string, field: string): boolean => key === s.keys.networks && field.startsWith("w")
      return {
        hget: (key, field) => (isPlaces(key, field) ? undefined : db.hget(key, field)),
        // the count itself is right
        hset: (key, field, value) =>
          db.hset(key, field, isPlaces(key, field) ? `${Number(db.hget(key, field) ?? "0") + Number(value)}` : value),
      }
    }),
  },
  {
    name: "a freed slot still counts toward its network",
    rule: tampered("end", (db, s) => ({
      hincrby: (key, field, by) => (key === s.keys.networks && by < 0 ? 1 : db.hincrby(key, field, by)),
    })),
  },
]
