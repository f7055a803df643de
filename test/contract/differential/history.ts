/** A history: the steps run on the memory store, and all that they answered and published. */

import { MemoryDb } from "../../../src/store/memory/MemoryDb.ts"
import type { Rule } from "../../../src/store/Store.ts"

/** Any rule. */
export type AnyRule = Rule<never, never, unknown>

/** The input of a rule, without its keys. */
export interface Asked<Context extends object, Call extends object> {
  readonly now: number
  readonly context: Context
  readonly call: Call
}

export interface Step extends Asked<object, object> {
  readonly rule: AnyRule
  readonly keys: ReadonlyArray<string>
  readonly answer: unknown
  /** every message, in order */
  readonly published: ReadonlyArray<Message>
}

export interface Message {
  readonly channel: string
  readonly text: string
}

export interface History {
  readonly seed: number
  /** prefix of its channels, unique to it */
  readonly prefix: string
  readonly steps: ReadonlyArray<Step>
  /** violated invariants of the last step; the history ends there */
  readonly wrong: ReadonlyArray<string>
}

/** Runs steps on a memory store and records them. */
export const recorder = (all: ReadonlyArray<string>) => {
  const steps: Array<Step> = []
  let published: Array<Message> = []
  // its time stands still, as the server's nearly does: the store's own contract tests lifetimes of keys
  const db = new MemoryDb((channel, text) => published.push({ channel, text }))
  const answerOf = <Context extends object, Call extends object, A>(
    rule: Rule<Context, Call, A>,
    { call, context, now }: Asked<Context, Call>,
    keys: ReadonlyArray<string>,
  ): A => {
    const [answer, ...more] = rule.run(db, keys, now, context, [call])
    if (answer === undefined || more.length > 0) throw new Error(`${rule.name} answered ${1 + more.length} times`)
    return answer
  }
  return {
    steps,
    /** its data, to read */
    db,
    /** Runs a step on these keys, or on all, without recording it. */
    look: <Context extends object, Call extends object, A>(
      rule: Rule<Context, Call, A>,
      asked: Asked<Context, Call>,
      keys = all,
    ): A => answerOf(rule, asked, keys),
    /** Runs a step on these keys, or on all. */
    run: <Context extends object, Call extends object, A>(
      rule: Rule<Context, Call, A>,
      asked: Asked<Context, Call>,
      keys = all,
    ): { readonly answer: A; readonly published: ReadonlyArray<Message> } => {
      published = []
      const answer = answerOf(rule, asked, keys)
      steps.push({ ...asked, rule, keys, answer, published })
      return { answer, published }
    },
  }
}

/** A step in words, for the report of a failure. */
export const describeStep = (step: Step | undefined): string =>
  step === undefined
    ? "no step"
    : `${step.rule.name} at ${step.now} in ${JSON.stringify(step.context)}: ${JSON.stringify(step.call)} → ${JSON.stringify(step.answer)}`
