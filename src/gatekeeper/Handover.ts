/** Lets another gatekeeper of the same instance take over: the background tasks stop first, and what was begun finishes. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as budgetMetrics from "../budgets/metrics.ts"
import * as Background from "./background/layer.ts"
import { StoreOutage } from "./background/StoreOutage.ts"
import { Campaigns } from "./Campaigns.ts"
import { NotGivenBack } from "./calls/NotGivenBack.ts"
import { FollowUps } from "./FollowUps.ts"
import * as metrics from "./metrics.ts"
import { type Other, Successor } from "./Successor.ts"

/** How another gatekeeper of the same instance takes over, with other settings (`reload/`). */
export class Handover extends Context.Service<
  Handover,
  {
    /** Tickets whose pages an outage has moved and that may not have returned yet. */
    readonly movedTickets: () => ReadonlyArray<string>
    /**
     * Stops the background tasks, after the other gatekeeper has started its own. What still runs here finishes with the slots of the
     * other gatekeeper. Other gates are told that this instance no longer serves the campaigns that the other gatekeeper does not
     * serve.
     */
    readonly stopBackground: (other: Other) => Effect.Effect<void>
    /** How many failed requests have not given back yet what they took, plus the number of follow-ups that are running. */
    readonly pending: () => number
  }
>()("voicegate/gatekeeper/Handover") {}

/** Starts the background tasks, in a scope of their own. */
export const layer = Layer.effect(
  Handover,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const followUps = yield* FollowUps
    const notGivenBack = yield* NotGivenBack
    const successor = yield* Successor
    const tasks = yield* Scope.fork(yield* Effect.scope)
    const { tickets } = Context.get(yield* Layer.buildWithScope(Background.layer, tasks), StoreOutage)
    return {
      movedTickets: tickets,
      pending: () => notGivenBack.size() + followUps.pending(),
      stopBackground: (other) =>
        Effect.suspend(() => {
          successor.set(other)
          const names = new Set(other.campaigns.all.map(({ name }) => name))
          const gone = campaigns.all.filter(({ name }) => !names.has(name))
          return Effect.andThen(
            Scope.close(tasks, Exit.void),
            Effect.forEach(
              gone,
              ({ name }) => Effect.andThen(metrics.clearGauges(name), budgetMetrics.showRefusing(name, [])),
              { discard: true },
            ),
          )
        }),
    }
  }),
)
