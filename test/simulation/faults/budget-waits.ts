/** Faults in waits for budgets (`OnLimit: wait`): those of a campaign, for which its queue waits, and those of callers. */

import type { Db } from "../../../src/store/rules/db.ts"
import { each, everywhere, queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

type Has = readonly [settled: number, held: number, adjusted: number]

/** The queue reads other figures of the budgets for which callers wait. */
const reading = (change: (has: Has, db: Db, line: string) => ReadonlyArray<number>): NonNullable<Planted["rule"]> =>
  everywhere((name) =>
    tampered(name, (db, s) => ({
      hgetNumbers: (key, fields) => {
        const found = db.hgetNumbers(key, fields)
        const [settled = 0, held = 0, adjusted = 0] = found
        const isLedger = key === s.ledgers.campaign || key === s.ledgers.account
        return isLedger ? change([settled, held, adjusted], db, fields[0] ?? "") : found
      },
    })),
  )

export const budgetWaitFaults: ReadonlyArray<Planted> = [
  {
    name: "a caller who waits for a budget of his own is called all the same",
    rule: each(["fail", "awaitBudget"], (name) =>
      tampered(name, (db, s) => ({
        zadd: (key, score, member) => (key === s.keys.parked ? undefined : db.zadd(key, score, member)),
      })),
    ),
  },
  {
    name: "a queue that waits for a budget does not see a top-up",
    rule: reading(([settled, held]) => [settled, held, 0]),
  },
  {
    name: "a queue that waits for a budget never goes on",
    rule: (() => {
      const used = new WeakMap<Db, Map<string, number>>()
      return reading(([settled, held, adjusted], db, line) => {
        const all = used.get(db) ?? new Map<string, number>()
        used.set(db, all)
        // what calls give back is not seen
        const most = Math.max(settled + held, all.get(line) ?? 0)
        all.set(line, most)
        return [most, 0, adjusted]
      })
    })(),
  },
  {
    name: "callers are called for whom a budget has no time",
    rule: reading(() => [0, 0, 0]),
  },
  {
    name: "more callers are called than a budget has time for",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        hgetNumbers: (key, fields) => {
          const found = db.hgetNumbers(key, fields)
          if (key !== s.ledgers.campaign && key !== s.ledgers.account) return found
          const [awaited] = s.context.awaited ?? []
          const left = (awaited?.cap ?? 0) + (found[2] ?? 0) - (found[0] ?? 0) - (found[1] ?? 0)
          return left < (awaited?.least ?? 0) ? found : [0, 0, 1_000_000_000]
        },
      })),
    ),
  },
  {
    name: "newcomers wait for those who wait for budgets of their own",
    rule: tampered("admit", (db, s) => ({ zcard: (key) => (key === s.keys.unpaid ? 0 : db.zcard(key)) })),
  },
  {
    name: "who waits for a budget of his own holds up those behind him",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zscore: (key, member) => {
          const found = db.zscore(key, member)
          if (key !== s.keys.parked || found !== undefined) return found
          const [oldest = ""] = db.zrange(s.keys.waiting, 0, 1)
          return db.zscore(s.keys.unpaid, oldest) === undefined ? undefined : s.now + 1_000
        },
      })),
    ),
  },
  {
    name: "who waits for a budget of his own counts in the places of others",
    rule: each(["attach", "heartbeat", "start"], (name) =>
      tampered(name, (db, s) => ({
        zcard: (key) => (key === s.keys.unpaid ? 0 : db.zcard(key)),
        zscoresByRank: (key, from, count) => (key === s.keys.unpaid ? [] : db.zscoresByRank(key, from, count)),
      })),
    ),
  },
  {
    name: "a caller whose budget begins anew still counts as one who waits for it",
    rule: tampered("sweep", (db, s) => ({
      zrange: (key, from, to) => (key === s.keys.unpaid ? [] : db.zrange(key, from, to)),
    })),
  },
  {
    name: "nobody looks whether budgets of callers have more again",
    rule: queue("findUnpaid", (_s, _call, real) => ({ ...real(), result: {} })),
  },
  {
    name: "who waits for a budget of his own is forgotten with the gate that looks",
    rule: (() => {
      const lookers = new WeakMap<Db, string>()
      return queue("findUnpaid", ({ context, db }, _call, real) => {
        const answer = real()
        const looker = lookers.get(db) ?? context.instance
        lookers.set(db, looker)
        return looker === context.instance ? answer : { ...answer, result: {} }
      })
    })(),
  },
]
