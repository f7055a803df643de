/** Builds the gatekeeper: its services, in the order in which they need each other, and what it offers through them. */
import { Effect, Layer } from "effect"
import type { Admission } from "../admission/Admission.ts"
import * as Budgets from "../budgets/layer.ts"
import { CallerNames } from "../caller-names/CallerNames.ts"
import type { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { IdentityTokens } from "../identity-tokens/IdentityTokens.ts"
import * as IdentityTokensLayer from "../identity-tokens/layer.ts"
import type { IpIntel } from "../ip-intel/IpIntel.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { PushChannel } from "../push-channel/PushChannel.ts"
import type { RateLimiter } from "../rate-limiter/RateLimiter.ts"
import type { Settings } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import * as Availability from "./Availability.ts"
import * as ClosedQueues from "./background/ClosedQueues.ts"
import * as CallerWatch from "./CallerWatch.ts"
import * as Campaigns from "./Campaigns.ts"
import * as CalledTickets from "./calls/CalledTickets.ts"
import * as EndLeft from "./calls/EndLeft.ts"
import * as GiveBack from "./calls/GiveBack.ts"
import * as Leave from "./calls/Leave.ts"
import * as LostEnds from "./calls/LostEnds.ts"
import * as NoteSpeech from "./calls/NoteSpeech.ts"
import * as NotGivenBack from "./calls/NotGivenBack.ts"
import * as ReceiveWebhook from "./calls/ReceiveWebhook.ts"
import * as Relay from "./calls/Relay.ts"
import * as SessionEnds from "./calls/SessionEnds.ts"
import * as SessionIds from "./calls/SessionIds.ts"
import * as Starts from "./calls/Starts.ts"
import * as Tickets from "./calls/Tickets.ts"
import * as WatchCall from "./calls/WatchCall.ts"
import * as Capacity from "./capacity/Capacity.ts"
import * as Admit from "./checks/Admit.ts"
import * as CheckAddress from "./checks/CheckAddress.ts"
import * as CheckBudgets from "./checks/CheckBudgets.ts"
import * as CheckHours from "./checks/CheckHours.ts"
import * as FullQueues from "./checks/FullQueues.ts"
import * as Identify from "./checks/Identify.ts"
import * as Shadow from "./checks/Shadow.ts"
import * as Unchecked from "./checks/Unchecked.ts"
import * as Validate from "./checks/Validate.ts"
import * as ExpectedWaits from "./ExpectedWaits.ts"
import * as FollowUps from "./FollowUps.ts"
import { Gatekeeper } from "./Gatekeeper.ts"
import { guarded } from "./guard.ts"
import * as Handover from "./Handover.ts"
import * as Hours from "./Hours.ts"
import * as Internals from "./Internals.ts"
import * as metrics from "./metrics.ts"
import * as Overflow from "./Overflow.ts"
import * as PlatformStates from "./PlatformStates.ts"
import * as Instance from "./peers/Instance.ts"
import * as Membership from "./peers/Membership.ts"
import * as OtherDatabases from "./peers/OtherDatabases.ts"
import * as Peers from "./peers/Peers.ts"
import * as RemovedCampaigns from "./peers/RemovedCampaigns.ts"
import * as Pipeline from "./pipeline.ts"
import * as Running from "./Running.ts"
import * as Shutdown from "./Shutdown.ts"
import * as Steps from "./Steps.ts"
import * as Successor from "./Successor.ts"
import { tracing } from "./spans.ts"
import * as TicketLog from "./TicketLog.ts"
import * as Traces from "./Traces.ts"
import * as UsedUpBudgets from "./UsedUpBudgets.ts"

/** The operations of the gate. Those of one ticket or session belong to its trace; those that may take a slot are tracked for a shutdown. */
const gatekeeper = Layer.effect(
  Gatekeeper,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns.Campaigns
    const capacity = yield* Capacity.Capacity
    const internals = yield* Internals.Internals
    const { webhookRefusal } = yield* PlatformApi
    const { request } = yield* Pipeline.Pipeline
    const receiveWebhook = yield* ReceiveWebhook.ReceiveWebhook
    const relay = yield* Relay.Relay
    const running = yield* Running.Running
    const { sessionEnded } = yield* SessionEnds.SessionEnds
    const shutdown = yield* Shutdown.Shutdown
    const states = yield* PlatformStates.PlatformStates
    const availability = yield* Availability.Availability
    const tickets = yield* Tickets.Tickets
    const isCalled = yield* CalledTickets.CalledTickets
    const { inTicketTrace, ofTicket } = yield* Traces.Traces
    const traced = yield* tracing
    yield* metrics.register(campaigns.all.map(({ name }) => name))
    // this layer is the outermost, so this runs before the background tasks stop
    yield* Effect.addFinalizer(() => shutdown.close)

    return Gatekeeper.of({
      request,
      availability: availability.of,
      start: inTicketTrace("Gatekeeper.start", (ticket) => shutdown.track(tickets.start(ticket))),
      relay: inTicketTrace("Gatekeeper.relay", (...offer: Parameters<typeof relay>) => shutdown.track(relay(...offer))),
      silence: inTicketTrace("Gatekeeper.silence", tickets.silence),
      leave: inTicketTrace("Gatekeeper.leave", tickets.leave),
      withdraw: traced("Gatekeeper.withdraw", (ticket, { address }) => tickets.withdraw(ticket, address)),
      status: inTicketTrace("Gatekeeper.status", tickets.status),
      attach: inTicketTrace("Gatekeeper.attach", tickets.attach),
      isCalled,
      sessionEnded: (sessionIds) => Effect.map(sessionEnded(sessionIds), (result) => result === "released"),
      endReported: (sessionIds) =>
        Effect.map(sessionEnded(sessionIds), (result) => (result === "unknown" ? "unknown_session" : result)),
      vendorWebhook: traced("Gatekeeper.vendorWebhook", receiveWebhook),
      vendorWebhookRefusal: (platform, headers) => webhookRefusal?.(platform, headers) ?? Effect.undefined,
      traceOf: ofTicket,
      capacityProblem: Effect.sync(capacity.problem),
      queueProblem: Effect.sync(() => {
        const [failing] = running.failing()
        return failing === undefined ? undefined : `The queue of campaign ${failing} cannot be served: see the log.`
      }),
      platformStates: Effect.sync(() =>
        Object.fromEntries(
          campaigns.all.flatMap(({ name }) => {
            const known = states.of(name)
            return known === undefined ? [] : [[name, known.state]]
          }),
        ),
      ),
      internals: () => internals,
      close: shutdown.close,
    })
  }),
)

const checks = Layer.mergeAll(
  Validate.layer,
  Identify.layer,
  CheckHours.layer,
  CheckAddress.layer,
  CheckBudgets.layer,
  Admit.layer,
).pipe(Layer.provideMerge(Layer.mergeAll(FullQueues.layer, Shadow.layer, Unchecked.layer)))

const calls = Layer.mergeAll(CalledTickets.layer, Tickets.layer, Relay.layer, ReceiveWebhook.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Leave.layer, SessionEnds.layer, Starts.layer, WatchCall.layer)),
  Layer.provideMerge(
    Layer.mergeAll(EndLeft.layer, GiveBack.layer, LostEnds.layer, NoteSpeech.layer, SessionIds.layer, Traces.layer),
  ),
)

const peers = Layer.mergeAll(Peers.layer, RemovedCampaigns.layer).pipe(
  Layer.provideMerge(Membership.layer),
  Layer.provideMerge(OtherDatabases.layer),
  Layer.provideMerge(Instance.layer),
)

/** What checks, calls, background and peers share. */
const shared = Layer.mergeAll(CallerWatch.layer, Overflow.layer, Steps.layer).pipe(
  Layer.provideMerge(Hours.layer),
  Layer.provideMerge(Successor.layer),
  Layer.provideMerge(Capacity.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      CallerNames.layer,
      Budgets.layer,
      Campaigns.layer,
      ClosedQueues.layer,
      ExpectedWaits.layer,
      UsedUpBudgets.layer,
      FollowUps.layer,
      NotGivenBack.layer,
      Running.layer,
      Shutdown.layer,
      TicketLog.layer,
    ),
  ),
)

/** The gatekeeper over a check of tokens that the caller provides, as the simulation does. */
export const layerOverTokens: Layer.Layer<
  Gatekeeper,
  never,
  Settings | RateLimiter | FifoQueue | Admission | IdentityTokens | IpIntel | PlatformApi | PushChannel | Store
> = gatekeeper.pipe(
  Layer.provide(Internals.layer),
  Layer.provide(Handover.layer),
  Layer.provide(Pipeline.layer),
  Layer.provide(Availability.layer),
  Layer.provide(checks),
  Layer.provide(calls),
  Layer.provide(peers),
  Layer.provide(shared),
  Layer.provide(guarded),
  Layer.provide(PlatformStates.layer),
)

export const layer: Layer.Layer<
  Gatekeeper,
  never,
  Settings | RateLimiter | FifoQueue | Admission | IpIntel | PlatformApi | PushChannel | Store
> = layerOverTokens.pipe(Layer.provide(IdentityTokensLayer.layer))
