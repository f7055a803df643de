/** Lets another gatekeeper of the same instance take over: the background tasks stop first, and what was begun finishes. */
import { Effect, Exit, Scope } from "effect"
import type { AccountCapacity } from "../fifo-queue/FifoQueue.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { FollowUp } from "./background/run-every.ts"
import type { Campaigns } from "./Campaigns.ts"
import type { Memory } from "./calls/withdrawals.ts"
import type { Capacity } from "./capacity/Capacity.ts"
import type { Handover, Successor } from "./internals.ts"
import * as metrics from "./metrics.ts"

export const makeHandover = (campaigns: Campaigns, capacity: Capacity, memory: Memory) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let followUps = 0
    let successor: Successor | undefined
    /** This campaign in the settings of the other gatekeeper, under any name. */
    const served = (campaign: Campaign): Campaign | undefined => {
      const key = campaigns.key(campaign)
      return successor?.campaigns.all.find((each) => successor?.campaigns.key(each) === key)
    }
    /** Whether the other gatekeeper serves this campaign. */
    const isTakenOver = (campaign: Campaign): boolean => served(campaign) !== undefined
    /** The slots of the other gatekeeper, once there is one: a step that finishes here must not call more tickets than that. */
    const slots = (campaign: Campaign): number => {
      if (successor === undefined) return capacity.slots(campaign)
      const taken = served(campaign)
      return taken === undefined ? 0 : successor.slots(taken)
    }
    const followUp: FollowUp = (effect) =>
      Effect.suspend(() => {
        followUps++
        const counted = Effect.ensuring(
          effect,
          Effect.sync(() => void followUps--),
        )
        return Effect.asVoid(Effect.forkIn(counted, scope))
      })

    /** The capacity of a campaign's account, of the other gatekeeper once there is one. */
    const account = (campaign: Campaign): AccountCapacity | undefined => {
      if (successor === undefined) return capacity.account(campaign)
      const taken = served(campaign)
      return taken && successor.account(taken)
    }

    return {
      followUp,
      isTakenOver,
      slots,
      account,
      /** Runs the background tasks in a scope of their own, and returns what the other gatekeeper needs. */
      inBackground: Effect.fnUntraced(function* <A extends Pick<Handover, "movedTickets">, E, R>(
        tasks: Effect.Effect<A, E, R>,
      ) {
        const tasksScope = yield* Scope.fork(scope)
        const status = yield* Scope.provide(tasks, tasksScope)
        const handover: Handover = {
          movedTickets: status.movedTickets,
          pending: () => memory.size() + followUps,
          stopBackground: (other) =>
            Effect.suspend(() => {
              successor = other
              const names = new Set(other.campaigns.all.map(({ name }) => name))
              const gone = campaigns.all.filter(({ name }) => !names.has(name))
              return Effect.andThen(
                Scope.close(tasksScope, Exit.void),
                Effect.forEach(gone, ({ name }) => metrics.clearGauges(name), { discard: true }),
              )
            }),
        }
        return { status, handover }
      }),
    }
  })
