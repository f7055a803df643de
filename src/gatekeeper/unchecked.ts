/**
 * Callers whose address was not checked, because the provider failed, the budget of lookups was spent or a fact that matters is
 * not known: `IpIntel.OnError` lets them through or blocks them. Each is counted. They are logged once at the beginning and
 * then at most once a minute with their number, so that a crowd does not fill the log.
 */
import { Effect, type Scope } from "effect"
import type { Blocked } from "../Session.ts"
import type { SettingsTree } from "../Settings.ts"
import * as metrics from "./metrics.ts"
import { blocked } from "./outcomes.ts"

/** How often the number is logged while there are such callers. */
const LOG_EVERY = "1 minute"

/** Decides about one such caller. `why` is for the log and names no address. */
export type Unchecked = (reason: metrics.UncheckedReason, why: string) => Effect.Effect<void, Blocked>

export const makeUnchecked = Effect.fnUntraced(function* (
  onError: SettingsTree["IpIntel"]["OnError"],
): Effect.fn.Return<Unchecked, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const outcome = onError === "block" ? "blocked" : "let_through"
  const words = onError === "block" ? "Blocked unchecked" : "Let through unchecked"
  /** since the last line of the log, by reason; undefined while there was nobody for a minute */
  let counts: Map<metrics.UncheckedReason, number> | undefined
  let last = ""

  const everyMinute = Effect.gen(function* () {
    while (counts !== undefined) {
      yield* Effect.sleep(LOG_EVERY)
      const since: ReadonlyMap<metrics.UncheckedReason, number> = counts ?? new Map()
      counts = since.size === 0 ? undefined : new Map()
      if (since.size === 0) return
      const total = [...since.values()].reduce((all, number) => all + number, 0)
      const reasons = [...since].map(([reason, number]) => `${reason} ${number}`).join(", ")
      yield* Effect.logWarning(`${words} in the last minute: ${total} more requests (${reasons}). The last: ${last}`)
    }
  })

  const begin = (why: string) =>
    Effect.andThen(
      Effect.logWarning(`${words}: ${why}. Further ones are counted, and logged once a minute.`),
      Effect.forkIn(everyMinute, scope),
    )
  const end: Effect.Effect<void, Blocked> =
    onError === "block"
      ? Effect.suspend(() => {
          metrics.blocked.ip_check_failed.updateUnsafe(1, context)
          return Effect.fail(blocked("ip_check_failed"))
        })
      : Effect.void

  return (reason, why) =>
    Effect.suspend(() => {
      metrics.unchecked[outcome][reason].updateUnsafe(1, context)
      if (counts === undefined) {
        counts = new Map()
        return Effect.andThen(begin(why), end)
      }
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
      last = why
      return end
    })
})
