/**
 * Takes quota and admits newcomers in one step: a newcomer without quota is not admitted. Shadow limits are counted too but
 * refuse nobody: the answer names the one that would have refused.
 */

import type { Admitted, StepAnswer } from "../../fifo-queue/answers.ts"
import type { Newcomer } from "../../fifo-queue/inputs.ts"
import { admit } from "../../fifo-queue/rules/admit.ts"
import { beginStep, endStep } from "../../fifo-queue/rules/run.ts"
import { LEDGER_KEY_COUNT } from "../../fifo-queue/rules/shared/awaited-budgets.ts"
import { QUEUE_KEY_COUNT } from "../../fifo-queue/rules/shared/keys.ts"
import type { QueueContext, Step } from "../../fifo-queue/rules/shared/step.ts"
import type { LimitName, Near, Taken } from "../../rate-limiter/answers.ts"
import { exhausted, TAKEN, take, takingOf } from "../../rate-limiter/rules/take.ts"
import { type Budgets, isLimited } from "../../rate-limiter/rules/units.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Noted, TakenAndAdmitted } from "../answers.ts"

export interface TakeAndAdmitContext {
  readonly budgets: Budgets
  /** limits that are only counted; absent for none */
  readonly shadow?: Budgets
  readonly queue: QueueContext
}

/**
 * The shadow limit that would refuse this take. Then nothing is taken from the shadow limits, as from real ones.
 * @lazy
 */
export const takeShadow = (s: Step, log: string, budgets: Budgets, token: string): LimitName | undefined => {
  const { taken, usage } = take(s.db, log, takingOf(s.now, budgets), token, true)
  return taken || usage === undefined ? undefined : exhausted(budgets, usage)
}

const noted = (admitted: Admitted, near: Near | undefined, shadow: LimitName | false): Admitted & Noted => {
  if (shadow === false) return near === undefined ? admitted : { ...admitted, near }
  return near === undefined ? { ...admitted, shadow } : { ...admitted, near, shadow }
}

/**
 * The id of a newcomer is the token of its units.
 * @param logs the log key of each newcomer, and after each its shadow log if there are shadow limits
 */
export const takeAndAdmit = (
  s: Step,
  { budgets, shadow }: TakeAndAdmitContext,
  logs: ReadonlyArray<string>,
  newcomers: ReadonlyArray<Newcomer>,
): ReadonlyArray<TakenAndAdmitted> => {
  const takings: Array<Taken> = []
  const shadows: Array<LimitName | false> = []
  const admissible: Array<Newcomer> = []
  const keys = shadow === undefined ? 1 : 2
  const taking = isLimited(budgets) ? takingOf(s.now, budgets) : undefined
  for (let i = 0; i < newcomers.length; i++) {
    const newcomer = newcomers[i] as Newcomer
    const taken = taking === undefined ? TAKEN : take(s.db, logs[i * keys] as string, taking, newcomer.id, true)
    takings.push(taken)
    if (taken.taken) admissible.push(newcomer)
    if (shadow !== undefined) {
      const refused = taken.taken && takeShadow(s, logs[i * keys + 1] as string, shadow, newcomer.id)
      shadows.push(refused === undefined ? false : refused)
    }
  }
  const admissions = admissible.length === 0 ? [] : admit(s, admissible)
  const answers: Array<TakenAndAdmitted> = []
  let next = 0
  for (let i = 0; i < takings.length; i++) {
    const { near, usage } = takings[i] as Taken
    if (usage === undefined) {
      const shadowed = shadow === undefined ? false : (shadows[i] as LimitName | false)
      answers.push(noted(admissions[next] as Admitted, near, shadowed))
      next++
    } else {
      answers.push({ _tag: "refused", usage })
    }
  }
  return answers
}

/** Keys: a campaign's, then the log of each caller, and after each the shadow log if there are shadow limits. */
export const runTakeAndAdmit: Run<TakeAndAdmitContext, Newcomer, StepAnswer<TakenAndAdmitted>> = (
  db,
  keys,
  now,
  context,
  calls,
) => {
  const s = beginStep(db, keys, now, context.queue)
  const logs: Array<string> = []
  const first = QUEUE_KEY_COUNT + (context.queue.awaited === undefined ? 0 : LEDGER_KEY_COUNT)
  for (let i = first; i < keys.length; i++) logs.push(keys[i] as string)
  return endStep(s, takeAndAdmit(s, context, logs, calls))
}
