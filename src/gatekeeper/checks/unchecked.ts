/**
 * Handles callers whose address could not be checked, because the provider failed, the lookup budget is exhausted or a required
 * fact is missing. `IpIntel.OnError` lets them through or blocks them. Each is counted. The first is logged at once, later ones
 * at most once a minute as a count, so that many callers do not fill the log.
 */
import { Effect, type Scope } from "effect"
import type { Blocked } from "../../protocol/refusals.ts"
import { blocked } from "../../protocol/refusals.ts"
import type { SettingsTree } from "../../settings/Settings.ts"
import * as metrics from "../metrics.ts"

/** How often the count is logged. */
const LOG_EVERY = "1 minute"

/** Lets one such caller through or blocks them. `why` is for the log and contains no address. */
export type Unchecked = (reason: metrics.UncheckedReason, why: string) => Effect.Effect<void, Blocked>

export const makeUnchecked = Effect.fnUntraced(function* (
  onError: SettingsTree["IpIntel"]["OnError"],
): Effect.fn.Return<Unchecked, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const outcome = onError === "block" ? "blocked" : "let_through"
  const prefix = onError === "block" ? "Blocked unchecked" : "Let through unchecked"
  /** callers since the last log line, by reason; undefined after a minute without any */
  let counts: Map<metrics.UncheckedReason, number> | undefined
  let last = ""

  const logCounts = Effect.gen(function* () {
    while (counts !== undefined) {
      yield* Effect.sleep(LOG_EVERY)
      const since: ReadonlyMap<metrics.UncheckedReason, number> = counts ?? new Map()
      counts = since.size === 0 ? undefined : new Map()
      if (since.size === 0) return
      const total = [...since.values()].reduce((all, number) => all + number, 0)
      const reasons = [...since].map(([reason, number]) => `${reason} ${number}`).join(", ")
      yield* Effect.logWarning(`${prefix} in the last minute: ${total} more requests (${reasons}). The last: ${last}`)
    }
  })

  const logFirst = (why: string) =>
    Effect.andThen(
      Effect.logWarning(`${prefix}: ${why}. Further callers are counted, and the count is logged once a minute.`),
      Effect.forkIn(logCounts, scope),
    )
  const decision: Effect.Effect<void, Blocked> =
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
        return Effect.andThen(logFirst(why), decision)
      }
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
      last = why
      return decision
    })
})
