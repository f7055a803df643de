/**
 * Logs the errors of a Redis that is reachable but refuses commands. Each kind of error gets a line when it first occurs, one per
 * minute with the count while it lasts, and one when it has not occurred for a minute, so that many callers do not flood the log.
 */
import { Effect, type Scope } from "effect"
import { countedEachMinute } from "../../lib/throttled-log.ts"
import type { RedisProblem } from "./problems.ts"

/** `operation` is the rule or command. */
export type LogRefusal = (problem: RedisProblem, operation: string) => void

export const makeRefusalLog = Effect.fnUntraced(function* (): Effect.fn.Return<LogRefusal, never, Scope.Scope> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const note = yield* countedEachMinute<string, string>({
    first: (_, refusal) => Effect.logError(`The store refuses commands ${refusal}.`),
    more: (kind, count) =>
      Effect.logError(`The store still refuses commands (${kind}): ${count} more in the last minute.`),
    over: (kind) =>
      Effect.logInfo(`The store no longer refuses commands (${kind}): none was refused in the last minute.`),
  })
  return ({ kind, message }, operation) => {
    const line = note(kind, `(${operation}): ${message}`)
    if (line !== undefined) run(line)
  }
})
