/**
 * Batches calls of one rule within an event loop tick into one command, if the rule allows it (`Rule.batch`). A store under
 * load spends more time on transport and on the set-up of a rule than on most calls.
 *
 * Hot path: every admission goes through here, so it uses plain callbacks instead of effects.
 */

import { runInPhase } from "../../lib/tick-phases.ts"
import type { Ask, Rule } from "../Store.ts"
import { jsonOf } from "./json.ts"

export type Done = (error: Error | null | undefined, answer?: unknown) => void
/** The part of a rule that is needed to send it. */
export type SentRule = Pick<Rule<never, never, unknown>, "batch" | "expires" | "lua" | "name" | "texts">
type AnyAsk = Ask<object, object>
/** Sends one command; `done` gets its answer, a JSON list with one answer per call. */
export type Send = (rule: SentRule, keys: ReadonlyArray<string>, args: ReadonlyArray<string>, done: Done) => void
/** Makes one call of a rule; `done` gets its decoded JSON answer. */
export type Call = (rule: SentRule, ask: AnyAsk, done: Done) => void

interface PendingCall {
  readonly ask: AnyAsk
  readonly done: Done
}

/**
 * The largest batch. A full batch is sent at once, so that the store works on it while this process decides further
 * requests, instead of each waiting for the other.
 */
export const MAX_CALLS_PER_COMMAND = 16

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a === b || (a.length === b.length && a.every((each, i) => each === b[i]))

const NO_KEYS: ReadonlyArray<string> = []

/** Whether two calls may share a command. On a cluster all keys of a command are on one node, so own keys must be the same. */
const canShareCommand = (cluster: boolean, a: AnyAsk, b: AnyAsk): boolean =>
  a.context === b.context &&
  isSame(a.keys, b.keys) &&
  (cluster ? isSame(a.ownKeys ?? NO_KEYS, b.ownKeys ?? NO_KEYS) : a.ownKeys?.length === b.ownKeys?.length)

/** A cache, and no state: a campaign's calls have one context, until its settings change. */
const contexts = new WeakMap<object, string>()
const contextJson = (context: object): string => {
  const known = contexts.get(context)
  if (known !== undefined) return known
  const text = JSON.stringify(context)
  contexts.set(context, text)
  return text
}

const DATA_ONLY: ReadonlyArray<string> = ["data"]

/** A call as the arguments of the Lua (`Rule.lua`): its fields without `texts` as JSON, then each of `texts`, neither escaped nor parsed. */
export const argumentsOf = (call: object, texts: ReadonlyArray<string> = DATA_ONLY): ReadonlyArray<string> => {
  const args = ["{}", ...texts.map(() => "")]
  let others: { [field: string]: unknown } | undefined
  for (const field in call) {
    const value: unknown = Reflect.get(call, field)
    const at = texts.indexOf(field)
    if (at >= 0 && typeof value === "string") {
      args[at + 1] = value
    } else if (value !== undefined) {
      others ??= {}
      others[field] = value
    }
  }
  if (others !== undefined) args[0] = jsonOf(others)
  return args
}

/** One answer per call; empty when the reply is not a list, which then fails when each answer is decoded. */
const parseAnswers = (reply: unknown): ReadonlyArray<unknown> => {
  try {
    const answers: unknown = JSON.parse(String(reply))
    return Array.isArray(answers) ? answers : []
  } catch {
    return []
  }
}

/** Makes a batcher, which collects calls until the batch is full or the tick ends. */
export const makeBatcher = (send: Send, cluster: boolean): Call => {
  let pending = new Map<SentRule, Array<PendingCall>>()

  const sendBatch = (rule: SentRule, calls: ReadonlyArray<PendingCall>): void => {
    const [first] = calls
    if (first === undefined) return
    const { context, keys, now } = first.ask
    const ownKeys = calls.flatMap(({ ask }) => ask.ownKeys ?? NO_KEYS)
    const args = [String(now), contextJson(context), ...calls.flatMap(({ ask }) => argumentsOf(ask.call, rule.texts))]
    send(rule, ownKeys.length === 0 ? keys : [...keys, ...ownKeys], args, (error, reply) => {
      if (error) {
        for (const { done } of calls) done(error)
        return
      }
      const answers = parseAnswers(reply)
      calls.forEach(({ done }, i) => {
        done(undefined, answers[i])
      })
    })
  }

  const flush = (): void => {
    const all = pending
    pending = new Map()
    for (const [rule, calls] of all) sendBatch(rule, calls)
  }

  return (rule, ask, done) => {
    const call = { ask, done }
    if (!rule.batch) return sendBatch(rule, [call])
    if (pending.size === 0) runInPhase("send", flush)
    const calls = pending.get(rule)
    const [first] = calls ?? []
    if (calls === undefined || first === undefined) {
      pending.set(rule, [call])
    } else if (canShareCommand(cluster, first.ask, ask)) {
      calls.push(call)
      if (calls.length < MAX_CALLS_PER_COMMAND) return
      sendBatch(rule, calls)
      pending.delete(rule)
    } else {
      sendBatch(rule, calls)
      pending.set(rule, [call])
    }
  }
}
