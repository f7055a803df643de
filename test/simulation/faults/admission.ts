/** Faults in who is admitted, who is called, and whether anybody learns of it. */

import type { StepAnswer } from "../../../src/fifo-queue/answers.ts"
import { START_LEASE_MILLIS } from "../../../src/fifo-queue/bounds.ts"
import type { Newcomer } from "../../../src/fifo-queue/inputs.ts"
import { ticketOf } from "../../../src/fifo-queue/rules/admit.ts"
import { enqueue, place, takeSlot } from "../../../src/fifo-queue/rules/shared/line.ts"
import { save } from "../../../src/fifo-queue/rules/shared/load.ts"
import { answerOf, type QueueContext, type Step, stepOf } from "../../../src/fifo-queue/rules/shared/step.ts"
import type { Ticket } from "../../../src/fifo-queue/rules/shared/ticket.ts"
import type { Answer, AnyRule, Name } from "../did.ts"
import { asked, everywhere, queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** A newcomer's record at the next place. */
const accepted = (s: Step, newcomer: Newcomer): Ticket => {
  s.db.hset(s.keys.data, newcomer.id, newcomer.data)
  const seq = s.db.hincrby(s.keys.meta, "seq", 1)
  return ticketOf(newcomer, seq, s.now)
}

/** Lets a newcomer start at once. */
const letIn = (s: Step, newcomer: Newcomer): Answer<"admit"> => {
  const lease = takeSlot(s, newcomer.id, accepted(s, newcomer), "starting", s.now + START_LEASE_MILLIS)
  return answerOf(s, { _tag: "starting", lease })
}

/** An admission that carries out an earlier decision, even if it is outdated. */
const decided = (rule: AnyRule, starts: boolean): AnyRule => ({
  ...rule,
  run: (db, keys, now, context, calls) => {
    const s = stepOf(db, keys, now, context as QueueContext)
    return calls.map((call) => {
      const newcomer = call as Newcomer
      if (starts) return letIn(s, newcomer)
      const ticket = accepted(s, newcomer)
      save(s, newcomer.id, ticket)
      enqueue(s, newcomer.id, ticket, now + s.context.graceMillis)
      return answerOf(s, place(s, newcomer.id, ticket))
    })
  },
})

/** A step that drops the signals for its gate. */
const silenced = <N extends Name>(answer: Answer<N>): Answer<N> => {
  const { signals: _, ...rest } = answer as StepAnswer<unknown>
  return rest as Answer<N>
}

export const admissionFaults: ReadonlyArray<Planted> = [
  {
    name: "an admission checks first and acts later",
    actsLate: {
      millis: 15,
      decide: (rule, { state }, { context, now }) =>
        rule.name === "queue.admit" && (state.meta.get("backoffUntil") ?? 0) < now
          ? decided(rule, state.waiting.size === 0 && state.leases.size < (context as QueueContext).slots)
          : undefined,
    },
  },
  {
    name: "a newcomer takes a free slot while others wait",
    rule: queue("admit", (s, newcomer, real) => {
      const free = s.context.slots - s.db.zcard(s.keys.leases)
      return free > 0 && s.db.zcard(s.keys.waiting) > 0 ? letIn(s, newcomer) : real()
    }),
  },
  {
    name: "no sweep calls anybody",
    rule: tampered("sweep", (db, s) => ({
      zrange: (key, first, count) => (key === s.keys.waiting ? [] : db.zrange(key, first, count)),
      zlexAfter: () => undefined,
      zrangebyscore: (key, min, max, limit, offset) =>
        key === s.keys.waiting ? [] : db.zrangebyscore(key, min, max, limit, offset),
    })),
  },
  {
    name: "the youngest is called first",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrange: (key, first, count) =>
          key === s.keys.waiting ? db.zrange(key, db.zcard(key) - 1, 1) : db.zrange(key, first, count),
        zrangebyscore: (key, min, max, limit, offset) => {
          const found = db.zrangebyscore(
            key,
            min,
            max,
            key === s.keys.waiting ? Number.POSITIVE_INFINITY : limit,
            offset,
          )
          return key === s.keys.waiting ? found.slice(-1) : found
        },
      })),
    ),
  },
  {
    name: "one opened slot calls two",
    rule: everywhere((name) =>
      name === "admit"
        ? (rule) => rule
        : tampered(name, (db, s) => ({
            zcard: (key) => db.zcard(key) - (key === s.keys.leases && db.zcard(key) === s.context.slots ? 1 : 0),
          })),
    ),
  },
  {
    name: "a called ticket stays in line",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) =>
          key === s.keys.waiting && db.zcard(s.keys.waiting) % 4 === 3 ? true : db.zrem(key, member),
      })),
    ),
  },
  {
    name: "a ticket that leaves is forgotten at once",
    rule: queue("leave", (s, { id }, real) => {
      const answer = real()
      s.db.hdel(s.keys.tickets, id)
      s.db.zrem(s.keys.forget, id)
      return answer
    }),
  },
  {
    name: "leaving keeps the slot of a called ticket",
    rule: tampered("leave", (db, s) => ({
      zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "places are assigned by time",
    rule: tampered("admit", (db, s) => ({
      hget: (key, field) => (key === s.keys.meta && field === "seq" ? String(s.now - 1) : db.hget(key, field)),
      hincrby: (key, field, by) => {
        if (field !== "seq") return db.hincrby(key, field, by)
        db.hset(key, field, String(s.now))
        return s.now
      },
    })),
  },
  {
    name: "a lost start call is never repeated",
    rule: queue("heartbeat", (_s, _call, real) => {
      const { result, ...rest } = real()
      // as for a starting ticket, of which there is nothing to report
      const tickets = (result.tickets ?? []).map((beat) =>
        beat.state === "called" ? ({ state: "starting" } as const) : beat,
      )
      return { ...rest, result: { ...result, tickets } }
    }),
  },
  {
    name: "a start call is sent to nobody",
    rule: everywhere((name) => queue(name, (_s, _call, real) => silenced(real()))),
  },
  {
    name: "nobody sweeps",
    rule: queue("sweep", () => {
      const counts = { waiting: 0, leases: 0, live: 0, doubts: 0, averageMillis: 0, quarantined: 0 }
      return { result: { more: false, ...counts, disrupted: false } }
    }),
  },
  {
    name: "nobody ticks",
    rule: queue("heartbeat", (_s, { ids }) => {
      // each as a ticket of which there is nothing to report
      const tickets = ids.map(() => ({ state: "starting" }) as const)
      return { result: { length: 0, averageMillis: 0, disrupted: false, tickets } }
    }),
  },
  {
    name: "the maximum length of the queue is ignored",
    rule: asked("admit", ({ context }) => ({ context: { ...context, maxLength: 1_000_000 } })),
  },
]
