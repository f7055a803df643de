/**
 * Runs each call of a service that a host may replace in a span and under a time limit. A defect in the service fails only that call: the
 * slot is freed at once, and the request is answered.
 *
 * A call that completes synchronously costs no timer, and one that is already a success (`Effect.succeed`) costs no fiber. The
 * store and the services over it are not guarded here: the Redis store limits each command to two seconds itself.
 */

import { Cause, Effect, Exit, Fiber, Layer } from "effect"
import { IpIntelFailed } from "../ip-intel/facts.ts"
import { IpIntel } from "../ip-intel/IpIntel.ts"
import { inSpan, tracing } from "../lib/spans.ts"
import { type PlatformError, unavailable } from "../platform-api/errors.ts"
import { verdictOf } from "../platform-api/faults.ts"
import type { Finding, WebSession } from "../platform-api/model.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import { LONGEST_START_MILLIS, READ_TIMEOUT_MILLIS, START_TIMEOUT_MILLIS } from "../platform-api/requests/transport.ts"
import type { StartConfig } from "../protocol/request.ts"
import { PushChannel } from "../push-channel/PushChannel.ts"
import { Settings } from "../settings/Settings.ts"
import { PlatformStates } from "./PlatformStates.ts"

/** How much longer than its own time limit a service may take (ms). */
export const MARGIN_MILLIS = 1_000
/** Reading the platform's concurrency takes two reads, each tried twice. */
const READS_MILLIS = 4 * READ_TIMEOUT_MILLIS + MARGIN_MILLIS
/** Cached facts of an address are read from the store with a few commands of at most two seconds each. */
const CACHES_MILLIS = 5_000
const PUSH_MILLIS = 2_000

/**
 * Calls a service at once, and returns an effect that runs its answer for at most `millis`, and does not wait longer even if it cannot be
 * interrupted. A defect is logged with its cause, and the caller gets the failure `died`.
 */
const callWithTimeLimit = <A, E>(
  name: string,
  millis: number,
  call: () => Effect.Effect<A, E>,
  failure: (how: "late" | "died") => Exit.Exit<A, E>,
): Effect.Effect<A, E> => {
  const settled = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> =>
    Exit.isSuccess(exit) || Cause.hasFails(exit.cause)
      ? exit
      : Effect.andThen(Effect.logError(`${name} died`, exit.cause), failure("died"))
  const watched = (effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) => {
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return settled(exit)
      return Fiber.await(fiber).pipe(
        Effect.flatMap(settled),
        Effect.timeoutOrElse({
          duration: millis,
          orElse: () => Effect.andThen(Effect.logError(`${name} took longer than ${millis} ms`), failure("late")),
        }),
        Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe())),
      )
    })
  try {
    const effect = call()
    return Exit.isExit(effect) && Exit.isSuccess(effect) ? effect : watched(effect)
  } catch (defect) {
    return settled(Exit.die(defect))
  }
}

/** `callWithTimeLimit`, which calls the service when the effect runs. */
const withTimeLimit: typeof callWithTimeLimit = (name, millis, call, failure) =>
  Effect.suspend(() => callWithTimeLimit(name, millis, call, failure))

const platformFailure =
  (mayHaveHappened: boolean) =>
  (how: "late" | "died"): Exit.Exit<never, PlatformError> =>
    Exit.fail(
      how === "late"
        ? unavailable("timeout", mayHaveHappened, "the platform's layer did not answer in time")
        : unavailable("defect", false, "the platform's layer failed unexpectedly"),
    )

const noVerdict = (how: "late" | "died"): Exit.Exit<ReadonlyArray<Finding>> =>
  Exit.succeed([
    {
      subject: "platform",
      state: "failed",
      detail: "the platform's layer gave no answer",
      fault: { state: "unavailable", code: how === "late" ? "timeout" : "defect", setting: "" },
    },
  ])

/** What the calls show of the platform is kept in `PlatformStates`. */
const platform = Layer.effect(
  PlatformApi,
  Effect.gen(function* () {
    const api = yield* PlatformApi
    const states = yield* PlatformStates
    const {
      end,
      lengthControl,
      limitsCalls,
      pageEnds,
      relay,
      reportsEnds,
      shortestCallSeconds,
      startMillis,
      watch,
      webhook,
      webhookRefusal,
    } = api
    const traced = yield* tracing
    const ofCampaign = (campaign: string) => ({ attributes: { "voicegate.campaign": campaign } })
    /** A call that failed, perhaps because of its caller, makes the gate read the platform. */
    const suspecting = <A>(campaign: string, call: Effect.Effect<A, PlatformError>): Effect.Effect<A, PlatformError> =>
      Effect.tapError(call, ({ reason }) =>
        Effect.sync(() => {
          if (reason._tag === "Unavailable") states.suspect(campaign)
        }),
      )
    const read = <A>(name: string, campaign: string, call: () => Effect.Effect<A, PlatformError>) =>
      inSpan(
        `PlatformApi.${name}`,
        ofCampaign(campaign),
      )(suspecting(campaign, withTimeLimit(`PlatformApi.${name}`, READS_MILLIS, call, platformFailure(false))))
    return PlatformApi.of({
      initiate: traced(
        "PlatformApi.initiate",
        (config, group) =>
          suspecting(
            config.campaign,
            withTimeLimit(
              "PlatformApi.initiate",
              Math.min(startMillis?.(config.campaign) ?? START_TIMEOUT_MILLIS, LONGEST_START_MILLIS) + MARGIN_MILLIS,
              () => api.initiate(config, group),
              platformFailure(true),
            ),
          ),
        ({ campaign }) => ofCampaign(campaign),
      ),
      ...(relay === undefined
        ? {}
        : {
            relay: traced(
              "PlatformApi.relay",
              (config: StartConfig, offer: string, group: string) =>
                suspecting(
                  config.campaign,
                  withTimeLimit(
                    "PlatformApi.relay",
                    START_TIMEOUT_MILLIS + MARGIN_MILLIS,
                    () => relay(config, offer, group),
                    platformFailure(true),
                  ),
                ),
              ({ campaign }) => ofCampaign(campaign),
            ),
          }),
      // without a time limit: it lasts as long as the session
      ...(watch === undefined ? {} : { watch }),
      concurrency: (campaign) => read("concurrency", campaign, () => api.concurrency(campaign)),
      sessionStatus: (campaign, sessionId) =>
        read("sessionStatus", campaign, () => api.sessionStatus(campaign, sessionId)),
      sessionsOf: (campaign, clientIdentifier, since) =>
        read("sessionsOf", campaign, () => api.sessionsOf(campaign, clientIdentifier, since)),
      ...(end === undefined
        ? {}
        : {
            end: (campaign: string, session: WebSession) =>
              inSpan(
                "PlatformApi.end",
                ofCampaign(campaign),
              )(
                withTimeLimit(
                  "PlatformApi.end",
                  2 * READS_MILLIS,
                  () => end(campaign, session),
                  platformFailure(false),
                ),
              ),
          }),
      ...(pageEnds === undefined
        ? {}
        : {
            pageEnds: (campaign: string, session: WebSession) =>
              withTimeLimit(
                "PlatformApi.pageEnds",
                READS_MILLIS,
                () => pageEnds(campaign, session),
                platformFailure(false),
              ),
          }),
      ...(webhook === undefined ? {} : { webhook }),
      ...(webhookRefusal === undefined ? {} : { webhookRefusal }),
      ...(reportsEnds === undefined ? {} : { reportsEnds }),
      ...(lengthControl === undefined ? {} : { lengthControl }),
      ...(limitsCalls === undefined ? {} : { limitsCalls }),
      ...(shortestCallSeconds === undefined ? {} : { shortestCallSeconds }),
      ...(startMillis === undefined ? {} : { startMillis }),
      verify: (campaign) =>
        inSpan(
          "PlatformApi.verify",
          ofCampaign(campaign),
        )(
          Effect.flatMap(states.now, (at) =>
            withTimeLimit("PlatformApi.verify", 2 * READS_MILLIS, () => api.verify(campaign), noVerdict).pipe(
              Effect.tap((findings) =>
                Effect.sync(() => {
                  const verdict = verdictOf(findings)
                  if (verdict !== undefined) states.heard(campaign, verdict, at)
                }),
              ),
            ),
          ),
        ),
    })
  }),
)

const ipIntel = Layer.effect(
  IpIntel,
  Effect.gen(function* () {
    const intel = yield* IpIntel
    const traced = yield* tracing
    const millis = (yield* Settings).IpIntel.TimeoutMillis + CACHES_MILLIS
    const { provider } = intel
    const ofProvider = { attributes: { "voicegate.provider": provider } }
    const failure = (how: "late" | "died"): Exit.Exit<never, IpIntelFailed> =>
      Exit.fail(
        how === "late"
          ? new IpIntelFailed({ provider, reason: "timeout", message: `${provider} did not answer in time` })
          : new IpIntelFailed({ provider, reason: "malformed", message: `${provider} failed unexpectedly` }),
      )
    return IpIntel.of({
      provider,
      lookup: traced(
        "IpIntel.lookup",
        // hot path: called at once, so that a provider which answers from this process costs no operation of the fiber
        (address: string) => callWithTimeLimit("IpIntel.lookup", millis, () => intel.lookup(address), failure),
        () => ofProvider,
      ),
      probe: inSpan("IpIntel.probe", ofProvider)(withTimeLimit("IpIntel.probe", millis, () => intel.probe, failure)),
    })
  }),
)

const push = Layer.effect(
  PushChannel,
  Effect.map(PushChannel, (channel) => {
    // the next heartbeat delivers the state again
    const sending = (send: () => Effect.Effect<void>): Effect.Effect<void> =>
      withTimeLimit("PushChannel.send", PUSH_MILLIS, send, () => Exit.void)
    const { sendAll } = channel
    return PushChannel.of({
      ...channel,
      send: (ticket, event) => sending(() => channel.send(ticket, event)),
      ...(sendAll === undefined
        ? {}
        : { sendAll: (...all: Parameters<typeof sendAll>) => sending(() => sendAll(...all)) }),
      tickets: withTimeLimit(
        "PushChannel.tickets",
        PUSH_MILLIS,
        () => channel.tickets,
        () => Exit.succeed([]),
      ),
    })
  }),
)

/** The services of a host or of the gate, each under its time limit. */
export const guarded = Layer.mergeAll(platform, ipIntel, push)
