/**
 * Memory and Redis answer alike: random histories are made on the memory twins, whose state is checked after every step, and
 * played on a real Redis, where every reply, every message and the data at the end must be the same.
 *
 * Seeds are 1, 2, 3…; `DIFFERENTIAL_SEED` begins elsewhere and `DIFFERENTIAL_HISTORIES` says how many: a failure is
 * repeated with its seed and 1.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { script } from "../../src/queue/step.ts"
import type { Reply, Script } from "../../src/Store.ts"
import { type RedisServer, startRedis } from "../support/redis.ts"
import { describeStep, type History } from "./differential/history.ts"
import { scripts as limiter, limiterHistory } from "./differential/limiter-history.ts"
import { scripts as queue, queueHistory } from "./differential/queue-history.ts"
import { makeReplayer, type Replayer } from "./differential/replay.ts"

const FIRST = Number(process.env.DIFFERENTIAL_SEED ?? "1")
const HISTORIES = process.env.DIFFERENTIAL_HISTORIES
const BATCH = 200

const failed = (seed: number, what: string): Error =>
  new Error(`seed ${seed} (repeat with DIFFERENTIAL_SEED=${seed} DIFFERENTIAL_HISTORIES=1)\n${what}`)

/** The word that a script of the queue answers first. */
const kindOf = (reply: Reply): string => {
  let first: Reply | undefined = reply
  while (typeof first === "object") first = first[0]
  return String(first)
}

describe("the twins of every script", () => {
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

  /** Plays histories until one is wrong. */
  const play = async (count: number, history: (seed: number) => History): Promise<ReadonlyMap<string, number>> => {
    const answers = new Map<string, number>()
    for (let from = FIRST; from < FIRST + count; from += BATCH) {
      const batch: Array<History> = []
      for (let seed = from; seed < Math.min(from + BATCH, FIRST + count); seed++) {
        const made = history(seed)
        if (made.wrong.length > 0) throw failed(seed, [...made.wrong, ...made.steps.map(describeStep)].join("\n"))
        batch.push(made)
        for (const { reply, script } of made.steps) {
          const answer = `${script.name} ${kindOf(reply)}`
          answers.set(answer, (answers.get(answer) ?? 0) + 1)
        }
      }
      const [mismatch] = await opened().replay(batch)
      if (mismatch !== undefined) throw failed(mismatch.seed, mismatch.report)
    }
    return answers
  }

  it("of the queue answer alike in 10,000 histories, and no invariant is broken", { timeout: 300_000 }, async () => {
    const count = Number(HISTORIES ?? "10000")
    const before = opened().counts()
    const answers = await play(count, queueHistory)
    const after = opened().counts()
    assert.isAtLeast(after.replies - before.replies, 25 * count)
    if (count < 1_000) return
    assert.isAbove(after.messages - before.messages, count / 2)
    // the histories go everywhere
    for (const [name, results] of Object.entries({
      admit: ["starting", "waiting", "full", "draining"],
      start: ["starting", "waiting", "busy", "live", "over", "unknown"],
      bind: ["live", "ended", "stale"],
      fail: ["waiting", "failed", "stale"],
      resolve: ["running", "open", "free", "stale"],
      end: ["released", "repeat", "unknown"],
      leave: ["left", "busy", "over", "unknown"],
      clear: ["0"],
      attach: ["waiting", "called", "starting", "live", "over", "unknown"],
      "operator.turn": ["done", "already"],
      "operator.call": ["called", "no_slot", "nobody"],
      "operator.remove": ["removed", "gone"],
      "operator.end": ["ended", "gone"],
    })) {
      for (const result of results) assert.isAbove(answers.get(`queue.${name} ${result}`) ?? 0, 30, `${name} ${result}`)
    }
  })

  it("of the rate limiter answer alike in 2,500 histories, and as by counting", { timeout: 300_000 }, async () => {
    await play(Number(HISTORIES ?? "2500"), limiterHistory)
  })

  describe("are found to differ when one of them is wrong:", () => {
    /** A history ends where an invariant is broken, so that Redis may not see the consequences. */
    type Finder = "invariants" | "Redis"
    /** A script whose memory twin sees other arguments, or does something more. */
    const wrongly = (right: Script, memory: Script["memory"]): Script => ({ ...right, memory })
    const [TICKETS, LEASES, OVER] = [1, 5, 7]

    const finds = (what: string, wrong: (seed: number) => History, by: ReadonlyArray<Finder>) =>
      it(what, { timeout: 60_000 }, async () => {
        const histories = Array.from({ length: 300 }, (_, seed) => wrong(seed + 1))
        const found: Array<Finder> = []
        if (histories.some((history) => history.wrong.length > 0)) found.push("invariants")
        if ((await opened().replay(histories)).length > 0) found.push("Redis")
        assert.deepStrictEqual(found, by)
      })

    const ignorant = script("admit", queue.admit.lua, (s) => {
      if (s.db.zcard(s.leases) >= s.slots) return ["full", 0, 0]
      const seq = String(s.db.hincrby(s.meta, "seq", 1))
      const lease = s.reserve(s.arg(0), ["w", seq, "0", "", s.arg(4), "0", String(s.now)], "s", Number(s.arg(3)))
      s.db.hset(s.data, s.arg(0), s.arg(5))
      return s.reply(["starting", lease])
    })
    const impatient = wrongly(queue.admit, (db, keys, args) =>
      db.zcard(keys[LEASES] ?? "") < Number.parseInt(args[1] ?? "", 10)
        ? ignorant.memory(db, keys, args)
        : queue.admit.memory(db, keys, args),
    )
    finds("an admission that passes those who wait", (seed) => queueHistory(seed, { ...queue, admit: impatient }), [
      "invariants",
      "Redis",
    ])

    const unfenced = wrongly(queue.bind, (db, keys, [...args]) => {
      const record: ReadonlyArray<string> = JSON.parse(db.hget(keys[TICKETS] ?? "", args[5] ?? "") ?? "[]")
      args[6] = record[2] ?? ""
      return queue.bind.memory(db, keys, args)
    })
    finds("a binding that does not look at its lease", (seed) => queueHistory(seed, { ...queue, bind: unfenced }), [
      "Redis",
    ])

    const forgetful = wrongly(queue.end, (db, keys, args) => {
      const reply = queue.end.memory(db, keys, args)
      for (const session of args.slice(5)) db.zrem(keys[OVER] ?? "", session)
      return reply
    })
    finds("an end that is not remembered", (seed) => queueHistory(seed, { ...queue, end: forgetful }), ["Redis"])

    const leaking = wrongly(queue.leave, (db, keys, args) => {
      const deadline = db.zscore(keys[LEASES] ?? "", args[5] ?? "")
      const reply = queue.leave.memory(db, keys, args)
      if (deadline !== undefined) db.zadd(keys[LEASES] ?? "", deadline, args[5] ?? "")
      return reply
    })
    const heedless = wrongly(queue.callOne, (db, keys, [now = "", slots = "", ...args]) =>
      queue.callOne.memory(db, keys, [now, slots.replace(/^\d+/, (count) => String(Number(count) + 1)), ...args]),
    )
    finds("an operator's call beyond the slots", (seed) => queueHistory(seed, { ...queue, callOne: heedless }), [
      "invariants",
      "Redis",
    ])

    const blind = (right: Script): Script =>
      wrongly(right, (db, keys, [now = "", slots = "", ...args]) =>
        right.memory(db, keys, [now, slots.replace(/ .*/, ""), ...args]),
      )
    const blinded = {
      ...queue,
      ...{ admit: blind(queue.admit), start: blind(queue.start), fail: blind(queue.fail) },
      ...{ end: blind(queue.end), leave: blind(queue.leave), sweep: blind(queue.sweep) },
    }
    const rash = wrongly(queue.fail, (db, keys, args) =>
      queue.fail.memory(
        db,
        keys,
        args.map((arg) => (arg === "doubt" ? "answered" : arg)),
      ),
    )
    finds("a start in doubt that gives up its slot", (seed) => queueHistory(seed, { ...queue, fail: rash }), ["Redis"])

    finds("a call that knows no share of a network", (seed) => queueHistory(seed, blinded), ["invariants", "Redis"])

    const lavish = wrongly(queue.admit, (db, keys, args) => queue.admit.memory(db, keys, args.with(11, "")))
    finds("an admission that counts no network", (seed) => queueHistory(seed, { ...queue, admit: lavish }), ["Redis"])

    const blunt = wrongly(queue.endLease, (db, keys, [...args]) => {
      const [id] = db.zrangebyscore(keys[LEASES] ?? "", Number(args[7]), Number(args[7]), 1)
      const record: ReadonlyArray<string> = JSON.parse(db.hget(keys[TICKETS] ?? "", id ?? "") ?? "[]")
      args[6] = record[2] ?? ""
      return queue.endLease.memory(db, keys, args)
    })
    finds("an operator's end of another lease", (seed) => queueHistory(seed, { ...queue, endLease: blunt }), ["Redis"])

    const eager = wrongly(queue.clear, (db, keys, args) => queue.clear.memory(db, keys, args.with(5, args[0] ?? "")))
    finds("a clearing of who came or was called since", (seed) => queueHistory(seed, { ...queue, clear: eager }), [
      "Redis",
    ])

    finds("a leaving that keeps its slot", (seed) => queueHistory(seed, { ...queue, leave: leaking }), ["invariants"])

    const hasty = wrongly(queue.start, (db, keys, [now = "", ...args]) =>
      queue.start.memory(db, keys, [String(Number(now) + 1), ...args]),
    )
    finds("a start window that is a millisecond short", (seed) => queueHistory(seed, { ...queue, start: hasty }), [
      "invariants",
      "Redis",
    ])

    const generous = wrongly(limiter.take, (db, keys, [now = "", ...args]) =>
      limiter.take.memory(db, keys, [String(Number(now) + 1), ...args]),
    )
    finds("an hour that is a millisecond short", (seed) => limiterHistory(seed, { ...limiter, take: generous }), [
      "invariants",
      "Redis",
    ])
  })
})
