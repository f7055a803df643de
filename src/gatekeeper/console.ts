/**
 * What an operator sees and does, over the queue and the registry of instances. Actions are carried out as any other step:
 * holders are told, what the rate limiter owes is settled.
 *
 * While the store is away a view still comes, with what is known without it.
 */
import { Clock, Effect, Option, Schema, type Scope } from "effect"
import { FifoQueue } from "../FifoQueue.ts"
import type { IpIntel } from "../IpIntel.ts"
import type { PlatformApi } from "../PlatformApi.ts"
import { PushChannel } from "../PushChannel.ts"
import type { AuditLine, Done, Look, Pages, Switch } from "../queue/console-queue.ts"
import { makeRegistry, type Survey } from "../queue/console-registry.ts"
import type { StoreUnavailable } from "../Session.ts"
import { type Campaign, Settings } from "../Settings.ts"
import { Store } from "../Store.ts"
import type { Campaigns } from "./campaigns.ts"
import type { Capacity } from "./capacity.ts"
import { COUNTS, makeCounter } from "./console-counts.ts"
import { type Health, healthOfGates, makeHealth } from "./console-health.ts"
import type { Gates } from "./gates.ts"
import type { Instance as OwnInstance } from "./instance.ts"
import type { Steps } from "./steps.ts"

/** How often an instance says that it is there. */
export const BEAT_MILLIS = 2_000

export type Action =
  | { readonly type: Switch }
  | { readonly type: "call" }
  | { readonly type: "remove"; readonly seq: number }
  | { readonly type: "end"; readonly lease: string; readonly deadline: number }

export interface Instance {
  readonly id: string
  readonly seenAt: number
  readonly host: string
  readonly startedAt: number
  readonly connections: number
}

export interface View {
  /** the store's time (ms) */
  readonly now: number
  readonly campaigns: ReadonlyArray<string>
  readonly campaign: string
  readonly slots: number
  /** the instance that answers */
  readonly instance: string
  readonly health: ReadonlyArray<Health>
  /** undefined while the store is away */
  readonly queue: Look | undefined
  readonly instances: ReadonlyArray<Instance>
  /** names of the counts in each bucket */
  readonly counts: ReadonlyArray<string>
  readonly buckets: Survey["buckets"]
}

export interface Operator {
  /** One page of the view; undefined for a campaign that is not configured. `since` (ms) asks for newer buckets only. */
  readonly view: (campaign: string | undefined, pages: Pages, since: number) => Effect.Effect<View | undefined>
  /** Acts in the name of `who` and keeps a line of it; undefined for a campaign that is not configured. */
  readonly act: (
    campaign: string | undefined,
    who: string,
    action: Action,
  ) => Effect.Effect<Done<string> | undefined, StoreUnavailable>
  readonly trail: (
    campaign: string | undefined,
    first: number,
    most: number,
  ) => Effect.Effect<{ readonly total: number; readonly lines: ReadonlyArray<AuditLine> } | undefined, StoreUnavailable>
}

const About = Schema.fromJsonString(
  Schema.Struct({ host: Schema.String, startedAt: Schema.Finite, connections: Schema.Finite }),
)
const decodeAbout = Schema.decodeUnknownOption(About)

/** So often absent tickets are cleared before "call next" gives up: each time makes way for the next ones. */
const CALL_ATTEMPTS = 50

export const makeOperator = (
  campaigns: Campaigns,
  capacity: Capacity,
  { at, step }: Steps,
  { host, id }: OwnInstance,
  gates: Pick<Gates, "removed" | "terms">,
): Effect.Effect<Operator, never, FifoQueue | IpIntel | PlatformApi | PushChannel | Settings | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const { operator: queue } = yield* FifoQueue
    const push = yield* PushChannel
    const store = yield* Store
    const { Security } = yield* Settings
    const registry = makeRegistry(store)
    const health = yield* makeHealth(campaigns)

    if (Security.ConsoleToken !== undefined) {
      const counter = yield* makeCounter
      const startedAt = yield* store.now
      yield* Effect.gen(function* () {
        const connections = (yield* push.tickets).length
        const counts = yield* counter.since
        yield* registry.beat(id, JSON.stringify({ host, startedAt, connections }), counts)
        counter.keep(counts)
      }).pipe(
        Effect.catchTag("StoreUnavailable", () => Effect.void),
        Effect.catchCause((cause) => Effect.logError("The beat failed", cause)),
        Effect.andThen(Effect.sleep(BEAT_MILLIS)),
        Effect.forever,
        Effect.forkScoped,
      )
    }

    const instancesOf = ({ instances }: Survey): ReadonlyArray<Instance> =>
      instances.map(({ about, id, seenAt }) => ({
        id,
        seenAt,
        ...Option.getOrElse(decodeAbout(about), () => ({ host: "", startedAt: 0, connections: 0 })),
      }))

    const away = { queue: undefined, survey: { instances: [], buckets: [] }, says: undefined }
    const view = Effect.fnUntraced(function* (campaign: Campaign, pages: Pages, since: number) {
      const where = at(campaign)
      const began = yield* Clock.currentTimeMillis
      const found = yield* Effect.all(
        { queue: step(where, queue.look(where, pages)), survey: registry.survey(since) },
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
        slots: capacity.slots(campaign),
        instance: id,
        health: [stored, ...(yield* health), ...healthOfGates(gates)],
        queue: found.queue,
        instances: instancesOf(found.survey),
        counts: COUNTS,
        buckets: found.survey.buckets,
      } satisfies View
    })

    const act = Effect.fnUntraced(function* (campaign: Campaign, who: string, action: Action) {
      const where = at(campaign)
      switch (action.type) {
        case "remove":
          return yield* step(where, queue.remove(where, who, action.seq))
        case "end":
          return yield* step(where, queue.endLease(where, who, action.lease, action.deadline))
        case "call": {
          for (let attempt = 1; attempt < CALL_ATTEMPTS; attempt++) {
            const called = yield* step(where, queue.callOne(where, who))
            if (called.result !== "more") return called
          }
          return yield* step(where, queue.callOne(where, who))
        }
        default:
          return yield* step(where, queue.turn(where, who, action.type))
      }
    })

    /** The campaign by its name, the default one when none is named. */
    const named = <A, E>(
      name: string | undefined,
      then: (campaign: Campaign) => Effect.Effect<A, E>,
    ): Effect.Effect<A | undefined, E> => {
      const campaign = campaigns.find(name)
      return campaign === undefined ? Effect.undefined : then(campaign)
    }

    return {
      view: (name, pages, since) => named(name, (campaign) => view(campaign, pages, since)),
      act: (name, who, action) =>
        named(name, (campaign) =>
          Effect.tap(Effect.uninterruptible(act(campaign, who, action)), ({ result, ticket }) =>
            Effect.logInfo(`Operator ${who}: ${action.type} ${ticket} in campaign ${campaign.name}: ${result}`),
          ),
        ),
      trail: (name, first, most) =>
        named(name, (campaign) => step(at(campaign), queue.auditLog(at(campaign), first, most))),
    }
  })
