/** Takes quota and admits newcomers in one step: a newcomer without quota is not admitted. */
import { type Take, type Taken, take, type Usage } from "./limits/take.ts"
import type { Budgets } from "./limits/units.ts"
import { type Admitted, admit, type Newcomer } from "./queue/admit.ts"
import type { QueueContext, Step } from "./step.ts"

export interface TakeAndAdmitContext {
  readonly budgets: Budgets
  readonly queue: QueueContext
}

export interface Applicant {
  readonly take: Take
  readonly newcomer: Newcomer
}

/** Exactly one of the two. */
export interface TakenAndAdmitted {
  /** nothing was taken; the usage of the budgets */
  readonly refused?: Usage
  readonly admitted?: Admitted
}

/** @param logs the log key of each applicant */
export const takeAndAdmit = (
  s: Step,
  budgets: Budgets,
  logs: ReadonlyArray<string>,
  applicants: ReadonlyArray<Applicant>,
): ReadonlyArray<TakenAndAdmitted> => {
  const takings: Array<Taken> = []
  const newcomers: Array<Newcomer> = []
  for (let i = 0; i < applicants.length; i++) {
    const applicant = applicants[i] as Applicant
    const taken = take(s.db, logs[i] as string, s.now, budgets, applicant.take)
    takings.push(taken)
    if (taken.taken) newcomers.push(applicant.newcomer)
  }
  const admissions = newcomers.length === 0 ? [] : admit(s, newcomers)
  const answers: Array<TakenAndAdmitted> = []
  let next = 0
  for (const { taken, usage } of takings) {
    if (taken) {
      const admitted = admissions[next]
      next++
      answers.push(admitted === undefined ? {} : { admitted })
    } else {
      answers.push(usage === undefined ? {} : { refused: usage })
    }
  }
  return answers
}
