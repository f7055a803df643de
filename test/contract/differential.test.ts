/**
 * Memory and Redis answer alike: random histories run on the memory store, whose data are checked after every step, and
 * are replayed on a real Redis by the compiled Lua. Every answer, every message and the final data must be equal.
 *
 * Seeds are 1, 2, 3…; `DIFFERENTIAL_SEED` sets the first and `DIFFERENTIAL_HISTORIES` the number: a failure is repeated
 * with its seed and 1.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { takeSlot } from "../../src/rules/line.ts"
import { START_LEASE_MILLIS } from "../../src/rules/queue/admit.ts"
import { answerOf, type QueueContext, type StepAnswer, stepOf } from "../../src/rules/step.ts"
import type { Rule } from "../../src/Store.ts"
import { type RedisServer, startRedis } from "../support/redis.ts"
import { describeStep, type History } from "./differential/history.ts"
import { rules as limiter, limiterHistory } from "./differential/limiter-history.ts"
import { rules as queue, queueHistory } from "./differential/queue-history.ts"
import { makeReplayer, type Replayer } from "./differential/replay.ts"

const FIRST = Number(process.env.DIFFERENTIAL_SEED ?? "1")
const HISTORIES = process.env.DIFFERENTIAL_HISTORIES
const BATCH = 200

const failed = (seed: number, what: string): Error =>
  new Error(`seed ${seed} (repeat with DIFFERENTIAL_SEED=${seed} DIFFERENTIAL_HISTORIES=1)\n${what}`)

/** The word that classifies an answer of the queue. */
const kindOf = (answer: unknown): string => {
  let said: unknown = answer
  while (typeof said === "object" && said !== null && "result" in said) said = said.result
  return typeof said === "object" && said !== null && "_tag" in said ? String(said._tag) : String(said)
}

describe("the rules, as they are and as Lua,", () => {
  let server: RedisServer | undefined
  let replayer: Replayer | undefined
  const opened = (): Replayer => {
    if (replayer === undefined) throw new Error("the server has not started")
    return replayer
  }
  beforeAll(async () => {
    server = await startRedis()
    replayer = await makeReplayer(server)
  })
  afterAll(async () => {
    replayer?.close()
    await server?.dispose()
  })

  /** Runs histories until one fails. */
  const play = async (count: number, history: (seed: number) => History): Promise<ReadonlyMap<string, number>> => {
    const kinds = new Map<string, number>()
    for (let from = FIRST; from < FIRST + count; from += BATCH) {
      const batch: Array<History> = []
      for (let seed = from; seed < Math.min(from + BATCH, FIRST + count); seed++) {
        const made = history(seed)
        if (made.wrong.length > 0) throw failed(seed, [...made.wrong, ...made.steps.map(describeStep)].join("\n"))
        batch.push(made)
        for (const { answer, rule } of made.steps) {
          const kind = `${rule.name} ${kindOf(answer)}`
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        }
      }
      const [mismatch] = await opened().replay(batch)
      if (mismatch !== undefined) throw failed(mismatch.seed, mismatch.report)
    }
    return kinds
  }

  it("of the queue answer alike in 10,000 histories, and no invariant is broken", { timeout: 300_000 }, async () => {
    const count = Number(HISTORIES ?? "10000")
    const before = opened().counts()
    const kinds = await play(count, queueHistory)
    const after = opened().counts()
    assert.isAtLeast(after.answers - before.answers, 25 * count)
    if (count < 1_000) return
    assert.isAbove(after.messages - before.messages, count / 2)
    // the histories reach every kind of answer
    for (const [name, results] of Object.entries({
      "queue.admit": ["starting", "waiting", "full", "draining"],
      "queue.start": ["starting", "waiting", "busy", "live", "over", "unknown"],
      "queue.bind": ["live", "ended", "stale"],
      "queue.alias": ["kept", "ended", "stale"],
      "queue.fail": ["waiting", "failed", "stale"],
      "queue.resolve": ["running", "open", "free", "stale"],
      "queue.end": ["released", "repeat", "unknown"],
      "queue.leave": ["left", "busy", "over", "unknown"],
      "queue.clear": ["cleared", "served"],
      "queue.attach": ["waiting", "called", "starting", "live", "over", "unknown"],
      "operator.turnSwitch": ["done", "already"],
      "operator.callOne": ["called", "no_slot", "nobody"],
      "operator.remove": ["removed", "gone"],
      "operator.endLease": ["ended", "gone"],
    })) {
      for (const result of results) assert.isAbove(kinds.get(`${name} ${result}`) ?? 0, 30, `${name} ${result}`)
    }
  })

  it("of the rate limiter answer alike in 2,500 histories, and as by counting", { timeout: 300_000 }, async () => {
    await play(Number(HISTORIES ?? "2500"), limiterHistory)
  })

  describe("are found to differ when one of them is wrong:", () => {
    /** A history ends at the first broken invariant, so Redis may not see the consequences. */
    type Finder = "invariants" | "Redis"
    /** A rule that sees something else in memory, or does something more. */
    const wrongly = <C extends object, K extends object, A>(
      right: Rule<C, K, A>,
      run: Rule<C, K, A>["run"],
    ): Rule<C, K, A> => ({ ...right, run })
    const [TICKETS, LEASES, ENDED] = [1, 5, 7]
    const leaseOf = (tickets: string | undefined): string => JSON.parse(tickets ?? "{}").lease ?? "0"

    const finds = (what: string, wrong: (seed: number) => History, by: ReadonlyArray<Finder>) =>
      it(what, { timeout: 60_000 }, async () => {
        const histories = Array.from({ length: 300 }, (_, seed) => wrong(seed + 1))
        const found: Array<Finder> = []
        if (histories.some((history) => history.wrong.length > 0)) found.push("invariants")
        if ((await opened().replay(histories)).length > 0) found.push("Redis")
        assert.deepStrictEqual(found, by)
      })

    const impatient = wrongly(queue.admit, (db, keys, now, context, calls) => {
      const s = stepOf(db, keys, now, context)
      if (db.zcard(s.keys.leases) >= context.slots) return queue.admit.run(db, keys, now, context, calls)
      return calls.map(({ data, id }) => {
        const seq = db.hincrby(s.keys.meta, "seq", 1)
        const ticket = { state: "starting", seq, accepted: now } as const
        const lease = takeSlot(s, id, ticket, "starting", now + START_LEASE_MILLIS)
        db.hset(s.keys.data, id, data)
        return answerOf(s, { _tag: "starting", lease })
      })
    })
    finds("an admission that overtakes waiting tickets", (seed) => queueHistory(seed, { ...queue, admit: impatient }), [
      "invariants",
      "Redis",
    ])

    const unfenced = wrongly(queue.bind, (db, keys, now, context, calls) => {
      const anyLease = calls.map((call) => ({ ...call, lease: leaseOf(db.hget(keys[TICKETS] ?? "", call.id)) }))
      return queue.bind.run(db, keys, now, context, anyLease)
    })
    finds("a bind that does not check its lease", (seed) => queueHistory(seed, { ...queue, bind: unfenced }), ["Redis"])

    const forgetful = wrongly(queue.end, (db, keys, now, context, calls) => {
      const answers = queue.end.run(db, keys, now, context, calls)
      for (const session of calls.flatMap(({ sessions }) => sessions)) db.zrem(keys[ENDED] ?? "", session)
      return answers
    })
    finds("an end that is not remembered", (seed) => queueHistory(seed, { ...queue, end: forgetful }), ["Redis"])

    const leaking = wrongly(queue.leave, (db, keys, now, context, calls) => {
      const held = calls.map(({ id }) => [id, db.zscore(keys[LEASES] ?? "", id)] as const)
      const answers = queue.leave.run(db, keys, now, context, calls)
      for (const [id, deadline] of held) if (deadline !== undefined) db.zadd(keys[LEASES] ?? "", deadline, id)
      return answers
    })
    const heedless = wrongly(queue.callOne, (db, keys, now, context, calls) =>
      queue.callOne.run(db, keys, now, { ...context, slots: context.slots + 1 }, calls),
    )
    finds("an operator's call that exceeds the slots", (seed) => queueHistory(seed, { ...queue, callOne: heedless }), [
      "invariants",
      "Redis",
    ])

    const blind = <K extends object, R>(right: Rule<QueueContext, K, StepAnswer<R>>) =>
      wrongly(right, (db, keys, now, context, calls) => right.run(db, keys, now, { ...context, share: 1 }, calls))
    const blinded = {
      ...queue,
      ...{ admit: blind(queue.admit), start: blind(queue.start), fail: blind(queue.fail) },
      ...{ end: blind(queue.end), leave: blind(queue.leave), sweep: blind(queue.sweep) },
    }
    const rash = wrongly(queue.fail, (db, keys, now, context, calls) => {
      const answered = calls.map((call) => (call.reason === "doubt" ? { ...call, reason: "answered" as const } : call))
      return queue.fail.run(db, keys, now, context, answered)
    })
    finds("a start in doubt that gives up its slot", (seed) => queueHistory(seed, { ...queue, fail: rash }), ["Redis"])

    finds("a call that ignores the share of a network", (seed) => queueHistory(seed, blinded), ["invariants", "Redis"])

    const lavish = wrongly(queue.admit, (db, keys, now, context, calls) => {
      const ofNone = calls.map(({ network: _, ...newcomer }) => newcomer)
      return queue.admit.run(db, keys, now, context, ofNone)
    })
    finds("an admission that does not count its network", (seed) => queueHistory(seed, { ...queue, admit: lavish }), [
      "Redis",
    ])

    const blunt = wrongly(queue.endLease, (db, keys, now, context, calls) => {
      const anyLease = calls.map((call) => {
        const [id = ""] = db.zrangebyscore(keys[LEASES] ?? "", call.deadline, call.deadline, 1)
        return { ...call, lease: leaseOf(db.hget(keys[TICKETS] ?? "", id)) }
      })
      return queue.endLease.run(db, keys, now, context, anyLease)
    })
    finds("an operator's end of the wrong lease", (seed) => queueHistory(seed, { ...queue, endLease: blunt }), [
      "Redis",
    ])

    const eager = wrongly(queue.clear, (db, keys, now, context, calls) =>
      queue.clear.run(
        db,
        keys,
        now,
        context,
        calls.map(() => ({ unservedMillis: 0 })),
      ),
    )
    finds("a clearing of tickets accepted or called since", (seed) => queueHistory(seed, { ...queue, clear: eager }), [
      "Redis",
    ])

    finds("a leave that keeps its slot", (seed) => queueHistory(seed, { ...queue, leave: leaking }), ["invariants"])

    const hasty = wrongly(queue.start, (db, keys, now, context, calls) =>
      queue.start.run(db, keys, now + 1, context, calls),
    )
    finds("a start window that is a millisecond too short", (seed) => queueHistory(seed, { ...queue, start: hasty }), [
      "invariants",
      "Redis",
    ])

    const generous = wrongly(limiter.take, (db, keys, now, context, calls) =>
      limiter.take.run(db, keys, now + 1, context, calls),
    )
    finds("an hour that is a millisecond too short", (seed) => limiterHistory(seed, { ...limiter, take: generous }), [
      "invariants",
      "Redis",
    ])
  })
})
