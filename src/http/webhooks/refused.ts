/**
 * Warns about refused webhooks: the slots of ended calls then stay held, and the usual cause is a missing header at the platform.
 * Anyone can send such a request, so there is at most one warning a minute.
 */

import { Effect, Metric } from "effect"
import { webhooks } from "../../gatekeeper/metrics.ts"
import { onceAMinute } from "../../lib/throttled-log.ts"

/** Counts a refusal, and logs it unless one of this process was logged within the last minute. */
export const makeRefusedWebhooks = (): ((refusal: string) => Effect.Effect<void>) => {
  const warn = onceAMinute<string>((refusal, omitted) => {
    const more = omitted === 0 ? "" : ` ${omitted} more were refused since the last warning.`
    return Effect.logWarning(
      `A session-ended webhook was refused. ${refusal} If the platform sent it, the slots of ended calls stay held until the gate asks the platform, for up to 5 minutes.${more}`,
    )
  })
  return (refusal) => Effect.andThen(Metric.update(webhooks("unauthorized"), 1), warn(refusal))
}
