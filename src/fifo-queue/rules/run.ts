/** How a rule of the queue runs: what limits the campaign's slots in this step is applied first, what its account must know is written last. */

import type { Db } from "../../store/rules/db.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Admitted, StepAnswer } from "../answers.ts"
import type { Newcomer } from "../inputs.ts"
import { admit } from "./admit.ts"
import { limitByAccount, noteInAccount } from "./shared/account.ts"
import { limitByPlatform } from "./shared/platform-limit.ts"
import { answerOf, type QueueContext, type Step, stepOf } from "./shared/step.ts"

export const beginStep = (db: Db, keys: ReadonlyArray<string>, now: number, context: QueueContext): Step => {
  const s = stepOf(db, keys, now, context)
  if (context.account !== undefined) limitByAccount(s, context.account)
  limitByPlatform(s)
  return s
}

/** The signals and settlements of the whole step go with the first answer. */
export const endStep = <A>(s: Step, results: ReadonlyArray<A>): ReadonlyArray<StepAnswer<A>> => {
  if (s.context.account !== undefined) noteInAccount(s, s.context.account)
  const answers: Array<StepAnswer<A>> = []
  for (const result of results) answers.push(answers.length === 0 ? answerOf(s, result) : { result })
  return answers
}

/** A rule of the queue that decides one call after the other. */
export const runQueue =
  <Call, A>(rule: (s: Step, call: Call) => A): Run<QueueContext, Call, StepAnswer<A>> =>
  (db, keys, now, context, calls) => {
    const s = beginStep(db, keys, now, context)
    const results: Array<A> = []
    for (const call of calls) results.push(rule(s, call))
    return endStep(s, results)
  }

export const runAdmit: Run<QueueContext, Newcomer, StepAnswer<Admitted>> = (db, keys, now, context, calls) => {
  const s = beginStep(db, keys, now, context)
  return endStep(s, admit(s, calls))
}
