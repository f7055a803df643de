/**
 * What an operator sees and does, over the queue and the instances. An action is a step of the queue like any other: its
 * signals are pushed and its settlements are carried out. Callers must check the authorisation first.
 *
 * While the store is unavailable, a view contains what is known without it.
 */

import { Clock, Effect, Layer, Option } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as EventLog from "../events/EventLog.ts"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { Pages } from "../fifo-queue/inputs.ts"
import type { Action, ActionOutcome } from "../fifo-queue/operator/actions.ts"
import type { QueueAction } from "../fifo-queue/rules/operator/act.ts"
import { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import type { IpIntel } from "../ip-intel/IpIntel.ts"
import { monotonicMillis } from "../lib/age.ts"
import { limitKey } from "../lib/ip/address.ts"
import { type Attributes, inSpan } from "../lib/spans.ts"
import type { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { isoTime } from "../protocol/session-answers.ts"
import type { PushChannel } from "../push-channel/PushChannel.ts"
import { type Campaign, Settings } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import { aheadOf, timeOfDay } from "../store/time-of-day.ts"
import { instancesOf, learnBlocks, sendActivity } from "./activity.ts"
import { auditLogPage, storedChanges } from "./audit-log.ts"
import { withBudgetNames } from "./awaited.ts"
import { blockedName } from "./blocks.ts"
import { adjustBudgetOf, budgetsViewOf, usedUpOf } from "./budgets.ts"
import { makeCallers } from "./callers.ts"
import { deliveriesOf, redeliverOf, targetOf } from "./deliveries.ts"
import { makeEndCall, makeEndCalls } from "./end-call.ts"
import { makePageBudget, search } from "./find.ts"
import { makeForget } from "./forget.ts"
import { healthOfGates, healthOfKeys, healthOfSilent, makeHealth } from "./health.ts"
import { makeHistory } from "./history.ts"
import { makeInstances } from "./instances.ts"
import { Operator } from "./Operator.ts"
import type { Health, SettingsChanges, View } from "./shapes.ts"
import { testEvent } from "./test-event.ts"
import { VIEW_VERSION } from "./view-version.ts"

/** How many times an action that has not finished (`more`) is performed, at most. Each time it handles further tickets. */
const ACTION_ATTEMPTS = 50

const ofCampaign = ({ name }: Campaign, more: Attributes = {}) => ({
  attributes: { "voicegate.campaign": name, ...more },
})

const STORE_UNAVAILABLE = { queue: undefined, activity: { instances: [], buckets: [] }, refused: [], usedUp: {} }

/** The counts of one campaign by reason, from counts by `<reason> <campaign>`. */
const byReason =
  (campaign: string) =>
  (counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
    Object.fromEntries(
      Object.entries(counts).flatMap(([name, number]) => {
        const space = name.indexOf(" ")
        return name.slice(space + 1) === campaign ? [[name.slice(0, space), number]] : []
      }),
    )

const NO_PAGES: Pages = { firstSlot: 0, slots: 0, firstPlace: 0, places: 0 }

/** From this time on, in ms, the store is too slow: every request waits for it at least once. */
export const SLOW_STORE_MILLIS = 200

/** The health of the store by a read that took so long, in ms. */
export const storeHealth = (available: boolean, listens: boolean, took: number, at: number): Health => {
  const slow = took >= SLOW_STORE_MILLIS
  const detail =
    `responds in ${took} ms${slow ? ", which is too slow: every request waits for it" : ""}` +
    (listens ? "" : ", but messages from other instances aren’t arriving")
  return available
    ? { name: "Store", state: listens && !slow ? "ok" : "failed", detail, at }
    : { name: "Store", state: "failed", detail: "The shared store is unreachable.", at }
}

/** A campaign that Redis refuses. */
const closedHealth = (campaign: string, reason: string, at: number): Health => ({
  name: `Store, ${campaign}`,
  state: "failed",
  detail: `Redis refuses what the rules need, so nobody is admitted and nobody is called: ${reason}.`,
  at,
})

/** The operator of a running gate. With `Security.ConsoleToken` this instance also reports its activity for the console. */
export const layer: Layer.Layer<
  Operator,
  never,
  Gatekeeper | FifoQueue | IpIntel | PlatformApi | PushChannel | Settings | Store
> = Layer.effect(
  Operator,
  Effect.gen(function* () {
    const internals = (yield* Gatekeeper).internals()
    const {
      budgets,
      campaigns,
      closedQueues,
      hours,
      instance,
      keys,
      names,
      peers,
      removed,
      slots,
      step,
      verify,
      watch,
    } = internals
    const { operator: queue } = yield* FifoQueue
    const store = yield* Store
    const eventLog = yield* EventLog.EventLog
    const client = yield* HttpClient.HttpClient
    const settings = yield* Settings
    const { Security } = settings
    const instances = makeInstances(store)
    const callers = makeCallers(store)
    const history = makeHistory(store)
    /** the version of the blocks that this instance knows; none has this one */
    const knownBlocks = { version: -1 }
    const health = yield* makeHealth({ campaigns, verify })
    const takePage = makePageBudget()
    const forget = makeForget({ callers, eventLog, internals, queue, settings, store })
    const endCall = yield* makeEndCall({ step })
    const endCalls = yield* makeEndCalls({ step })

    if (Security.ConsoleToken.length > 0) yield* sendActivity({ callers, history, instances }, internals, knownBlocks)

    /** The campaign's slots, and the name of its account. */
    const slotsOf = (campaign: Campaign) => ({
      slots: Number.isFinite(slots(campaign)) ? slots(campaign) : null,
      ...(campaign.Account === undefined ? {} : { account: campaign.Account.Name }),
    })

    const hoursOf = (campaign: Campaign, now: number) => {
      const found = hours(campaign, now)
      return found === undefined ? {} : { hours: found }
    }

    const snapshot = Effect.fnUntraced(function* (campaign: Campaign, pages: Pages) {
      const found = yield* step(campaign, (at) => queue.snapshot(at, pages))
      return withBudgetNames(found, budgets.awaitedWindows(campaign, yield* store.now), aheadOf(store))
    })

    /** null while the store is unavailable */
    const figuresOf = (campaign: Campaign) =>
      Effect.match(snapshot(campaign, NO_PAGES), {
        onFailure: () => null,
        onSuccess: ({ slotPage: _slots, waitingPage: _waiting, ...figures }) => figures,
      })

    const view = Effect.fnUntraced(function* (campaign: Campaign, pages: Pages, since: number) {
      const began = yield* monotonicMillis
      const stored = yield* Effect.all(
        {
          queue: snapshot(campaign, pages),
          activity: instances.activity(since),
          refused: callers.latest(campaign.name),
          usedUp: usedUpOf(internals, campaign),
        },
        { concurrency: "unbounded" },
      ).pipe(Effect.catchTag("StoreUnavailable", () => Effect.succeed(STORE_UNAVAILABLE)))
      const took = Math.round((yield* monotonicMillis) - began)
      const now = yield* store.now
      const listens = yield* store.listens ?? Effect.succeed(true)
      const problem = yield* store.problem ?? Effect.succeed("")
      const seen = instancesOf(stored.activity, now)
      return {
        version: VIEW_VERSION,
        now,
        campaigns: campaigns.all.map(({ name }) => name),
        campaign: campaign.name,
        ...slotsOf(campaign),
        ...hoursOf(campaign, now),
        ...stored.usedUp,
        instance: instance.id,
        health: [
          ...(closedQueues().has(campaign.name) ? [] : [storeHealth(stored.queue !== undefined, listens, took, now)]),
          ...[...closedQueues()].map(([name, reason]) => closedHealth(name, reason, now)),
          ...(problem === ""
            ? []
            : [{ name: "Store memory", state: "failed" as const, detail: `${problem}.`, at: now }]),
          ...(yield* health),
          ...healthOfKeys(keys?.(), now, aheadOf(store)),
          ...healthOfGates(peers(), removed()),
          ...healthOfSilent(seen, peers(), now, aheadOf(store)),
        ],
        queue: stored.queue ?? null,
        instances: seen,
        buckets: stored.activity.buckets,
        refused: stored.refused,
      } satisfies View
    })

    const perform = (
      campaign: Campaign,
      who: string,
      action: Exclude<Action, { readonly type: "end" | "end_calls" }>,
    ) =>
      step(campaign, (at) => queue.act(at, who, action)).pipe(
        Effect.repeat({ times: ACTION_ATTEMPTS - 1, while: ({ result }) => result === "more" }),
        Effect.uninterruptible,
      )

    const performed = (campaign: Campaign, who: string, action: Action) => {
      if (action.type === "end") return endCall(campaign, who, action)
      return action.type === "end_calls" ? endCalls(campaign, who) : perform(campaign, who, action)
    }

    const act = (campaign: Campaign, who: string, action: Action): Effect.Effect<ActionOutcome, StoreUnavailable> =>
      performed(campaign, who, action).pipe(
        Effect.tap(({ result, ticket }) =>
          Effect.logInfo(`Operator ${who}: ${action.type} ${ticket} in campaign ${campaign.name}: ${result}`),
        ),
      )

    /** Adds a line to the audit log of every campaign. */
    const noteEverywhere = (
      who: string,
      action: Extract<QueueAction, { readonly type: "settings" | "block" | "unblock" }>,
    ) =>
      Effect.forEach(campaigns.all, (campaign) => Effect.ignore(step(campaign, (at) => queue.act(at, who, action))), {
        concurrency: 8,
        discard: true,
      })

    const block = Effect.fnUntraced(function* (who: string, given: string, until: number | undefined) {
      if (names.ready !== undefined) yield* names.ready
      const address = blockedName(names.of, given)
      if (address === undefined) return "invalid"
      const ordered = yield* callers.order({ address, by: who, ...(until === undefined ? {} : { until }) })
      learnBlocks(watch, knownBlocks, ordered)
      if (ordered.result === "done") {
        const end = until === undefined || until === 0 ? "" : ` until ${isoTime(until)}`
        yield* noteEverywhere(who, { type: until === undefined ? "unblock" : "block", target: `${address}${end}` })
      }
      yield* Effect.logInfo(
        `Operator ${who}: ${until === undefined ? "lifts the block of" : "blocks"} ${address}: ${ordered.result}`,
      )
      return ordered.result
    })

    const noteSettings = (who: string, changes: SettingsChanges["settings"]): Effect.Effect<void> => {
      return noteEverywhere(who, { type: "settings", ...storedChanges(changes) })
    }

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
      noteSettings,
      deliveries: (name, filter, before, count) =>
        withCampaign(name, (campaign) => deliveriesOf(eventLog, campaign, filter, before, count)),
      redeliver: (name, who, of) =>
        withCampaign(name, (campaign) =>
          Effect.andThen(
            step(campaign, (at) => queue.act(at, who, { type: "redeliver", target: targetOf(of) })),
            redeliverOf(eventLog, campaign, of),
          ).pipe(
            Effect.tap(({ queued }) =>
              Effect.logInfo(`Operator ${who}: sends ${targetOf(of)} of campaign ${campaign.name} again: ${queued}`),
            ),
          ),
        ),
      testEvent: (name, who) =>
        withCampaign(name, (campaign) =>
          Effect.gen(function* () {
            const tested = yield* testEvent(client, campaign, yield* Clock.currentTimeMillis)
            const answer = tested?.error ?? `HTTP ${tested?.status}`
            yield* Effect.logInfo(
              `Operator ${who}: a test event for campaign ${campaign.name}: ${tested === undefined ? "no Events.Url" : answer}`,
            )
            return tested ?? "none"
          }),
        ),
      forget: (who, request) => inSpan("Operator.forget")(forget(who, request)),
      budgets: (name, whose) => withCampaign(name, (campaign) => budgetsViewOf(internals, campaign, whose)),
      adjustBudget: (name, who, order) =>
        withCampaign(name, (campaign) => adjustBudgetOf(internals, campaign, who, order)),
      campaigns: Effect.gen(function* () {
        const refusals = yield* Effect.option(instances.refusals)
        const refusedIn = (campaign: string) => Option.getOrNull(Option.map(refusals, byReason(campaign)))
        const now = yield* store.now
        const rows = yield* Effect.forEach(
          campaigns.all,
          (campaign) =>
            Effect.gen(function* () {
              const { figures, usedUp } = yield* Effect.all(
                { figures: figuresOf(campaign), usedUp: usedUpOf(internals, campaign) },
                { concurrency: 2 },
              )
              return {
                name: campaign.name,
                ...slotsOf(campaign),
                ...hoursOf(campaign, now),
                ...usedUp,
                figures,
                refused: refusedIn(campaign.name),
              }
            }),
          { concurrency: 8 },
        )
        return { now, campaigns: rows, refusedElsewhere: refusedIn("") }
      }),
      find: (what, from) =>
        Effect.gen(function* () {
          if (names.ready !== undefined) yield* names.ready
          const sought =
            "hash" in what
              ? what
              : { callers: [names.of(limitKey(what.caller)), names.subject(what.caller), what.caller] }
          return yield* search(campaigns.all, sought, from, takePage, snapshot)
        }),
      history: (name, range) =>
        withCampaign(name, (campaign) =>
          Effect.gen(function* () {
            const found = yield* history.read(campaign.name, range)
            return { campaign: campaign.name, range, now: yield* timeOfDay(store), ...found }
          }),
        ),
      asking: callers.asking,
      block,
      auditLog: (name, first, count, only) =>
        withCampaign(name, (campaign) =>
          inSpan(
            "Operator.auditLog",
            ofCampaign(campaign),
          )(auditLogPage((from, most) => step(campaign, (at) => queue.auditLog(at, from, most)), first, count, only)),
        ),
    }
  }),
).pipe(Layer.provide([EventLog.layer, FetchHttpClient.layer]))
