/**
 * Planted faults: each is a plausible mistake in a rule of the store, and the simulation must find each within a
 * bounded number of histories. They exist only here, on the embedded store.
 */

import type { GateHears } from "../../src/rules/gates-shared.ts"
import { enqueue, freeSlot, place, takeSlot } from "../../src/rules/line.ts"
import { load, save } from "../../src/rules/load.ts"
import type { Newcomer } from "../../src/rules/queue/admit.ts"
import { START_LEASE_MILLIS } from "../../src/rules/queue/admit.ts"
import {
  answerOf,
  type QueueContext,
  type Settlement,
  type Step,
  type StepAnswer,
  stepOf,
} from "../../src/rules/step.ts"
import type { Ticket } from "../../src/rules/ticket.ts"
import type { Answer, AnyRule, Name } from "./did.ts"
import { outageFaults } from "./faults-outage.ts"
import { asked, each, everywhere, failedAs, queue, replaced, tampered } from "./tampering.ts"
import type { Planted } from "./world.ts"

/** A newcomer's record at the next place. */
const accepted = (s: Step, { caller, data, holds, id, network }: Newcomer): Ticket => {
  s.db.hset(s.keys.data, id, data)
  const seq = s.db.hincrby(s.keys.meta, "seq", 1)
  return {
    state: "waiting",
    seq,
    accepted: s.now,
    ...(caller !== undefined && { caller }),
    ...(holds && { holds }),
    ...(network !== undefined && { network }),
  }
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
      return answerOf(s, place(s, newcomer.id))
    })
  },
})

/** A bind, or a failed start, that ignores the lease. */
const unfenced = <A>(s: Step, { id, lease }: { readonly id: string; readonly lease: string }, real: () => A): A => {
  const ticket = load(s, id)
  if (ticket !== undefined && ticket.state !== "starting") save(s, id, { ...ticket, state: "starting", lease })
  return real()
}

/** A ticket that returns to the queue goes to its end. */
const toTheEnd = (s: Step, id: string): number | undefined => {
  const ticket = load(s, id)
  if (ticket === undefined) return undefined
  ticket.seq = s.db.hincrby(s.keys.meta, "seq", 1)
  save(s, id, ticket)
  return ticket.seq
}

/** Changes the settlements of an answer. */
const settledAs = <A>(
  { settlements, ...rest }: StepAnswer<A>,
  change: (settlement: Settlement) => Settlement,
): StepAnswer<A> => (settlements === undefined ? rest : { ...rest, settlements: settlements.map(change) })

/** A step that drops the signals for its gate. */
const silenced = <N extends Name>(answer: Answer<N>): Answer<N> => {
  const { signals: _, ...rest } = answer as StepAnswer<unknown>
  return rest as Answer<N>
}

export const faults: ReadonlyArray<Planted> = [
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
    name: "a failed start is accepted without its fence",
    rule: queue("fail", (s, call, real) => unfenced(s, call, real)),
  },
  { name: "a stale session is bound", rule: queue("bind", (s, call, real) => unfenced(s, call, real)) },
  {
    name: "a session that ended before it was bound is bound as live",
    rule: tampered("bind", (db, s) => ({
      zscore: (key, member) => (key === s.keys.endedSessions ? undefined : db.zscore(key, member)),
    })),
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
    name: "a repeated end frees the oldest slot",
    rule: queue("end", (s, { sessions }, real) => {
      const repeated = sessions.some((session) => s.db.zscore(s.keys.endedSessions, session) !== undefined)
      const [oldest] = s.db.zrange(s.keys.leases, 0, 1)
      const held = oldest === undefined ? undefined : load(s, oldest)
      if (repeated && oldest !== undefined && held !== undefined) freeSlot(s, oldest, held)
      return real()
    }),
  },
  {
    name: "an end is not remembered",
    rule: tampered("end", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.endedSessions ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a repeated end forgets the ids that it names for the first time",
    rule: tampered("end", (db, s, { sessions }) => {
      const repeated = sessions.some((session) => db.zscore(s.keys.endedSessions, session) !== undefined)
      return {
        zadd: (key, score, member) =>
          repeated && key === s.keys.endedSessions ? undefined : db.zadd(key, score, member),
      }
    }),
  },
  {
    name: "a gate takes an end that freed a slot for a repeat, like another campaign's",
    heard: (rule, answer) => {
      const ended = answer as Answer<"end">
      return rule === "queue.end" && ended.result === "released" ? { ...ended, result: "repeat" } : answer
    },
  },
  {
    name: "an end leaves the session's slot held",
    rule: tampered("end", (db, s) => ({
      zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "quota is not given back",
    rule: replaced("limits.giveBack", (real) => (asked) => (asked.call.kind === "refund" ? 0 : real(asked))),
  },
  {
    name: "a missed turn costs only what a call does",
    rule: replaced(
      "limits.giveBack",
      (real) => (asked) =>
        real(asked.call.kind === "missed" ? { ...asked, call: { ...asked.call, kind: "release" } } : asked),
    ),
  },
  {
    name: "a called ticket that leaves gets quota back",
    rule: queue("leave", (_s, _call, real) => settledAs(real(), (each) => ({ ...each, kind: "refund" }))),
  },
  {
    name: "a called ticket that leaves late pays only for a call",
    rule: queue("leave", (_s, _call, real) =>
      settledAs(real(), (each) => (each.kind === "missed" ? { ...each, kind: "release" } : each)),
    ),
  },
  {
    name: "a concurrent unit is not given back",
    rule: replaced("limits.giveBack", () => () => 0),
  },
  {
    name: "the queue forgets a settlement",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zadd: (key, score, member) => (key === s.keys.settlements ? undefined : db.zadd(key, score, member)),
      })),
    ),
  },
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
    name: "a start refused for what the caller sent is refunded",
    rule: failedAs("refused", "failed"),
  },
  {
    name: "a start refused because of the platform key is not refunded",
    rule: failedAs("failed", "refused"),
  },
  {
    name: "a platform that cannot be reached ends the ticket",
    rule: failedAs("disrupted", "failed"),
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
    name: "an alias ignores an end that was reported before",
    rule: tampered("alias", (db, s) => ({
      zscore: (key, member) => (key === s.keys.endedSessions ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "an alias accepts an ended session",
    rule: queue("alias", (s, { known }, real) =>
      s.db.hget(s.keys.sessions, known) === undefined ? { result: "kept" as const } : real(),
    ),
  },
  {
    name: "an alias stores no id",
    rule: tampered("alias", (db, s) => ({
      hset: (key, field, value) => (key === s.keys.sessions ? undefined : db.hset(key, field, value)),
    })),
  },
  {
    name: "an alias that ends a session leaves its slot held",
    rule: tampered("alias", (db, s) => ({
      zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
    })),
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
    name: "a bind repeated after a lost answer is stale",
    rule: queue("bind", (s, { id }, real) => (load(s, id)?.state === "live" ? { result: "stale" as const } : real())),
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
  ...outageFaults,
  {
    name: "the maximum length of the queue is ignored",
    rule: asked("admit", ({ context }) => ({ context: { ...context, maxLength: 1_000_000 } })),
  },
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
    name: "a request that was answered with 503 keeps its ticket",
    // removes all withdrawn ids whose admission is pending
    rule: asked("withdraw", ({ call }, s) => ({ call: { ids: call.ids.filter((id) => load(s, id) === undefined) } })),
  },
  {
    name: "an admission that arrives after its withdrawal is accepted",
    rule: tampered("admit", (db, s) => ({
      zscore: (key, member) => (key === s.keys.forget ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "a withdrawn ticket leaves its slot held",
    rule: each(["withdraw", "reportOutage"], (name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
      })),
    ),
  },
  { name: "a stopping gate does not wait for its starts", hasty: true },
  {
    name: "the webhooks of a removed campaign free nothing",
    rule: queue("end", (s, _call, real) => (s.context.slots === 0 ? { result: "unknown" as const } : real())),
  },
  {
    name: "a gate ignores campaigns that it does not serve",
    heard: (rule, answer) => {
      if (rule !== "gates.heartbeat") return answer
      const { removed: _, ...hears } = answer as GateHears
      return hears
    },
  },
  {
    name: "tickets in a removed campaign wait forever",
    rule: queue("clear", () => ({ result: { _tag: "served" as const } })),
  },
  {
    name: "a campaign is cleared while another gate serves it",
    heard: (rule, answer) => {
      const { removed, ...hears } = answer as GateHears
      if (rule !== "gates.heartbeat" || removed === undefined) return answer
      return { ...hears, removed: removed.map((each) => ({ ...each, seenAt: 1 })) }
    },
    rule: asked("clear", () => ({ call: { unservedMillis: 0 } })),
  },
  {
    name: "tickets removed with their campaign get no quota back",
    rule: queue("clear", (_s, _call, real) => {
      const { settlements: _, ...rest } = real()
      return rest
    }),
  },
  {
    name: "a called ticket that starts at a gate without its campaign ends there",
    rule: asked("fail", ({ call, context }) => ({
      call: context.slots === 0 ? { ...call, reason: "failed" as const } : call,
    })),
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
