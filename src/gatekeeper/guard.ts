/**
 * Every concern that a host may replace is called under a time limit here, and what dies in it is a failure of that call
 * alone: the slot is free at once, and the request is answered.
 *
 * What a call answers without waiting costs no timer, and an effect that is a success already (`Effect.succeed`) no fiber either.
 * The store, and the limits and the queue over it, are not guarded again: the Redis store bounds each command to two seconds by
 * itself.
 */
import { Cause, Effect, Exit, Fiber, Layer } from "effect"
import { IpIntel, IpIntelFailed } from "../IpIntel.ts"
import { PlatformApi, type PlatformError, READ_TIMEOUT_MILLIS, START_TIMEOUT_MILLIS } from "../PlatformApi.ts"
import { PushChannel } from "../PushChannel.ts"
import { unavailable } from "../platform-api/errors.ts"
import { Settings } from "../Settings.ts"

/** How much longer than its own limits a concern may take (ms). */
export const SPARE_MILLIS = 1_000
/** The figures of the platform are two reads, each tried twice. */
const READS_MILLIS = 4 * READ_TIMEOUT_MILLIS + SPARE_MILLIS
/** What is kept of an address is read from the store, which takes two seconds at most for each of a few commands. */
const CACHES_MILLIS = 5_000
const PUSH_MILLIS = 2_000

/**
 * Runs a concern's effect for at most `millis`. It is not waited for beyond that, even when it cannot be interrupted. What
 * dies is logged with its cause, and is `died` to the caller.
 */
const bounded = <A, E>(
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
  return Effect.suspend(() => {
    try {
      const effect = call()
      return Exit.isExit(effect) && Exit.isSuccess(effect) ? effect : watched(effect)
    } catch (defect) {
      return settled(Exit.die(defect))
    }
  })
}

const ofPlatform =
  (mayHaveHappened: boolean) =>
  (how: "late" | "died"): Exit.Exit<never, PlatformError> =>
    Exit.fail(
      how === "late"
        ? unavailable("timeout", mayHaveHappened, "the platform's layer did not answer in time")
        : unavailable("defect", false, "the platform's layer failed unexpectedly"),
    )

const platform = Layer.effect(
  PlatformApi,
  Effect.map(PlatformApi, (api) => {
    const read = <A>(name: string, call: () => Effect.Effect<A, PlatformError>) =>
      bounded(`PlatformApi.${name}`, READS_MILLIS, call, ofPlatform(false))
    return PlatformApi.of({
      initiate: (config, group) =>
        bounded(
          "PlatformApi.initiate",
          START_TIMEOUT_MILLIS + SPARE_MILLIS,
          () => api.initiate(config, group),
          ofPlatform(true),
        ),
      concurrency: (campaign) => read("concurrency", () => api.concurrency(campaign)),
      sessionStatus: (campaign, sessionId) => read("sessionStatus", () => api.sessionStatus(campaign, sessionId)),
      sessionsOf: (campaign, clientIdentifier, since) =>
        read("sessionsOf", () => api.sessionsOf(campaign, clientIdentifier, since)),
      verify: (campaign) =>
        bounded(
          "PlatformApi.verify",
          2 * READS_MILLIS,
          () => api.verify(campaign),
          () => Exit.succeed([{ subject: "platform", state: "failed", says: "the platform's layer gave no answer" }]),
        ),
    })
  }),
)

const ipIntel = Layer.effect(
  IpIntel,
  Effect.gen(function* () {
    const intel = yield* IpIntel
    const millis = (yield* Settings).IpIntel.TimeoutMillis + CACHES_MILLIS
    const { provider } = intel
    const failure = (how: "late" | "died"): Exit.Exit<never, IpIntelFailed> =>
      Exit.fail(
        how === "late"
          ? new IpIntelFailed({ provider, reason: "timeout", message: `${provider} did not answer in time` })
          : new IpIntelFailed({ provider, reason: "malformed", message: `${provider} failed unexpectedly` }),
      )
    return IpIntel.of({
      provider,
      lookup: (address) => bounded("IpIntel.lookup", millis, () => intel.lookup(address), failure),
      probe: bounded("IpIntel.probe", millis, () => intel.probe, failure),
    })
  }),
)

const push = Layer.effect(
  PushChannel,
  Effect.map(PushChannel, (channel) =>
    PushChannel.of({
      ...channel,
      // what was not delivered is learnt by the next tick
      send: (ticket, event) =>
        bounded(
          "PushChannel.send",
          PUSH_MILLIS,
          () => channel.send(ticket, event),
          () => Exit.void,
        ),
      tickets: bounded(
        "PushChannel.tickets",
        PUSH_MILLIS,
        () => channel.tickets,
        () => Exit.succeed([]),
      ),
    }),
  ),
)

/** The concerns of a host or the gate's own, each bounded. */
export const guarded = Layer.mergeAll(platform, ipIntel, push)
