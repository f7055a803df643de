/**
 * Handles callers whose address could not be checked, because the provider failed, the lookup budget is exhausted or a required
 * fact is missing. `IpIntel.OnError` lets them through or blocks them. Each is counted. The first is logged at once, later ones
 * at most once a minute as a count, so that many callers do not fill the log.
 */
import { Context, Effect, Layer } from "effect"
import { countedEachMinute } from "../../lib/throttled-log.ts"
import type { Blocked } from "../../protocol/refusals.ts"
import { blocked } from "../../protocol/refusals.ts"
import { Settings } from "../../settings/Settings.ts"
import * as metrics from "../metrics.ts"

/** Lets one such caller through or blocks them. `why` is for the log and contains no address. */
export class Unchecked extends Context.Service<
  Unchecked,
  (reason: metrics.UncheckedReason, why: string) => Effect.Effect<void, Blocked>
>()("voicegate/gatekeeper/Unchecked") {}

export const layer: Layer.Layer<Unchecked, never, Settings> = Layer.effect(
  Unchecked,
  Effect.gen(function* () {
    const { OnError } = (yield* Settings).IpIntel
    const context = yield* Effect.context<never>()
    const outcome = OnError === "block" ? "blocked" : "let_through"
    const prefix = OnError === "block" ? "Blocked unchecked" : "Let through unchecked"
    /** callers since the last log line, by reason */
    const counts = new Map<metrics.UncheckedReason, number>()

    const note = yield* countedEachMinute<"all", string>({
      first: (_, why) =>
        Effect.logWarning(`${prefix}: ${why}. Further callers are counted, and the count is logged once a minute.`),
      more: (_, total, last) => {
        const reasons = [...counts].map(([reason, number]) => `${reason} ${number}`).join(", ")
        counts.clear()
        return Effect.logWarning(`${prefix} in the last minute: ${total} more requests (${reasons}). The last: ${last}`)
      },
    })
    const decision: Effect.Effect<void, Blocked> =
      OnError === "block"
        ? Effect.suspend(() => {
            metrics.blocked.ip_check_failed.updateUnsafe(1, context)
            return Effect.fail(blocked("ip_check_failed"))
          })
        : Effect.void

    return (reason, why) =>
      Effect.suspend(() => {
        metrics.unchecked[outcome][reason].updateUnsafe(1, context)
        const line = note("all", why)
        if (line !== undefined) return Effect.andThen(line, decision)
        counts.set(reason, (counts.get(reason) ?? 0) + 1)
        return decision
      })
  }),
)
