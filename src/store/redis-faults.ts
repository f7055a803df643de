/**
 * The log of what a Redis that can be reached refuses to do. Each kind has a line when it begins, one a minute with the number while it
 * lasts, and one when it has not come for a minute, so that an operator learns of it and a crowd does not fill the log.
 */
import { Effect, type Scope } from "effect"
import type { Trouble } from "./redis-trouble.ts"

const LOG_EVERY = "1 minute"

/** Notes a refusal; `asked` names the rule or command. */
export type NoteFault = (trouble: Trouble, asked: string) => void

export const makeFaults = Effect.fnUntraced(function* (): Effect.fn.Return<NoteFault, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** how often each kind came since its last line */
  const counts = new Map<string, number>()

  const everyMinute = Effect.fnUntraced(function* (kind: string) {
    while (true) {
      yield* Effect.sleep(LOG_EVERY)
      const count = counts.get(kind)
      if (count === 0) {
        counts.delete(kind)
        return yield* Effect.logInfo(`The store no longer refuses what the gate asks (${kind}): not once in a minute.`)
      }
      counts.set(kind, 0)
      yield* Effect.logError(`The store still refuses what the gate asks (${kind}): ${count} more in the last minute.`)
    }
  })

  return ({ kind, message }, asked) => {
    const count = counts.get(kind)
    if (count !== undefined) {
      counts.set(kind, count + 1)
      return
    }
    counts.set(kind, 0)
    const begins = Effect.logError(`The store refuses what the gate asks (${asked}): ${message}.`)
    run(Effect.andThen(begins, Effect.forkIn(everyMinute(kind), scope)))
  }
})
