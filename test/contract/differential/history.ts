/** What a history is: the steps that were taken on the memory twin, and all that they answered and published. */
import type { Reply, Script } from "../../../src/Store.ts"
import { MemoryDb } from "../../../src/store/MemoryDb.ts"

export interface Step {
  readonly script: Script
  readonly keys: ReadonlyArray<string>
  readonly args: ReadonlyArray<string>
  readonly reply: Reply
  /** `channel message` of each, in order */
  readonly published: ReadonlyArray<string>
}

export interface History {
  readonly seed: number
  /** its channels begin with it, and no other's do */
  readonly prefix: string
  readonly steps: ReadonlyArray<Step>
  /** what was wrong with the last step, by the invariants; the history ends there */
  readonly wrong: ReadonlyArray<string>
}

/** Takes steps on a memory twin and writes them down. */
export const recorder = (all: ReadonlyArray<string>) => {
  const steps: Array<Step> = []
  let published: Array<string> = []
  // its time stands still, as the server's nearly does: lifetimes of keys are the affair of the store's own contract
  const db = new MemoryDb((channel, message) => published.push(`${channel} ${message}`))
  return {
    steps,
    /** Takes a step that is not written down. */
    look: (script: Script, args: ReadonlyArray<string>): Reply => script.memory(db, all, args),
    /** Takes a step on these keys, or on all. */
    run: (script: Script, args: ReadonlyArray<string>, keys = all): Step => {
      published = []
      const reply = script.memory(db, keys, args)
      const step = { script, keys, args, reply, published }
      steps.push(step)
      return step
    },
  }
}

/** A step in words, for the report of a failure. */
export const describeStep = (step: Step | undefined): string =>
  step === undefined ? "no step" : `${step.script.name} ${JSON.stringify(step.args)} → ${JSON.stringify(step.reply)}`
