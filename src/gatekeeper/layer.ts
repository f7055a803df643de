/**
 * The pipeline: the one place where the order of checks can be read.
 *
 *     validate → address → limits → slot or queue → platform
 *
 * A caller whose rate limit is known to be exhausted is refused before the address lookup.
 *
 * A request succeeds with a started session and fails with every other outcome, `Queued` included. If a later step fails,
 * quota, slot and place are given back. If the process dies first, their deadlines free them.
 */
import { Cause, Effect, Exit, Layer } from "effect"
import type { Admission } from "../admission/Admission.ts"
import { CallerNames } from "../caller-names/CallerNames.ts"
import type { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { IpIntel } from "../ip-intel/IpIntel.ts"
import { tracing } from "../lib/spans.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import { outcomeOf, type RequestRefusal } from "../protocol/refusals.ts"
import type { Started } from "../protocol/Session.ts"
import type { PushChannel } from "../push-channel/PushChannel.ts"
import type { RateLimiter } from "../rate-limiter/RateLimiter.ts"
import { Settings } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import { background } from "./background/layer.ts"
import { makeCampaigns } from "./Campaigns.ts"
import { makeDoubts } from "./calls/doubts.ts"
import { makeEndDue } from "./calls/end-due.ts"
import { makeEndLeft } from "./calls/end-left.ts"
import { makeGiveBack } from "./calls/GiveBack.ts"
import { makeLeave } from "./calls/leave.ts"
import { makeRelay } from "./calls/relay.ts"
import { makeSessionIds } from "./calls/SessionIds.ts"
import { makeStartSession } from "./calls/Starts.ts"
import { makeNoteSpeech } from "./calls/speech.ts"
import { makeTickets } from "./calls/Tickets.ts"
import { makeReceiveWebhook } from "./calls/vendor-webhooks.ts"
import { makeWatchCall } from "./calls/watch-calls.ts"
import { makeMemory } from "./calls/withdrawals.ts"
import { makeCapacity } from "./capacity/Capacity.ts"
import { makeAdmissionSteps } from "./checks/admit.ts"
import { makeCheckAddress } from "./checks/check-address.ts"
import { makeFullQueues } from "./checks/FullQueues.ts"
import { makeShadow } from "./checks/Shadow.ts"
import { campaignOf, validate } from "./checks/validate.ts"
import { type Caller, Gatekeeper, type RequestError } from "./Gatekeeper.ts"
import { guarded } from "./guard.ts"
import { makeHandover } from "./Handover.ts"
import { internalsOf } from "./internals.ts"
import * as metrics from "./metrics.ts"
import * as PlatformStates from "./PlatformStates.ts"
import { makeInstance } from "./peers/Instance.ts"
import { makeGates } from "./peers/Peers.ts"
import { makeShutdown, type Work } from "./Shutdown.ts"
import { makeSteps } from "./Steps.ts"
import { traceChecks } from "./spans.ts"
import { makeTraces } from "./Traces.ts"

/** Reads `Security.Block*`, `IpIntel.OnError` and the campaigns. */
export const layer: Layer.Layer<
  Gatekeeper,
  never,
  Settings | RateLimiter | FifoQueue | Admission | IpIntel | PlatformApi | PushChannel | Store
> = Layer.effect(
  Gatekeeper,
  Effect.gen(function* () {
    const settings = yield* Settings
    yield* metrics.register(settings.Campaigns.map(({ name }) => name))
    const campaigns = makeCampaigns(settings)
    const capacity = yield* makeCapacity(campaigns)
    const memory = makeMemory()
    const { account, followUp, inBackground, isTakenOver, slots } = yield* makeHandover(campaigns, capacity, memory)
    const steps = yield* makeSteps(campaigns, { account, slots }, memory, followUp)
    const giveBack = yield* makeGiveBack(steps, memory)
    const sessionIds = yield* makeSessionIds(steps)
    const shutdown = makeShutdown()
    const { relayOffer, startSession } = yield* makeStartSession(
      campaigns,
      steps,
      sessionIds,
      shutdown,
      followUp,
      settings.Queue,
    )
    const noteSpeech = yield* makeNoteSpeech(campaigns, steps)
    const watchCall = yield* makeWatchCall(steps, noteSpeech)
    const relay = yield* makeRelay(campaigns, steps, relayOffer, watchCall)
    const doubts = yield* makeDoubts(steps)
    const endDue = yield* makeEndDue(steps)
    const instance = yield* makeInstance
    const traces = yield* makeTraces(campaigns, steps)
    const gates = yield* makeGates(settings, campaigns, capacity, steps, instance)
    const leave = yield* makeLeave(campaigns, steps, yield* makeEndLeft(steps), followUp)
    const tickets = yield* makeTickets(campaigns, steps, startSession, leave, gates.removed)
    const names = yield* CallerNames
    const shadow = yield* makeShadow(campaigns.all, settings)
    const { verify, webhookRefusal } = yield* PlatformApi
    const states = yield* PlatformStates.PlatformStates
    const fullQueues = yield* makeFullQueues
    const admission = yield* makeAdmissionSteps(campaigns, names, steps, giveBack, startSession, shadow, fullQueues)
    const traced = yield* tracing
    const checks = traceChecks(traced, {
      validate: (body) => Effect.fromResult(validate(campaigns, settings.Queue, body)),
      checkAddress: yield* makeCheckAddress(names, shadow, fullQueues),
      admission,
    })

    const rejoin = traces.inTicketTrace("Gatekeeper.rejoin", tickets.rejoin)
    /** The order of the checks. The last two take quota and a slot, so a client that disconnects does not interrupt them. */
    const check = Effect.fnUntraced(function* (body: unknown, address: string, work: Work) {
      const validated = yield* checks.validate(body)
      const existing = validated.ticket === undefined ? undefined : yield* rejoin(validated.ticket)
      if (existing !== undefined) return existing
      // from here on it may take a slot, so a shutdown waits for it
      yield* work.begin()
      if (names.ready !== undefined) yield* names.ready
      yield* checks.checkAddress(address, validated.campaign)
      const trace = traces.current === undefined ? undefined : yield* traces.current
      const newTicket = admission.newTicket(validated, address, trace)
      return yield* Effect.uninterruptible(
        Effect.flatMap(checks.admit(newTicket), (lease) => checks.start(newTicket, lease)),
      )
    })

    const sessionEnded = traces.inSessionTrace("Gatekeeper.sessionEnded", tickets.sessionEnded)

    const context = yield* Effect.context<never>()
    const count = (outcome: keyof typeof metrics.requests): void => metrics.requests[outcome].updateUnsafe(1, context)
    const countRefusal = (error: RequestRefusal, body: unknown): void => {
      count(outcomeOf(error))
      metrics.refused(campaignOf(campaigns, body)?.name ?? "", error).updateUnsafe(1, context)
    }
    const countOutcome = (exit: Exit.Exit<Started, RequestError>, body: unknown): void => {
      if (Exit.isSuccess(exit)) count("started")
      else if (!Cause.hasDies(exit.cause)) {
        const failure = exit.cause.reasons.find(Cause.isFailReason)
        if (failure?.error._tag === "Queued") count("queued")
        else if (failure !== undefined) countRefusal(failure.error, body)
      }
    }
    const request = (body: unknown, { address }: Caller): Effect.Effect<Started, RequestError> =>
      Effect.suspend(() => {
        const work = shutdown.newWork()
        // hot path: one frame ends the work and counts the outcome, both by plain calls
        return Effect.onExitPrimitive(check(body, address, work), (exit) => {
          work.end()
          countOutcome(exit, body)
          return undefined
        })
      })

    yield* capacity.refresh()
    const { handover, status } = yield* inBackground(
      Effect.andThen(
        gates.start,
        background(
          campaigns,
          capacity,
          steps,
          sessionIds,
          doubts,
          watchCall,
          endDue,
          gates.removed,
          isTakenOver,
          fullQueues,
        ),
      ),
    )
    // registered last, so it runs before the background tasks stop
    yield* Effect.addFinalizer(() => shutdown.close)

    return Gatekeeper.of({
      request: traced("Gatekeeper.request", request),
      start: traces.inTicketTrace("Gatekeeper.start", (ticket) => shutdown.track(tickets.start(ticket))),
      relay: traces.inTicketTrace("Gatekeeper.relay", (...offer: Parameters<typeof relay>) =>
        shutdown.track(relay(...offer)),
      ),
      silence: traces.inTicketTrace("Gatekeeper.silence", tickets.silence),
      leave: traces.inTicketTrace("Gatekeeper.leave", tickets.leave),
      withdraw: traced("Gatekeeper.withdraw", (ticket: string, { address }: Caller) => {
        const campaign = campaigns.ofTicket(ticket)
        return campaign === undefined
          ? tickets.withdrawRemoved(ticket)
          : giveBack.all({ ticket, campaign, ...admission.keysOf(address) })
      }),
      status: traces.inTicketTrace("Gatekeeper.status", tickets.status),
      attach: traces.inTicketTrace("Gatekeeper.attach", tickets.attach),
      sessionEnded: (sessionIds) => sessionEnded(sessionIds),
      vendorWebhook: traced(
        "Gatekeeper.vendorWebhook",
        yield* makeReceiveWebhook({ ...tickets, sessionEnded }, noteSpeech),
      ),
      vendorWebhookRefusal: (platform, headers) => webhookRefusal?.(platform, headers) ?? Effect.undefined,
      traceOf: traces.ofTicket,
      capacityProblem: Effect.sync(capacity.problem),
      queueProblem: Effect.sync(() => {
        const [failing] = status.failingCampaigns()
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
      internals: internalsOf(
        instance,
        campaigns,
        { account, slots },
        steps,
        gates,
        status.closedQueues,
        handover,
        verify,
      ),
      close: shutdown.close,
    })
  }),
).pipe(Layer.provide([CallerNames.layer, guarded]), Layer.provide(PlatformStates.layer))
