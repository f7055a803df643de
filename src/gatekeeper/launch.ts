/**
 * Asks the platform for a session in the name of a held slot, and makes the slot what the answer says: live, given back, or
 * resting while the ticket keeps its place.
 */
import { Effect, Result, Schedule, type Scope } from "effect"
import { type At, FifoQueue, LIMITED_LONGEST_MILLIS, type Place } from "../FifoQueue.ts"
import { PlatformApi, type PlatformError, type WebSession } from "../PlatformApi.ts"
import type { PlatformUnavailable, SessionConfig, Started, StoreUnavailable } from "../Session.ts"
import type { Closing } from "./closing.ts"
import { platformUnavailable } from "./outcomes.ts"
import type { SessionIds } from "./session-ids.ts"
import { leaveToDeadline, type Steps } from "./steps.ts"

/** How long a started session is kept for a store that is away for a moment, before the start is given up. */
const BIND_RETRY = { schedule: Schedule.spaced(200), times: 25 }

/** What is kept with a ticket until it starts: `from` is its caller's group, absent in tickets of older versions. */
export interface StoredConfig extends SessionConfig {
  readonly from?: string
}

/**
 * A session; or the ticket's place, because all slots of the platform are taken after all. `unplaced` is done where the store did
 * not say whether the ticket has that place, and no session runs.
 */
export type Launch = (
  at: At,
  ticket: string,
  lease: string,
  stored: StoredConfig,
  unplaced?: Effect.Effect<void>,
) => Effect.Effect<Result.Result<Started, Place>, PlatformUnavailable | StoreUnavailable>

const tooSlow = (): PlatformUnavailable =>
  platformUnavailable("unavailable", "The call took too long to start. Try again.")

export const makeLaunch = (
  { step }: Steps,
  ids: SessionIds,
  { inTime, isLate }: Closing,
): Effect.Effect<Launch, never, FifoQueue | PlatformApi | Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const bindRetry = { ...BIND_RETRY, while: () => !isLate() }

    const bound = (
      at: At,
      ticket: string,
      lease: string,
      campaign: string,
      { sessionIds, webSocketUrl }: WebSession,
    ): Effect.Effect<Started, PlatformUnavailable | StoreUnavailable> =>
      step(
        at,
        Effect.retry(queue.bind(at, ticket, lease, { ids: sessionIds, data: { url: webSocketUrl } }), bindRetry),
      ).pipe(
        Effect.flatMap((result) => {
          if (result === "live") {
            const [sessionId = "", ...others] = sessionIds
            const started = { uniqueRequestId: ticket, webSocketUrl, sessionId }
            // its webhook may name another id; the caller does not wait for that
            return others.length > 0
              ? Effect.succeed(started)
              : Effect.as(Effect.forkIn(ids.learn(at, campaign, sessionId), scope), started)
          }
          return Effect.fail(
            result === "stale"
              ? tooSlow()
              : platformUnavailable("unavailable", "The call ended before it could begin. Try again."),
          )
        }),
      )

    const refused = (
      at: At,
      ticket: string,
      lease: string,
      { reason }: PlatformError,
      unplaced: Effect.Effect<void>,
    ): Effect.Effect<Place, PlatformUnavailable | StoreUnavailable> => {
      const backInLine = (millis?: number) =>
        Effect.flatMap(
          Effect.tapError(step(at, queue.rest(at, ticket, lease, millis)), () => unplaced),
          (result) => (result._tag === "waiting" ? Effect.succeed(result) : Effect.fail(tooSlow())),
        )
      const over = (refund: boolean, failure: PlatformUnavailable) =>
        Effect.andThen(leaveToDeadline(step(at, queue.fail(at, ticket, lease, refund))), Effect.fail(failure))
      switch (reason._tag) {
        case "AtCapacity":
          return backInLine()
        case "KeyRateLimited":
          return Effect.andThen(
            Effect.logWarning(
              `The platform limits the requests of this key (${reason.message}); starts go on within ` +
                `${LIMITED_LONGEST_MILLIS / 1000} s. This is not the limit of its calls.`,
            ),
            backInLine(reason.retryAfterMillis),
          )
        case "RequestRefused":
          // what one caller sent: his budget pays for it, and nothing is wrong with the gate or the platform
          return Effect.andThen(
            Effect.logInfo(`The platform refused what a caller sent: ${reason.message}`),
            over(false, platformUnavailable("refused", "The voice agent does not accept what this request says.", 0)),
          )
        case "Refused":
          return Effect.andThen(
            Effect.logError(`The platform did not start a session: ${reason.message}`),
            over(
              true,
              platformUnavailable("rejected", "The voice agent cannot be reached because of its configuration.", 60),
            ),
          )
        case "Unavailable":
          return Effect.andThen(
            Effect.logError(`The platform did not start a session: ${reason.message}`),
            over(true, platformUnavailable("unavailable", "The voice agent cannot be reached. Try again in a moment.")),
          )
      }
    }

    return (at, ticket, lease, { from = "", ...config }, unplaced = Effect.void) =>
      Effect.matchEffect(inTime(platform.initiate(config, from)), {
        onSuccess: (session) => Effect.map(bound(at, ticket, lease, config.campaign, session), Result.succeed),
        onFailure: (error) => Effect.map(refused(at, ticket, lease, error, unplaced), Result.fail),
      })
  })
