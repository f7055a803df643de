/**
 * Logs the errors of a Redis that is reachable but refuses commands. Each kind of error gets a line when it first occurs, one per
 * minute with the count while it lasts, and one when it has not occurred for a minute, so that many callers do not flood the log.
 */
import { Effect, type Scope } from "effect"
import type { RedisProblem } from "./redis-problems.ts"

const LOG_EVERY = "1 minute"

/** Logs a refusal; `operation` is the rule or command. */
export type LogRefusal = (problem: RedisProblem, operation: string) => void

export const makeRefusalLog = Effect.fnUntraced(function* (): Effect.fn.Return<LogRefusal, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** how often each kind occurred since its last line */
  const counts = new Map<string, number>()

  const everyMinute = Effect.fnUntraced(function* (kind: string) {
    while (true) {
      yield* Effect.sleep(LOG_EVERY)
      const count = counts.get(kind)
      if (count === 0) {
        counts.delete(kind)
        return yield* Effect.logInfo(
          `The store no longer refuses commands (${kind}): none was refused in the last minute.`,
        )
      }
      counts.set(kind, 0)
      yield* Effect.logError(`The store still refuses commands (${kind}): ${count} more in the last minute.`)
    }
  })

  return ({ kind, message }, operation) => {
    const count = counts.get(kind)
    if (count !== undefined) {
      counts.set(kind, count + 1)
      return
    }
    counts.set(kind, 0)
    const started = Effect.logError(`The store refuses commands (${operation}): ${message}.`)
    run(Effect.andThen(started, Effect.forkIn(everyMinute(kind), scope)))
  }
})
