/** The endpoint that says whether a newcomer would be served now. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { problems } from "../../protocol/problems.ts"
import { Routed } from "../Api.ts"
import { answered, refuse } from "../answers/respond.ts"

export const availability = HttpApiBuilder.group(
  Routed,
  "Availability",
  Effect.fnUntraced(function* (handlers) {
    const gatekeeper = yield* Gatekeeper
    return handlers.handle("availability", ({ query: { campaignId } }) =>
      Effect.matchEffect(gatekeeper.availability(campaignId === undefined ? undefined : String(campaignId)), {
        onFailure: ({ issues, message }) =>
          refuse(problems.unknownCampaign.make("unknown_campaign", message, { errors: issues }, {})),
        onSuccess: (found) => answered(found.state, found),
      }),
    )
  }),
)
