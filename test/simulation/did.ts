/** The rules of the queue as the simulation sees them: the input and the answer of each. */

import type { StepAnswer } from "../../src/fifo-queue/answers.ts"
import type { State } from "../../src/fifo-queue/rules/shared/ticket.ts"
import type { rules } from "../../src/fifo-queue/rules.ts"
import { readSignal } from "../../src/protocol/signals.ts"
import type { Ask, Rule } from "../../src/store/Store.ts"
import type { Binding } from "../model/events.ts"
import { signalText } from "../model/obligations.ts"
import type { QueueState } from "../model/queue-state.ts"

/** Any rule, and any input of it. */
export type AnyRule = Rule<object, object, unknown>
export type AnyAsk = Ask<object, object>

type Rules = typeof rules
/** The name of a rule of the queue, without `queue.`. */
export type Name = Exclude<keyof Rules, "act" | "auditLog" | "campaignSnapshot">

/** The input and the answer of a rule. */
export type Call<N extends Name> = Parameters<Rules[N]["run"]>[4][number]
export type Answer<N extends Name> = ReturnType<Rules[N]["run"]>[number]
export type Result<N extends Name> = Answer<N> extends StepAnswer<infer A> ? A : never

interface Each<N extends Name> {
  readonly name: N
  readonly call: Call<N>
  readonly result: Result<N>
}

/** One executed rule. */
export type Did = { [N in Name]: Each<N> }[Name]

/** How a step moved a ticket: from which state to which. */
export type Move = `${State | "none"}→${State | "none"}`

/** The word that classifies an answer; empty when there is more than one. */
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

/** The ticket that a step concerns; empty when none, or several. */
export const ticketOf = ({ call }: Did): string => {
  const asked = call as object
  return "id" in asked ? String(asked.id) : ""
}

/** The ends of start windows that a step returns. */
export const windowEnds = (step: Did): ReadonlyArray<number> => {
  if (step.name === "attach") return step.result._tag === "called" ? [step.result.startBefore] : []
  if (step.name !== "heartbeat") return []
  return (step.result.tickets ?? []).flatMap(({ startBefore }) => startBefore ?? [])
}

/** The ticket to whose start a step has bound a session. */
export const boundBy = (step: Did, { tickets }: QueueState): Binding => {
  if (step.name !== "bind" || step.result === "stale") return {}
  const { id, lease } = step.call
  const was = tickets.get(id)
  return was?.state === "live" && was.lease === lease ? {} : { bound: id }
}

/** The tickets that a step withdraws. */
export const withdrawnBy = (step: Did): ReadonlyArray<string> => {
  if (step.name === "withdraw") return step.call.ids
  return step.name === "reportOutage" ? (step.call.ids ?? []) : []
}

/** A published message as text, independent of the order of its fields. */
export const messageText = (message: string): string => {
  const signal = readSignal(message)
  return signal === undefined ? message : signalText(signal)
}

/** JSON with the fields of every object sorted: Redis writes them in any order. */
export const json = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
