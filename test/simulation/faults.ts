/**
 * Faults planted on purpose: each is a mistake that somebody could make in a script of the store, and each must be seen by
 * the simulation within a bounded number of histories. They live on the embedded store alone and exist only here.
 */
import { Step } from "../../src/queue/step.ts"
import type { Reply, Script } from "../../src/Store.ts"
import { list } from "../../src/store/reply.ts"
import { outageFaults } from "./faults-outage.ts"
import { everywhere, failedAs, queue, replaced, tampered } from "./tampering.ts"
import type { Planted } from "./world.ts"

/** An admission that does what was decided, whatever is true by now. */
const decided = (script: Script, starts: boolean): Script => ({
  ...script,
  memory: (db, keys, args) => {
    const s = new Step(db, keys, args)
    const id = s.arg(0)
    const seq = String(db.hincrby(s.meta, "seq", 1))
    db.hset(s.data, id, s.arg(5))
    if (starts) {
      return s.reply(["starting", s.reserve(id, ["w", seq, "0", "", s.arg(4), "0"], "s", Number(s.arg(3)))])
    }
    s.save(id, ["w", seq, "0", "", s.arg(4), "0"])
    db.zadd(s.waiting, Number(seq), id)
    db.zadd(s.presence, Number(s.arg(2)), id)
    return s.reply(s.place(id))
  },
})

/** A binding, or the telling of a start that failed, that does not look at the lease. */
const unfenced = (s: Step, real: () => Reply): Reply => {
  const t = s.load(s.arg(0))
  if (t === undefined || t[0] === "s") return real()
  t[0] = "s"
  t[2] = s.arg(1)
  s.save(s.arg(0), t)
  return real()
}

export const faults: ReadonlyArray<Planted> = [
  {
    name: "an admission checks first and acts later",
    actsLate: {
      millis: 15,
      decide: (script, { state }, args) =>
        script.name === "queue.admit" && (state.meta.get("rest") ?? 0) < Number(args[0])
          ? decided(script, state.waiting.size === 0 && state.leases.size < Number(args[1]))
          : undefined,
    },
  },
  {
    name: "a newcomer takes a free slot while others wait",
    script: queue("admit", (s, real) => {
      if (s.db.zcard(s.leases) >= s.slots || s.db.zcard(s.waiting) === 0) return real()
      const id = s.arg(0)
      s.db.hset(s.data, id, s.arg(5))
      const seq = String(s.db.hincrby(s.meta, "seq", 1))
      return s.reply(["starting", s.reserve(id, ["w", seq, "0", "", s.arg(4), "0"], "s", Number(s.arg(3)))])
    }),
  },
  { name: "a failed start is told without its fence", script: queue("fail", unfenced) },
  { name: "a stale session is bound", script: queue("bind", unfenced) },
  {
    name: "a session that ended before it was bound is bound all the same",
    script: tampered("bind", (db, s) => ({
      zscore: (key, member) => (key === s.overs ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "no sweep wakes anybody",
    script: tampered("sweep", (db, s) => ({
      zat: (key, rank) => (key === s.waiting ? undefined : db.zat(key, rank)),
      zlexAfter: () => undefined,
      zrangebyscore: (key, min, max, limit, offset) =>
        key === s.waiting ? [] : db.zrangebyscore(key, min, max, limit, offset),
    })),
  },
  {
    name: "the youngest is called first",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zat: (key) => db.zat(key, key === s.waiting ? db.zcard(key) - 1 : 0),
        zrangebyscore: (key, min, max, limit, offset) => {
          const found = db.zrangebyscore(key, min, max, key === s.waiting ? Number.POSITIVE_INFINITY : limit, offset)
          return key === s.waiting ? found.slice(-1) : found
        },
      })),
    ),
  },
  {
    name: "one opened slot calls two",
    script: everywhere((name) =>
      name === "admit"
        ? (script) => script
        : tampered(name, (db, s) => ({
            zcard: (key) => db.zcard(key) - (key === s.leases && db.zcard(key) === s.slots ? 1 : 0),
          })),
    ),
  },
  {
    name: "a called ticket stays in line",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) => (key === s.waiting && db.zcard(s.waiting) % 4 === 3 ? true : db.zrem(key, member)),
      })),
    ),
  },
  {
    name: "a repeated end frees the oldest slot",
    script: queue("end", (s, real) => {
      const repeated = s.args.some((session) => s.db.zscore(s.overs, session) !== undefined)
      const oldest = s.db.zat(s.leases, 0)
      const held = oldest === undefined ? undefined : s.load(oldest)
      if (repeated && oldest !== undefined && held !== undefined) s.free(oldest, held)
      return real()
    }),
  },
  {
    name: "an end forgets that it happened",
    script: tampered("end", (db, s) => ({
      zadd: (key, score, member) => (key === s.overs ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "an end that is told again forgets the ids that it names for the first time",
    script: tampered("end", (db, s) => {
      const repeated = s.args.some((session) => db.zscore(s.overs, session) !== undefined)
      return { zadd: (key, score, member) => (repeated && key === s.overs ? undefined : db.zadd(key, score, member)) }
    }),
  },
  {
    name: "a gate takes an end that freed a slot for a repeat, as that of another campaign is",
    heard: (script, reply) => {
      const [result, signals = [], settlements = []] = script === "queue.end" ? list(reply) : []
      return result !== undefined && list(result)[0] === "released" ? [["repeat"], signals, settlements] : reply
    },
  },
  {
    name: "an end leaves the session's slot taken",
    script: tampered("end", (db, s) => ({
      zrem: (key, member) => (key === s.leases ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "quota is not given back",
    script: replaced("limit.giveBack", (real) => (db, keys, args) => (args[2] === "refund" ? 0 : real(db, keys, args))),
  },
  {
    name: "a missed turn costs what a call does",
    script: replaced(
      "limit.giveBack",
      (real) => (db, keys, args) => real(db, keys, args.with(2, args[2] === "missed" ? "release" : (args[2] ?? ""))),
    ),
  },
  {
    name: "whoever was called and leaves gets quota back",
    script: queue("leave", (_, real) => {
      const [result = [], signals = [], owed] = list(real())
      return [result, signals, list(owed).map((each) => ["refund", ...list(each).slice(1)])]
    }),
  },
  {
    name: "whoever is called and leaves late pays as for a call",
    script: queue("leave", (_, real) => {
      const [result = [], signals = [], owed] = list(real())
      return [
        result,
        signals,
        list(owed).map((each) => list(each).map((text) => (text === "missed" ? "release" : text))),
      ]
    }),
  },
  {
    name: "a concurrent unit is not given back",
    script: replaced("limit.giveBack", () => () => 0),
  },
  {
    name: "a settlement is forgotten by the queue",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zadd: (key, score, member) => (key === s.settle ? undefined : db.zadd(key, score, member)),
      })),
    ),
  },
  {
    name: "presence never expires",
    script: tampered("admit", (db, s) => ({
      zadd: (key, score, member) => db.zadd(key, key === s.presence ? score + 86_400_000 : score, member),
    })),
  },
  {
    name: "a sweep does not look for the absent",
    script: tampered("sweep", (db, s) => ({
      zrangebyscore: (key, min, max, limit, offset) =>
        key === s.presence ? [] : db.zrangebyscore(key, min, max, limit, offset),
    })),
  },
  {
    name: "a heartbeat keeps nobody present",
    script: tampered("touch", (db, s) => ({
      zadd: (key, score, member) => (key === s.presence ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a lease past its deadline is kept",
    script: tampered("sweep", (db, s) => ({
      zrangebyscore: (key, min, max, limit, offset) =>
        key === s.leases ? [] : db.zrangebyscore(key, min, max, limit, offset),
    })),
  },
  {
    name: "a start that comes too late is let through",
    script: tampered("start", (db, s) => ({
      zscore: (key, member) => (key === s.leases ? Number.MAX_SAFE_INTEGER : db.zscore(key, member)),
    })),
  },
  {
    name: "a ticket that is starting may start again",
    script: queue("start", (s, real) => {
      const t = s.load(s.arg(0))
      return t?.[0] === "s" ? s.reply(["starting", t[2], s.db.hget(s.data, s.arg(0)) ?? ""]) : real()
    }),
  },
  {
    name: "a rest never ends",
    script: tampered("fail", (db, s) => ({
      hset: (key, field, value) => db.hset(key, field, field === "rest" ? String(s.now + 86_400_000) : value),
    })),
  },
  {
    name: "a full platform is left alone for long, though no call runs whose end would say that there is room",
    script: tampered("fail", (db) => ({
      hget: (key, field) => (field === "live" ? "1" : db.hget(key, field)),
    })),
  },
  {
    name: "an end leaves the campaign resting",
    script: tampered("end", (db) => ({
      hdel: (key, field) => (field === "rest" ? undefined : db.hdel(key, field)),
    })),
  },
  {
    name: "a ticket that the platform had no room for goes to the end of the line",
    script: tampered("fail", (db, s) => ({
      zadd: (key, score, member) => {
        if (key !== s.waiting) return db.zadd(key, score, member)
        const t = s.load(member)
        if (t === undefined) return
        t[1] = String(db.hincrby(s.meta, "seq", 1))
        s.save(member, t)
        db.zadd(key, Number(t[1]), member)
      },
    })),
  },
  {
    name: "a start that was refused for what the caller sent is refunded",
    script: failedAs("refused", "failed"),
  },
  {
    name: "a start that the platform's key is refused is not refunded",
    script: failedAs("failed", "refused"),
  },
  {
    name: "a platform that cannot be reached ends the ticket",
    script: failedAs("disrupted", "failed"),
  },
  {
    name: "a platform that cannot be reached is asked by all at once",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        hget: (key, field) => (key === s.meta && field === "disrupted" ? undefined : db.hget(key, field)),
      })),
    ),
  },
  {
    name: "a turn is missed while the platform cannot be reached",
    script: everywhere((name) =>
      tampered(name, (db, s) => {
        let passing = false
        return {
          // a turn passes between the end of its lease and what is asked next
          zrem: (key, member) => {
            passing = key === s.leases && s.load(member)?.[0] === "c"
            return db.zrem(key, member)
          },
          hget: (key, field) => (passing && key === s.meta && field === "disrupted" ? undefined : db.hget(key, field)),
        }
      }),
    ),
  },
  {
    name: "a ticket whose start failed loses its place at once",
    script: failedAs("answered", "failed"),
  },
  {
    name: "a start that may have happened gives up its slot",
    script: failedAs("doubt", "answered"),
  },
  {
    name: "a start in doubt is given up though the platform has its session",
    script: replaced("queue.resolve", (real) => (db, keys, args) => real(db, keys, args.slice(0, 7))),
  },
  {
    name: "a ticket is called while a session of it may run",
    script: tampered("fail", (db, s) => ({
      zadd: (key, score, member) => (key === s.parkedKey ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a ticket whose start is in doubt is never called again",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) => (key === s.parkedKey && s.load(member)?.[0] === "w" ? false : db.zrem(key, member)),
      })),
    ),
  },
  {
    name: "the slot of a start in doubt is never free again",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) => (key === s.leases && member.startsWith("?") ? true : db.zrem(key, member)),
      })),
    ),
  },
  {
    name: "a start whose gate died frees its slot",
    script: tampered("sweep", (db, s) => ({
      zadd: (key, score, member) =>
        key === s.leases && member.startsWith("?") ? undefined : db.zadd(key, score, member),
    })),
  },
  {
    name: "a limit of the key's requests backs off as a full platform does",
    script: failedAs("limited", "capacity"),
  },
  {
    name: "a limit of the key's requests ends the ticket",
    script: failedAs("limited", "refused"),
  },
  {
    name: "a ticket that met the limit of the key's requests goes to the end of the line",
    script: tampered("fail", (db, s) => ({
      zadd: (key, score, member) => {
        const t = key === s.waiting && s.arg(2) === "limited" ? s.load(member) : undefined
        if (t === undefined) return db.zadd(key, score, member)
        t[1] = String(db.hincrby(s.meta, "seq", 1))
        s.save(member, t)
        db.zadd(key, Number(t[1]), member)
      },
    })),
  },
  {
    name: "an alias forgets an end that was told before",
    script: tampered("alias", (db, s) => ({
      zscore: (key, member) => (key === s.overs ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "an alias answers for a session that is over",
    script: queue("alias", (s, real) => (s.db.hget(s.sessions, s.arg(0)) === undefined ? s.reply(["kept"]) : real())),
  },
  {
    name: "an alias keeps no id",
    script: tampered("alias", (db, s) => ({
      hset: (key, field, value) => (key === s.sessions ? undefined : db.hset(key, field, value)),
    })),
  },
  {
    name: "an alias that ends a session leaves its slot taken",
    script: tampered("alias", (db, s) => ({
      zrem: (key, member) => (key === s.leases ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "whoever leaves is forgotten at once",
    script: queue("leave", (s, real) => {
      const reply = real()
      s.db.hdel(s.tickets, s.arg(0))
      s.db.zrem(s.forget, s.arg(0))
      return reply
    }),
  },
  {
    name: "leaving a called ticket keeps its slot",
    script: tampered("leave", (db, s) => ({
      zrem: (key, member) => (key === s.leases ? true : db.zrem(key, member)),
    })),
  },
  {
    name: "places are given by the time",
    script: tampered("admit", (db, s) => ({
      hincrby: (key, field, by) => {
        if (field !== "seq") return db.hincrby(key, field, by)
        db.hset(key, field, String(s.now))
        return s.now
      },
    })),
  },
  {
    name: "a lost start call is never told again",
    script: queue("touch", (_s, real) => {
      const reply = real()
      return quieted(reply)
    }),
  },
  {
    name: "a start call goes to nobody",
    script: everywhere((name) => queue(name, (_s, real) => silenced(real()))),
  },
  {
    name: "nobody sweeps",
    script: replaced("queue.sweep", () => () => [[0, 0, 0, 0, 0, []], [], []]),
  },
  {
    name: "nobody ticks",
    script: replaced("queue.touch", () => () => [[0, 0, []], [], []]),
  },
  {
    name: "a session that is bound again, because the first answer was lost, is stale",
    script: queue("bind", (s, real) => (s.load(s.arg(0))?.[0] === "l" ? s.reply(["stale"]) : real())),
  },
  {
    name: "an outage is held against those who wait",
    script: everywhere((name) =>
      tampered(name, (db) => ({
        hget: (key, field) => (field === "swept" || field === "mercy" ? undefined : db.hget(key, field)),
      })),
    ),
  },
  {
    name: "after an outage nobody ever counts as absent",
    script: tampered("sweep", (db, s) => ({
      hset: (key, field, value) => db.hset(key, field, field === "mercy" ? String(s.now + 86_400_000) : value),
    })),
  },
  ...outageFaults,
  {
    name: "the longest queue is no limit",
    script: replaced("queue.admit", (real) => (db, keys, args) => real(db, keys, args.with(6, "1000000"))),
  },
  {
    name: "a network beyond its share is called while another waits",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        hget: (key, field) => (key === s.networks && field.startsWith("h") ? undefined : db.hget(key, field)),
      })),
    ),
  },
  {
    name: "whoever was passed over is forgotten while others wait",
    script: everywhere((name) => tampered(name, () => ({ zlexAfter: () => undefined }))),
  },
  {
    name: "a slot stays empty because all who wait are of one network",
    script: everywhere((name) =>
      tampered(name, (db, s) => ({
        // whoever is looked for without regard to networks
        zrangebyscore: (key, min, max, limit, offset) =>
          key === s.waiting && min === Number.NEGATIVE_INFINITY && Number.isFinite(limit)
            ? []
            : db.zrangebyscore(key, min, max, limit, offset),
      })),
    ),
  },
  {
    name: "a request that was answered 503 keeps its ticket",
    // all that is withdrawn is what is yet to come
    script: replaced(
      "queue.withdraw",
      (real) => (db, keys, args) =>
        real(
          db,
          keys,
          args.filter((id, n) => n < 5 || new Step(db, keys, args).load(id) === undefined),
        ),
    ),
  },
  {
    name: "an admission that comes after its withdrawal is let in",
    script: tampered("admit", (db, s) => ({
      zscore: (key, member) => (key === s.forget ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "a withdrawn ticket leaves its slot taken",
    script: tampered("withdraw", (db, s) => ({
      zrem: (key, member) => (key === s.leases ? true : db.zrem(key, member)),
    })),
  },
  { name: "a gate that is told to stop does not wait for what it is starting", hasty: true },
  {
    name: "a removed campaign's webhooks free nothing",
    script: queue("end", (s, real) => (s.slots === 0 ? s.reply(["unknown"]) : real())),
  },
  {
    name: "a gate knows nothing of campaigns that it does not serve",
    heard: (script, reply) => (script === "gates.beat" ? list(reply).map((part, n) => (n === 2 ? [] : part)) : reply),
  },
  {
    name: "whoever waits in a removed campaign waits for ever",
    script: replaced("queue.clear", () => () => [[1], [], []]),
  },
  {
    name: "a campaign is cleared while another gate serves it",
    heard: (script, reply) =>
      script === "gates.beat"
        ? list(reply).map((part, n) =>
            n === 2 ? list(part).map((row) => list(row).map((each, i) => (i === 1 ? "1" : each))) : part,
          )
        : reply,
    script: replaced("queue.clear", (real) => (db, keys, args) => real(db, keys, args.with(5, args[0] ?? ""))),
  },
  {
    name: "whoever is sent away from a removed campaign gets no quota back",
    script: queue("clear", (_, real) => {
      const [result = [], signals = []] = list(real())
      return [result, signals, []]
    }),
  },
  {
    name: "a called ticket that comes to a gate without its campaign ends there",
    script: replaced(
      "queue.fail",
      (real) => (db, keys, args) => real(db, keys, args[1]?.startsWith("0") === true ? args.with(7, "failed") : args),
    ),
  },
  {
    name: "a network takes all places",
    script: tampered("admit", (db, s) => ({
      hget: (key, field) => (key === s.networks && field.startsWith("w") ? undefined : db.hget(key, field)),
    })),
  },
  {
    name: "a slot that was given back is still its network's",
    script: tampered("end", (db, s) => ({
      hincrby: (key, field, by) => (key === s.networks && by < 0 ? 1 : db.hincrby(key, field, by)),
    })),
  },
]

/** A touch that does not say who is called. */
const quieted = (reply: Reply): Reply => {
  if (!Array.isArray(reply)) return reply
  const [[length, average, tickets], ...rest] = reply
  const quiet = tickets.map((ticket: ReadonlyArray<Reply>) => (ticket[0] === "c" ? ["s"] : ticket))
  return [[length, average, quiet], ...rest]
}

/** A step that leaves no signal to its gate. */
const silenced = (reply: Reply): Reply => {
  if (!Array.isArray(reply)) return reply
  const [result, , settlements] = reply
  return [result, [], settlements]
}
