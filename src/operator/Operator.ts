/**
 * What an operator sees and does, over the queue and the registry of instances. An action is a step of the queue like any other: its
 * signals are pushed and its settlements are carried out. Callers must check the authorisation first.
 *
 * While the store is unavailable, a view contains what is known without it.
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
import { healthOfGates, makeHealth } from "./health.ts"
import { instancesOf, sendHeartbeats } from "./heartbeat.ts"
import { makeRegistry } from "./registry.ts"
import type { Action, ActionOutcome, AuditLog, Health, View } from "./shapes.ts"

/** The methods take a campaign's name, undefined for the default campaign, and return undefined for an unknown one. */
export class Operator extends Context.Service<
  Operator,
  {
    /** One page of the view, with the buckets since a time (ms since 1970). */
    readonly view: (campaign: string | undefined, pages: Pages, since: number) => Effect.Effect<View | undefined>
    /** Performs an action for the operator `who` and adds its line to the audit log. */
    readonly act: (
      campaign: string | undefined,
      who: string,
      action: Action,
    ) => Effect.Effect<ActionOutcome | undefined, StoreUnavailable>
    /** At most `count` lines of the audit log, newest first, from line `first`. */
    readonly auditLog: (
      campaign: string | undefined,
      first: number,
      count: number,
    ) => Effect.Effect<AuditLog | undefined, StoreUnavailable>
  }
>()("voicegate/Operator") {}

/** How often an action is repeated that has not finished. Each time it clears absent tickets. */
const ACTION_ATTEMPTS = 50

const ofCampaign = ({ name }: Campaign, more: Attributes = {}) => ({
  attributes: { "voicegate.campaign": name, ...more },
})

const STORE_UNAVAILABLE = { queue: undefined, activity: { instances: [], buckets: [] } }

const storeHealth = (available: boolean, listens: boolean, took: number, at: number): Health => {
  const detail = `answers in ${took} ms${listens ? "" : ", but messages from other instances do not arrive here"}`
  return available
    ? { name: "Store", state: listens ? "ok" : "failed", detail, at }
    : { name: "Store", state: "failed", detail: "The shared store cannot be reached.", at }
}

/** Over a running gate. With `Security.ConsoleToken` this instance also sends heartbeats for the console. */
export const layer: Layer.Layer<
  Operator,
  never,
  Gatekeeper | FifoQueue | IpIntel | PlatformApi | PushChannel | Settings | Store
> = Layer.effect(
  Operator,
  Effect.gen(function* () {
    const { campaigns, gatesStatus, instance, removed, slots, step } = (yield* Gatekeeper).internals
    const { operator: queue } = yield* FifoQueue
    const store = yield* Store
    const { Security } = yield* Settings
    const registry = makeRegistry(store)
    const health = yield* makeHealth(campaigns)

    if (Security.ConsoleToken !== undefined) yield* sendHeartbeats(registry, instance)

    const view = Effect.fnUntraced(function* (campaign: Campaign, pages: Pages, since: number) {
      const began = yield* Clock.currentTimeMillis
      const stored = yield* Effect.all(
        { queue: step(campaign, (at) => queue.snapshot(at, pages)), activity: registry.activity(since) },
        { concurrency: "unbounded" },
      ).pipe(Effect.catchTag("StoreUnavailable", () => Effect.succeed(STORE_UNAVAILABLE)))
      const took = (yield* Clock.currentTimeMillis) - began
      const now = yield* store.now
      const listens = yield* store.listens ?? Effect.succeed(true)
      return {
        now,
        campaigns: campaigns.all.map(({ name }) => name),
        campaign: campaign.name,
        slots: slots(campaign),
        instance: instance.id,
        health: [
          storeHealth(stored.queue !== undefined, listens, took, now),
          ...(yield* health),
          ...healthOfGates(gatesStatus(), removed()),
        ],
        queue: stored.queue ?? null,
        instances: instancesOf(stored.activity),
        buckets: stored.activity.buckets,
      } satisfies View
    })

    const act = (campaign: Campaign, who: string, action: Action): Effect.Effect<ActionOutcome, StoreUnavailable> =>
      step(campaign, (at) => queue.act(at, who, action)).pipe(
        Effect.repeat({ times: ACTION_ATTEMPTS - 1, while: ({ result }) => result === "more" }),
        Effect.uninterruptible,
        Effect.tap(({ result, ticket }) =>
          Effect.logInfo(`Operator ${who}: ${action.type} ${ticket} in campaign ${campaign.name}: ${result}`),
        ),
      )

    const withCampaign = <A, E>(
      name: string | undefined,
      use: (campaign: Campaign) => Effect.Effect<A, E>,
    ): Effect.Effect<A | undefined, E> => {
      const campaign = campaigns.find(name)
      return campaign === undefined ? Effect.undefined : use(campaign)
    }

    return {
      view: (name, pages, since) =>
        withCampaign(name, (campaign) => inSpan("Operator.view", ofCampaign(campaign))(view(campaign, pages, since))),
      act: (name, who, action) =>
        withCampaign(name, (campaign) =>
          inSpan("Operator.act", ofCampaign(campaign, { "voicegate.action": action.type }))(act(campaign, who, action)),
        ),
      auditLog: (name, first, count) =>
        withCampaign(name, (campaign) =>
          inSpan("Operator.auditLog", ofCampaign(campaign))(step(campaign, (at) => queue.auditLog(at, first, count))),
        ),
    }
  }),
)
