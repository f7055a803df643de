/**
 * The test of `differential.test.ts`: rules that are wrong on purpose are found, by the invariants, by Redis, or by both, as it is said
 * of each, within some histories. `npm run verify -- contract --planted` also plays what is left of them then: nothing else finds it there.
 */

import { assert, describe, it } from "@effect/vitest"
import type { Settled } from "../../src/budgets/answers.ts"
import type { SettleCall } from "../../src/budgets/rules/settle.ts"
import type { StepAnswer } from "../../src/fifo-queue/answers.ts"
import { START_LEASE_MILLIS } from "../../src/fifo-queue/bounds.ts"
import { queueKeys } from "../../src/fifo-queue/rules/shared/keys.ts"
import { takeSlot } from "../../src/fifo-queue/rules/shared/line.ts"
import { answerOf, type QueueContext, stepOf } from "../../src/fifo-queue/rules/shared/step.ts"
import { rules as queue } from "../../src/fifo-queue/rules.ts"
import type { Rule } from "../../src/store/Store.ts"
import { accountHistory } from "./differential/account-history.ts"
import { budgetHistory, rules as budgets } from "./differential/budget-history.ts"
import type { History } from "./differential/history.ts"
import { rules as limiter, limiterHistory } from "./differential/limiter-history.ts"
import { queueHistory } from "./differential/queue-history.ts"
import { replayerOfSuite } from "./differential/replay.ts"

const HISTORIES = 300
/** Those that are played before looking whether all has been found. */
const BATCH = 50
/** Whether all are played, though it was found. */
const PLAYS_ALL = process.env.TEST_HISTORIES !== undefined

describe("the comparison of memory and Redis", () => {
  const opened = replayerOfSuite()

  /** A history ends where an invariant is broken, so that Redis may not see the consequences. */
  type Finder = "invariants" | "Redis"
  /** A rule that in memory sees something else, or does something more. */
  const wrongly = <C extends object, K extends object, A>(
    right: Rule<C, K, A>,
    run: Rule<C, K, A>["run"],
  ): Rule<C, K, A> => ({ ...right, run })
  const [TICKETS, LEASES, ENDED] = [1, 5, 7]
  const leaseOf = (tickets: string | undefined): string => JSON.parse(tickets ?? "{}").lease ?? "0"

  const finds = (what: string, wrong: (seed: number) => History, by: ReadonlyArray<Finder>) =>
    it(`finds ${what}`, { timeout: 60_000 }, async () => {
      const found = new Set<Finder>()
      for (let from = 0; from < HISTORIES && (PLAYS_ALL || !by.every((finder) => found.has(finder))); from += BATCH) {
        const batch = Array.from({ length: BATCH }, (_, n) => wrong(from + n + 1))
        if (batch.some((history) => history.wrong.length > 0)) found.add("invariants")
        if ((await opened().replay(batch)).length > 0) found.add("Redis")
      }
      assert.sameMembers([...found], [...by])
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
  finds("an admission that passes those who wait", (seed) => queueHistory(seed, { ...queue, admit: impatient }), [
    "invariants",
    "Redis",
  ])

  /** the context without its account, or with another one */
  const given = (context: QueueContext, account: QueueContext["account"]): QueueContext => {
    const { account: _, ...others } = context
    return account === undefined ? others : { ...others, account }
  }
  const alone = wrongly(queue.admit, (db, keys, now, context, calls) =>
    queue.admit.run(db, keys, now, given(context, undefined), calls),
  )
  finds("an admission beyond the capacity of its account", (seed) => accountHistory(seed, { ...queue, admit: alone }), [
    "invariants",
    "Redis",
  ])
  const greedy = wrongly(queue.sweep, (db, keys, now, context, calls) =>
    queue.sweep.run(db, keys, now, given(context, context.account && { ...context.account, reserved: {} }), calls),
  )
  finds("a call to a reserved slot of another campaign", (seed) => accountHistory(seed, { ...queue, sweep: greedy }), [
    "invariants",
    "Redis",
  ])
  const pushing = wrongly(queue.end, (db, keys, now, context, calls) => {
    // what the others hold counts, and that they wait does not
    const { account } = queueKeys(keys)
    const entries = db.hgetall(account)
    for (let i = 0; i < entries.length; i += 2) {
      const [held = "0", , at = "0"] = (entries[i + 1] ?? "").split(" ")
      db.hset(account, entries[i] ?? "", `${held} 0 ${at}`)
    }
    return queue.end.run(db, keys, now, context, calls)
  })
  finds("a slot taken for which others waited longer", (seed) => accountHistory(seed, { ...queue, end: pushing }), [
    "invariants",
    "Redis",
  ])

  const unfenced = wrongly(queue.bind, (db, keys, now, context, calls) => {
    const anyLease = calls.map((call) => ({ ...call, lease: leaseOf(db.hget(keys[TICKETS] ?? "", call.id)) }))
    return queue.bind.run(db, keys, now, context, anyLease)
  })
  finds("a binding that does not look at its lease", (seed) => queueHistory(seed, { ...queue, bind: unfenced }), [
    "Redis",
  ])

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
  const heedless = wrongly(queue.act, (db, keys, now, context, calls) =>
    queue.act.run(
      db,
      keys,
      now,
      { ...context, slots: context.slots + (calls[0]?.action.type === "call" ? 1 : 0) },
      calls,
    ),
  )
  finds("an operator's call beyond the slots", (seed) => queueHistory(seed, { ...queue, act: heedless }), [
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

  finds("a call that knows no share of a network", (seed) => queueHistory(seed, blinded), ["invariants", "Redis"])

  const lavish = wrongly(queue.admit, (db, keys, now, context, calls) => {
    const ofNone = calls.map((newcomer) => ({ ...newcomer, network: "" }))
    const answers = queue.admit.run(db, keys, now, context, ofNone)
    const { leases, networks, tickets } = queueKeys(keys)
    for (const { id, network } of calls) {
      const record = db.hget(tickets, id)
      if (record === undefined || network === "") continue
      // the record names the network, and only what it holds is counted
      db.hset(tickets, id, JSON.stringify({ ...JSON.parse(record), network }))
      if (db.zscore(leases, id) !== undefined) db.hincrby(networks, `h${network}`, 1)
    }
    return answers
  })
  finds("an admission that counts no network", (seed) => queueHistory(seed, { ...queue, admit: lavish }), [
    "invariants",
    "Redis",
  ])

  const blunt = wrongly(queue.act, (db, keys, now, context, calls) => {
    const anyLease = calls.map(({ action, who }) => {
      if (action.type !== "end") return { action, who }
      const [id = ""] = db.zrangebyscore(keys[LEASES] ?? "", action.deadline, action.deadline, 1)
      return { action: { ...action, lease: leaseOf(db.hget(keys[TICKETS] ?? "", id)) }, who }
    })
    return queue.act.run(db, keys, now, context, anyLease)
  })
  finds("an operator's end of another lease", (seed) => queueHistory(seed, { ...queue, act: blunt }), ["Redis"])

  const eager = wrongly(queue.clear, (db, keys, now, context, calls) =>
    queue.clear.run(
      db,
      keys,
      now,
      context,
      calls.map(() => ({ unservedMillis: 0 })),
    ),
  )
  finds("a clearing of who came or was called since", (seed) => queueHistory(seed, { ...queue, clear: eager }), [
    "Redis",
  ])

  finds("a leaving that keeps its slot", (seed) => queueHistory(seed, { ...queue, leave: leaking }), ["invariants"])

  const hasty = wrongly(queue.start, (db, keys, now, context, calls) =>
    queue.start.run(db, keys, now + 1, context, calls),
  )
  finds("a start window that is a millisecond short", (seed) => queueHistory(seed, { ...queue, start: hasty }), [
    "invariants",
    "Redis",
  ])

  const generous = wrongly(limiter.take, (db, keys, now, context, calls) =>
    limiter.take.run(db, keys, now + 1, context, calls),
  )
  finds("an hour that is a millisecond short", (seed) => limiterHistory(seed, { ...limiter, take: generous }), [
    "invariants",
    "Redis",
  ])

  /** A settlement that first changes the record of its hold. */
  const forgets = (what: (record: string) => string): Rule<object, SettleCall, Settled> =>
    wrongly(budgets.settle, (db, keys, now, context, calls) =>
      calls.flatMap((call) => {
        const known = db.hget(keys[1] ?? "", call.id)
        if (known !== undefined) db.hset(keys[1] ?? "", call.id, what(known))
        return budgets.settle.run(db, keys, now, context, [call])
      }),
    )
  finds(
    "a hold that is settled twice",
    (seed) =>
      budgetHistory(seed, {
        ...budgets,
        settle: forgets((record) => record.replace('"settled":true', '"settled":false')),
      }),
    ["invariants", "Redis"],
  )
  finds(
    "a settlement that loses what was held",
    (seed) =>
      budgetHistory(seed, {
        ...budgets,
        settle: forgets((record) => record.replace(/"parts":\[[^\]]*\]/, '"parts":[]')),
      }),
    ["invariants", "Redis"],
  )
  finds(
    "a hold beyond the cap",
    (seed) =>
      budgetHistory(seed, {
        ...budgets,
        hold: wrongly(budgets.hold, (db, keys, now, context, calls) =>
          budgets.hold.run(
            db,
            keys,
            now,
            context,
            calls.map((call) => ({
              ...call,
              books: call.books.map(({ entries = [], ...part }) =>
                entries.length === 0
                  ? part
                  : { ...part, entries: entries.map((entry) => ({ ...entry, cap: entry.cap + 60 })) },
              ),
            })),
          ),
        ),
      }),
    ["invariants", "Redis"],
  )
})
