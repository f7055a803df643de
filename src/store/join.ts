/**
 * Sends calls of one rule that are made in one turn of the event loop as one command, where the rule says that it can
 * (`Rule.batch`): a store under load spends more on a command's way, and on what every run of a rule begins with, than
 * on most calls.
 *
 * Plain callbacks, no effect: every admission goes through here.
 */
import type { Ask, Rule } from "../Store.ts"
import { atEndOfTurn } from "../turn.ts"

export type Done = (error: Error | null | undefined, answer?: unknown) => void
/** A rule as far as sending it needs. */
export type Sent = Pick<Rule<never, never, unknown>, "batch" | "lua" | "name">
type AnyAsk = Ask<object, object>
/** Sends one command; `done` is told its answer, a JSON list with an answer a call. */
export type Send = (rule: Sent, keys: ReadonlyArray<string>, args: ReadonlyArray<string>, done: Done) => void
/** Asks a rule; `done` is told its own answer. */
export type Call = (rule: Sent, ask: AnyAsk, done: Done) => void

interface Waiting {
  readonly ask: AnyAsk
  readonly done: Done
}

/**
 * At most so many calls are one command, which is sent as soon as it has them: the store then works on it while this process
 * decides further requests, instead of each waiting for the other.
 */
export const MOST = 24

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a === b || (a.length === b.length && a.every((each, i) => each === b[i]))

const NONE: ReadonlyArray<string> = []

/** Whether two calls may be one command. On a cluster all keys of a command are on one node: no own ones can differ. */
const fits = (cluster: boolean, a: AnyAsk, b: AnyAsk): boolean =>
  a.context === b.context &&
  isSame(a.keys, b.keys) &&
  (cluster ? isSame(a.ownKeys ?? NONE, b.ownKeys ?? NONE) : a.ownKeys?.length === b.ownKeys?.length)

const contexts = new WeakMap<object, string>()
const contextOf = (context: object): string => {
  const known = contexts.get(context)
  if (known !== undefined) return known
  const text = JSON.stringify(context)
  contexts.set(context, text)
  return text
}

const wellFormed = (_: string, value: unknown): unknown => (typeof value === "string" ? value.toWellFormed() : value)

/** A call as JSON. Half of a surrogate pair, which Redis's JSON refuses to read, becomes U+FFFD, as it would in UTF-8. */
const callOf = (call: object): string => {
  const text = JSON.stringify(call)
  return text.includes("\\ud") ? JSON.stringify(call, wellFormed) : text
}

/** One answer a call; none where the rule answered something else, which is found when the answer is decoded. */
const answersOf = (reply: unknown): ReadonlyArray<unknown> => {
  try {
    const answers: unknown = JSON.parse(String(reply))
    return Array.isArray(answers) ? answers : []
  } catch {
    return []
  }
}

/** Makes what gathers calls until there are enough or the turn is over. */
export const makeJoin = (send: Send, cluster: boolean): Call => {
  let gathered = new Map<Sent, Array<Waiting>>()

  const sendTogether = (rule: Sent, calls: ReadonlyArray<Waiting>): void => {
    const [first] = calls
    if (first === undefined) return
    const { context, keys, now } = first.ask
    const own = calls.flatMap(({ ask }) => ask.ownKeys ?? NONE)
    const args = [String(now), contextOf(context), ...calls.map(({ ask }) => callOf(ask.call))]
    send(rule, own.length === 0 ? keys : [...keys, ...own], args, (error, reply) => {
      if (error) {
        for (const { done } of calls) done(error)
        return
      }
      const answers = answersOf(reply)
      calls.forEach(({ done }, i) => {
        done(undefined, answers[i])
      })
    })
  }

  const flush = (): void => {
    const all = gathered
    gathered = new Map()
    for (const [rule, calls] of all) sendTogether(rule, calls)
  }

  return (rule, ask, done) => {
    const call = { ask, done }
    if (!rule.batch) return sendTogether(rule, [call])
    if (gathered.size === 0) atEndOfTurn("send", flush)
    const calls = gathered.get(rule)
    const [first] = calls ?? []
    if (calls === undefined || first === undefined) {
      gathered.set(rule, [call])
    } else if (fits(cluster, first.ask, ask)) {
      calls.push(call)
      if (calls.length < MOST) return
      sendTogether(rule, calls)
      gathered.delete(rule)
    } else {
      sendTogether(rule, calls)
      gathered.set(rule, [call])
    }
  }
}
