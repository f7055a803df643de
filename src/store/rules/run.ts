/**
 * How a rule runs: its input and its answers, the same in this process and in Redis. A run takes a list of calls,
 * decides them one after the other in one step, and answers each.
 */

import { type TakeAndAdmitContext, type TakenAndAdmitted, takeAndAdmit } from "../../admission/rules/take-and-admit.ts"
import { type Admitted, admit, type Newcomer } from "../../fifo-queue/rules/admit.ts"
import { limitByAccount, noteInAccount } from "../../fifo-queue/rules/shared/account.ts"
import { QUEUE_KEY_COUNT } from "../../fifo-queue/rules/shared/keys.ts"
import { limitByPlatform } from "../../fifo-queue/rules/shared/platform-limit.ts"
import { answerOf, type QueueContext, type Step, type StepAnswer, stepOf } from "../../fifo-queue/rules/shared/step.ts"
import { type GiveBack, type GiveBackContext, giveBack } from "../../rate-limiter/rules/give-back.ts"
import { type Take, type Taken, take, takingOf } from "../../rate-limiter/rules/take.ts"
import type { Budgets } from "../../rate-limiter/rules/units.ts"
import type { Db } from "./db.ts"

/** @param keys those that all calls share, then each call's own */
export type Run<Context, Call, Answer> = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  context: Context,
  calls: ReadonlyArray<Call>,
) => ReadonlyArray<Answer>

const begin = (db: Db, keys: ReadonlyArray<string>, now: number, context: QueueContext): Step => {
  const s = stepOf(db, keys, now, context)
  if (context.account !== undefined) limitByAccount(s, context.account)
  limitByPlatform(s)
  return s
}

/** Ends the step. The signals and settlements of all of it go with the first answer. */
const answersOf = <A>(s: Step, results: ReadonlyArray<A>): ReadonlyArray<StepAnswer<A>> => {
  if (s.context.account !== undefined) noteInAccount(s, s.context.account)
  const answers: Array<StepAnswer<A>> = []
  for (const result of results) answers.push(answers.length === 0 ? answerOf(s, result) : { result })
  return answers
}

/** A rule of the queue that decides one call after the other. */
export const runQueue =
  <Call, A>(rule: (s: Step, call: Call) => A): Run<QueueContext, Call, StepAnswer<A>> =>
  (db, keys, now, context, calls) => {
    const s = begin(db, keys, now, context)
    const results: Array<A> = []
    for (const call of calls) results.push(rule(s, call))
    return answersOf(s, results)
  }

export const runAdmit: Run<QueueContext, Newcomer, StepAnswer<Admitted>> = (db, keys, now, context, calls) => {
  const s = begin(db, keys, now, context)
  return answersOf(s, admit(s, calls))
}

/** Keys: a campaign's, then the log of each caller, and after each the shadow log if there are shadow limits. */
export const runTakeAndAdmit: Run<TakeAndAdmitContext, Newcomer, StepAnswer<TakenAndAdmitted>> = (
  db,
  keys,
  now,
  context,
  calls,
) => {
  const s = begin(db, keys, now, context.queue)
  const logs: Array<string> = []
  for (let i = QUEUE_KEY_COUNT; i < keys.length; i++) logs.push(keys[i] as string)
  return answersOf(s, takeAndAdmit(s, context, logs, calls))
}

/** Keys: the log of each caller. */
export const runTake: Run<Budgets, Take, Taken> = (db, keys, now, budgets, calls) => {
  const answers: Array<Taken> = []
  const taking = takingOf(now, budgets)
  for (let i = 0; i < calls.length; i++) {
    const { omitUsage, token } = calls[i] as Take
    answers.push(take(db, keys[i] as string, taking, token, omitUsage === true))
  }
  return answers
}

/** Keys: a caller's log and refunds. */
export const runGiveBack: Run<GiveBackContext, GiveBack, number> = (db, keys, now, context, calls) => {
  const answers: Array<number> = []
  for (const call of calls) answers.push(giveBack(db, keys[0] as string, keys[1] as string, now, context, call))
  return answers
}

/** A rule without a context. */
export const runPlain =
  <Call, A>(rule: (db: Db, keys: ReadonlyArray<string>, now: number, call: Call) => A): Run<object, Call, A> =>
  (db, keys, now, _context, calls) => {
    const answers: Array<A> = []
    for (const call of calls) answers.push(rule(db, keys, now, call))
    return answers
  }
