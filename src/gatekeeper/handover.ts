/** Lets another gatekeeper of the same instance take over: the background tasks stop first, and what was begun finishes. */
import { Effect, Exit, Metric, Scope } from "effect"
import type { Campaign } from "../Settings.ts"
import type { Campaigns } from "./campaigns.ts"
import type { Handover } from "./internals.ts"
import * as metrics from "./metrics.ts"
import type { Memory } from "./withdrawals.ts"

/** Runs an effect in the background that must finish before the gatekeeper stops, unless the process stops. */
export type FollowUp = (effect: Effect.Effect<unknown>) => Effect.Effect<void>

/** Sets the gauges of a campaign to 0, because nothing updates them any more. */
const clearGauges = ({ name }: Campaign): Effect.Effect<void> =>
  Effect.forEach(
    [metrics.waiting(name), metrics.leases(name), metrics.slots(name), metrics.doubts(name), metrics.quarantined(name)],
    (gauge) => Metric.update(gauge, 0),
    { discard: true },
  )

export const makeHandover = (campaigns: Campaigns, memory: Memory) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let followUps = 0
    let isServed: (key: string) => boolean = () => false
    /** Whether the other gatekeeper serves this campaign. */
    const isTakenOver = (campaign: Campaign): boolean => isServed(campaigns.key(campaign))
    const followUp: FollowUp = (effect) =>
      Effect.suspend(() => {
        followUps++
        const counted = Effect.ensuring(
          effect,
          Effect.sync(() => void followUps--),
        )
        return Effect.asVoid(Effect.forkIn(counted, scope))
      })

    return {
      followUp,
      isTakenOver,
      /** Runs the background tasks in a scope of their own, and returns what the other gatekeeper needs. */
      inBackground: Effect.fnUntraced(function* <A extends Pick<Handover, "movedTickets">, E, R>(
        tasks: Effect.Effect<A, E, R>,
      ) {
        const tasksScope = yield* Scope.fork(scope)
        const status = yield* Scope.provide(tasks, tasksScope)
        const handover: Handover = {
          movedTickets: status.movedTickets,
          pending: () => memory.size() + followUps,
          stopBackground: (served) =>
            Effect.suspend(() => {
              isServed = served
              return Scope.close(tasksScope, Exit.void)
            }).pipe(
              Effect.andThen(
                Effect.forEach(
                  campaigns.all.filter((campaign) => !isTakenOver(campaign)),
                  clearGauges,
                  { discard: true },
                ),
              ),
            ),
        }
        return { status, handover }
      }),
    }
  })
