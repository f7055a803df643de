/**
 * What an operator sees and does, over the queue and the registry of instances. An action is a step like any other: its signals are
 * pushed, and its settlements are carried out. The caller checks the authorisation.
 *
 * While the store is unavailable, a view has what is known without it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { FifoQueue } from "../FifoQueue.ts"
import { Gatekeeper } from "../Gatekeeper.ts"
import type { IpIntel } from "../IpIntel.ts"
import type { PlatformApi } from "../PlatformApi.ts"
import type { PushChannel } from "../PushChannel.ts"
import type { Pages } from "../queue/operator.ts"
import type { StoreUnavailable } from "../Session.ts"
import { type Campaign, Settings } from "../Settings.ts"
import { Store } from "../Store.ts"
import { type Attributes, inSpan } from "../spans.ts"
import { beats, instancesOf } from "./activity.ts"
import { healthOfGates, makeHealth } from "./health.ts"
import { makeRegistry } from "./registry.ts"
import { type Action, COUNTS, type Done, type Health, type Trail, type View } from "./shapes.ts"

export class Operator extends Context.Service<
  Operator,
  {
    /** One page of the view; undefined for a campaign that is not configured. `since` (ms) asks for newer buckets only. */
    readonly view: (campaign: string | undefined, pages: Pages, since: number) => Effect.Effect<View | undefined>
    /** Acts in the name of `who` and keeps a line of it; undefined for a campaign that is not configured. */
    readonly act: (
      campaign: string | undefined,
      who: string,
      action: Action,
    ) => Effect.Effect<Done | undefined, StoreUnavailable>
    /** What operators did, a page from the `first` line on; undefined for a campaign that is not configured. */
    readonly trail: (
      campaign: string | undefined,
      first: number,
      most: number,
    ) => Effect.Effect<Trail | undefined, StoreUnavailable>
  }
>()("voicegate/Operator") {}

/** So often absent tickets are cleared before "call next" gives up: each time makes way for the next ones. */
const CALL_ATTEMPTS = 50

const ofCampaign = ({ name }: Campaign, more: Attributes = {}) => ({
  attributes: { "voicegate.campaign": name, ...more },
})

/** Over a running gate. With `Security.ConsoleToken` this instance is listed, and what it counts is kept for the charts. */
export const layer: Layer.Layer<
  Operator,
  never,
  Gatekeeper | FifoQueue | IpIntel | PlatformApi | PushChannel | Settings | Store
> = Layer.effect(
  Operator,
  Effect.gen(function* () {
    const { campaigns, instance, removed, slots, step, terms } = (yield* Gatekeeper).internals
    const { operator: queue } = yield* FifoQueue
    const store = yield* Store
    const { Security } = yield* Settings
    const registry = makeRegistry(store)
    const health = yield* makeHealth(campaigns)

    if (Security.ConsoleToken !== undefined) yield* beats(registry, instance)

    const away = { queue: undefined, survey: { instances: [], buckets: [] } }
    const view = Effect.fnUntraced(function* (campaign: Campaign, pages: Pages, since: number) {
      const began = yield* Clock.currentTimeMillis
      const found = yield* Effect.all(
        { queue: step(campaign, (at) => queue.look(at, pages)), survey: registry.survey(since) },
        { concurrency: "unbounded" },
      ).pipe(Effect.catchTag("StoreUnavailable", () => Effect.succeed(away)))
      const took = (yield* Clock.currentTimeMillis) - began
      const now = yield* store.now
      const listens = yield* store.listens ?? Effect.succeed(true)
      const answers = `answers in ${took} ms${listens ? "" : ", but what instances publish does not arrive here"}`
      const stored: Health = {
        name: "Store",
        state: found.queue !== undefined && listens ? "ok" : "failed",
        says: found.queue === undefined ? "The shared store cannot be reached." : answers,
        at: now,
      }
      return {
        now,
        campaigns: campaigns.all.map(({ name }) => name),
        campaign: campaign.name,
        slots: slots(campaign),
        instance: instance.id,
        health: [stored, ...(yield* health), ...healthOfGates({ removed, terms })],
        queue: found.queue ?? null,
        instances: instancesOf(found.survey),
        counts: COUNTS,
        buckets: found.survey.buckets,
      } satisfies View
    })

    const act = (campaign: Campaign, who: string, action: Action): Effect.Effect<Done, StoreUnavailable> => {
      switch (action.type) {
        case "remove":
          return step(campaign, (at) => queue.remove(at, who, action.seq))
        case "end":
          return step(campaign, (at) => queue.endLease(at, who, action.lease, action.deadline))
        case "call":
          return step(campaign, (at) => queue.callOne(at, who)).pipe(
            Effect.repeat({ times: CALL_ATTEMPTS - 1, while: ({ result }) => result === "more" }),
          )
        default:
          return step(campaign, (at) => queue.turn(at, who, action.type))
      }
    }

    /** The campaign by its name, the default one when none is named. */
    const named = <A, E>(
      name: string | undefined,
      then: (campaign: Campaign) => Effect.Effect<A, E>,
    ): Effect.Effect<A | undefined, E> => {
      const campaign = campaigns.find(name)
      return campaign === undefined ? Effect.undefined : then(campaign)
    }

    return {
      view: (name, pages, since) =>
        named(name, (campaign) => inSpan("Operator.view", ofCampaign(campaign))(view(campaign, pages, since))),
      act: (name, who, action) =>
        named(name, (campaign) =>
          Effect.tap(Effect.uninterruptible(act(campaign, who, action)), ({ result, ticket }) =>
            Effect.logInfo(`Operator ${who}: ${action.type} ${ticket} in campaign ${campaign.name}: ${result}`),
          ).pipe(inSpan("Operator.act", ofCampaign(campaign, { "voicegate.action": action.type }))),
        ),
      trail: (name, first, most) =>
        named(name, (campaign) =>
          inSpan("Operator.trail", ofCampaign(campaign))(step(campaign, (at) => queue.auditLog(at, first, most))),
        ),
    }
  }),
)
