/**
 * Memory and Redis answer alike: random histories run on the memory store, whose data are checked after every step, and
 * are replayed on a real Redis by the compiled Lua. Every answer, every message and the final data must be equal.
 *
 * Where they begin, the commit decides (`test/harness/seed.ts`). `npm run verify -- contract` plays 3,000 of each kind, from `TEST_SEED` on,
 * and then they must reach every kind of answer.
 */
import { assert, describe, it } from "@effect/vitest"
import { SEED } from "../harness/seed.ts"
import { accountHistory } from "./differential/account-history.ts"
import { budgetHistory } from "./differential/budget-history.ts"
import { describeStep, type History } from "./differential/history.ts"
import { limiterHistory } from "./differential/limiter-history.ts"
import { queueHistory } from "./differential/queue-history.ts"
import { type Mismatch, replayerOfSuite } from "./differential/replay.ts"

/** How many histories of a kind; in a long run `TEST_HISTORIES`. */
const countOf = (usual: number): number => Number(process.env.TEST_HISTORIES ?? usual)
const QUEUES = countOf(150)
const ACCOUNTS = countOf(20)
const LIMITERS = countOf(125)
const BUDGETS = countOf(30)
/** So many reach every kind of answer. */
const ENOUGH = 1_000
/** Small enough for the sockets' buffers: the server replays a batch while the next one is generated. */
const BATCH = 50

const failed = (seed: number, what: string): Error =>
  new Error(`seed ${seed} (again: npm run verify -- contract --seed ${seed} --histories 1)\n${what}`)

/** The word that classifies an answer of the queue. */
const kindOf = (answer: unknown): string => {
  let said: unknown = answer
  while (typeof said === "object" && said !== null && "result" in said) said = said.result
  return typeof said === "object" && said !== null && "_tag" in said ? String(said._tag) : String(said)
}

const SWITCHES: ReadonlyArray<unknown> = ["pause", "resume", "drain", "reopen"]

/** What an operator's action does: a switch, or the type of another action. */
const actionOf = (call: object): string => {
  const action: unknown = "action" in call ? call.action : undefined
  if (typeof action !== "object" || action === null || !("type" in action)) return ""
  return ` ${SWITCHES.includes(action.type) ? "switch" : String(action.type)}`
}

describe("the rules, as they are and as Lua", () => {
  const opened = replayerOfSuite()

  /** Runs histories until one fails. */
  const play = async (count: number, history: (seed: number) => History): Promise<ReadonlyMap<string, number>> => {
    const kinds = new Map<string, number>()
    let replayed: Promise<ReadonlyArray<Mismatch>> = Promise.resolve([])
    const check = async (): Promise<void> => {
      const [mismatch] = await replayed
      if (mismatch !== undefined) throw failed(mismatch.seed, mismatch.report)
    }
    for (let from = SEED; from < SEED + count; from += BATCH) {
      const batch: Array<History> = []
      for (let seed = from; seed < Math.min(from + BATCH, SEED + count); seed++) {
        const made = history(seed)
        if (made.wrong.length > 0) throw failed(seed, [...made.wrong, ...made.steps.map(describeStep)].join("\n"))
        batch.push(made)
        for (const { answer, call, rule } of made.steps) {
          const kind = `${rule.name}${actionOf(call)} ${kindOf(answer)}`
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        }
      }
      await check()
      replayed = opened().replay(batch)
    }
    await check()
    return kinds
  }

  it(`the rules of the queue answer alike in ${QUEUES} histories, and no invariant is broken`, {
    timeout: 600_000,
  }, async () => {
    const before = opened().counts()
    const kinds = await play(QUEUES, queueHistory)
    const after = opened().counts()
    if (QUEUES < ENOUGH) return
    assert.isAtLeast(after.answers - before.answers, 25 * QUEUES)
    assert.isAbove(after.messages - before.messages, QUEUES / 2)
    // the histories reach every kind of answer
    for (const [name, results] of Object.entries({
      "queue.admit": ["starting", "waiting", "full", "draining"],
      "queue.start": ["starting", "waiting", "busy", "live", "ended", "unknown"],
      "queue.bind": ["live", "ended", "stale"],
      "queue.alias": ["kept", "ended", "stale"],
      "queue.fail": ["waiting", "failed", "stale"],
      "queue.resolve": ["running", "open", "free", "stale"],
      "queue.end": ["released", "again", "repeat", "unknown"],
      "queue.leave": ["left", "busy", "ended", "unknown"],
      "queue.clear": ["cleared", "served"],
      "queue.attach": ["waiting", "called", "starting", "live", "ended", "unknown"],
      "operator.act switch": ["done", "already"],
      "operator.act call": ["called", "no_slot", "nobody"],
      "operator.act remove": ["removed", "gone"],
      "operator.act end": ["ended", "gone"],
    })) {
      for (const result of results)
        assert.isAbove(kinds.get(`${name} ${result}`) ?? 0, QUEUES / 100, `${name} ${result}`)
    }
  })

  it(`the rules of campaigns that share an account answer alike in ${ACCOUNTS} histories, and none takes what is another's`, {
    timeout: 600_000,
  }, async () => {
    const before = opened().counts().answers
    const kinds = await play(ACCOUNTS, accountHistory)
    if (ACCOUNTS < ENOUGH) return
    assert.isAtLeast(opened().counts().answers - before, 50 * ACCOUNTS)
    for (const each of ["queue.admit starting", "queue.admit waiting", "queue.start starting", "queue.end released"]) {
      assert.isAbove(kinds.get(each) ?? 0, ACCOUNTS / 2, each)
    }
  })

  it(`the rules of the rate limiter answer alike in ${LIMITERS} histories, and as by counting`, {
    timeout: 600_000,
  }, async () => {
    await play(LIMITERS, limiterHistory)
  })

  it(`the rules of budgets answer alike in ${BUDGETS} histories, and count each second once`, {
    timeout: 600_000,
  }, async () => {
    const kinds = await play(BUDGETS, budgetHistory)
    if (BUDGETS < ENOUGH) return
    for (const each of [
      "budgets.hold held",
      "budgets.hold refused",
      "budgets.hold over",
      "budgets.settle settled",
      "budgets.settle again",
      "budgets.settle unmade",
      "budgets.correct corrected",
      "budgets.correct again",
      "budgets.correct unsettled",
    ]) {
      assert.isAbove(kinds.get(each) ?? 0, BUDGETS / 20, each)
    }
  })
})
