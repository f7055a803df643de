/** Faults in the log of events, and in how they are sent. */
import { settleEvent } from "../../../src/events/rules/settle.ts"
import { chainAt, chainOf, eventIn, logOf, unqueue } from "../../../src/events/rules/shared/log.ts"
import { type Tick, tickEvents } from "../../../src/events/rules/tick.ts"
import { everywhere, rerun, tampered, withCalls } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** Replaces a rule of the event log. */
const log = rerun<"events.settle" | "events.tick">

const isEnd = (text: string): boolean => eventIn(text)?.type === "call.ended"

export const eventFaults: ReadonlyArray<Planted> = [
  {
    name: "an event counts as sent when a gate takes it",
    rule: log(
      "events.tick",
      () => (db, keys, now, _context, calls) =>
        (calls as ReadonlyArray<Tick>).map((call) => {
          const ticked = tickEvents(db, keys, now, call)
          for (const { attempt, chain, seq } of ticked.claimed ?? [])
            settleEvent(db, keys, now, { chain, seq, attempt, outcome: "delivered", at: now })
          return ticked
        }),
    ),
  },
  {
    name: "an event that was not taken is dropped",
    rule: log(
      "events.settle",
      withCalls((call) => ("outcome" in call && call.outcome === "retry" ? { ...call, outcome: "delivered" } : call)),
    ),
  },
  {
    name: "an event is sent by every gate",
    rule: log(
      "events.tick",
      withCalls((call) => ({ ...call, leaseMillis: 0 })),
    ),
  },
  {
    name: "the events of a ticket are lost with the gate that sends one",
    rule: log(
      "events.tick",
      withCalls((call) => ({ ...call, leaseMillis: 1_000_000_000 })),
    ),
  },
  {
    name: "the last event of a ticket is sent first",
    rule: log("events.tick", (real) => (db, keys, now, context, calls) => {
      const { keys: named, ...all } = logOf(db, keys, now)
      for (const chain of db.zrangebyscore(named.due, Number.NEGATIVE_INFINITY, now, 100)) {
        const seqs = chainAt({ ...all, keys: named }, chain)
        if (seqs.length > 1) db.hset(named.chains, chain, seqs.toReversed().join(" "))
      }
      return real(db, keys, now, context, calls)
    }),
  },
  {
    name: "the end of a call is not told",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zadd: (key, score, member) => {
          if (key !== s.keys.events || !isEnd(member)) db.zadd(key, score, member)
          else db.hset(s.keys.meta, "events", String(score - 1))
        },
      })),
    ),
  },
  {
    name: "the end of a call tells another length than is charged",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zadd: (key, score, member) => {
          const event = key === s.keys.events ? eventIn(member) : undefined
          const { millis } = event ?? {}
          db.zadd(key, score, millis === undefined ? member : JSON.stringify({ ...event, millis: millis + 1_000 }))
        },
      })),
    ),
  },
  {
    name: "the end of a call is told twice",
    rule: tampered("end", (db, s) => ({
      zadd: (key, score, member) => {
        db.zadd(key, score, member)
        const event = key === s.keys.events ? eventIn(member) : undefined
        if (event?.type !== "call.ended") return
        const seq = db.hincrby(s.keys.meta, "events", 1)
        db.zadd(key, seq, JSON.stringify({ ...event, seq }))
      },
    })),
  },
  {
    name: "the events of a ticket that has ended are forgotten",
    rule: log("events.tick", (real) => (db, keys, now, context, calls) => {
      const found = logOf(db, keys, now)
      for (const text of db.zrangebyscore(
        found.keys.events,
        Number.NEGATIVE_INFINITY,
        Number.POSITIVE_INFINITY,
        10_000,
      )) {
        const event = eventIn(text)
        if (event !== undefined && isEnd(text))
          for (const seq of chainAt(found, chainOf(event)).slice(1)) unqueue(found, chainOf(event), seq)
      }
      return real(db, keys, now, context, calls)
    }),
  },
]
