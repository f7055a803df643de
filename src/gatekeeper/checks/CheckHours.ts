/** Refuses newcomers of a campaign that is closed by its hours, or will be before their turn. Nothing is looked up, and no quota is taken. */
import { Context, Effect, Layer } from "effect"
import type { Closed } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Hours } from "../Hours.ts"
import { Overflow } from "../Overflow.ts"
import { tracing } from "../spans.ts"

/** Call it only for a campaign with `Hours`. */
export class CheckHours extends Context.Service<CheckHours, (campaign: Campaign) => Effect.Effect<void, Closed>>()(
  "voicegate/gatekeeper/CheckHours",
) {}

export const layer: Layer.Layer<CheckHours, never, Hours | Overflow | Store> = Layer.effect(
  CheckHours,
  Effect.gen(function* () {
    const hours = yield* Hours
    const overflow = yield* Overflow
    const { now } = yield* Store
    const traced = yield* tracing
    return traced("Gatekeeper.checkHours", (campaign) =>
      Effect.flatMap(now, (at) => {
        const refusal = hours.refusal(campaign, at, () => overflow.atRefusal(campaign, "closed", at))
        return refusal === undefined ? Effect.void : Effect.fail(refusal)
      }),
    )
  }),
)
