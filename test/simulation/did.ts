/** The rules of the queue as the simulation sees them: which was asked what, and what it answered. */
import { readSignal } from "../../src/queue/signals.ts"
import type { runs } from "../../src/rules/rules.ts"
import type { Run } from "../../src/rules/run.ts"
import type { QueueContext, StepAnswer } from "../../src/rules/step.ts"
import type { State } from "../../src/rules/ticket.ts"
import type { Ask, Rule } from "../../src/Store.ts"
import { signalText } from "../support/queue-invariants.ts"

/** Whatever rule, and whatever it is asked. */
export type AnyRule = Rule<object, object, unknown>
export type AnyAsk = Ask<object, object>

type Runs = typeof runs
/** The name of a rule of the queue, without `queue.`. */
export type Name = keyof Runs extends infer Key ? (Key extends `queue.${infer Rest}` ? Rest : never) : never

/** What a rule is asked, and what it answers. */
export type Call<N extends Name> = Runs[`queue.${N}`] extends Run<QueueContext, infer C, infer _A> ? C : never
export type Answer<N extends Name> = Runs[`queue.${N}`] extends Run<QueueContext, infer _C, infer A> ? A : never
export type Result<N extends Name> = Answer<N> extends StepAnswer<infer A> ? A : never

interface Each<N extends Name> {
  readonly name: N
  readonly call: Call<N>
  readonly result: Result<N>
}

/** One rule as it was carried out. */
export type Did = { [N in Name]: Each<N> }[Name]

/** What a step did to a ticket: where it was, and where it is. */
export type Move = `${State | "none"}→${State | "none"}`

/** What an answer says, in a word; empty where it says more than one. */
export const said = (result: unknown): string => {
  if (typeof result === "string") return result
  return typeof result === "object" && result !== null && "_tag" in result ? String(result._tag) : ""
}

/** The ids of sessions that a step names. */
export const sessionsOf = ({ call, name }: Did): ReadonlyArray<string> => {
  if (name === "bind" || name === "end") return call.sessions
  if (name === "alias") return [call.known, ...call.further]
  return name === "resolve" ? (call.candidates ?? []).flat() : []
}

/** The ticket that a step is about; empty where it is about none, or several. */
export const ticketOf = ({ call }: Did): string => {
  const asked = call as object
  return "id" in asked ? String(asked.id) : ""
}

/** A published message as one text, whichever order its fields have. */
export const messageText = (message: string): string => {
  const signal = readSignal(message)
  return signal === undefined ? message : signalText(signal)
}

/** JSON with the fields of every object in order: Redis writes them in any. */
export const json = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
