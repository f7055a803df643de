/**
 * Asks the platform for a session in the name of a held slot, and makes the slot what the answer says: live, given back, or
 * resting while the ticket keeps its place.
 */
import { Effect, Result, Schedule } from "effect"
import { type At, FifoQueue, type Place } from "../FifoQueue.ts"
import { PlatformApi, type PlatformError, type WebSession } from "../PlatformApi.ts"
import type { PlatformUnavailable, SessionConfig, Started, StoreUnavailable } from "../Session.ts"
import { platformUnavailable } from "./outcomes.ts"
import { leaveToDeadline, type Steps } from "./steps.ts"

/** How long a started session is kept for a store that is away for a moment, before the start is given up. */
const BIND_RETRY = { schedule: Schedule.spaced(200), times: 25 }

/** A session; or the ticket's place, because all slots of the platform are taken after all. */
export type Launch = (
  at: At,
  ticket: string,
  lease: string,
  config: SessionConfig,
) => Effect.Effect<Result.Result<Started, Place>, PlatformUnavailable | StoreUnavailable>

const tooSlow = (): PlatformUnavailable =>
  platformUnavailable("unavailable", "The call took too long to start. Try again.")

export const makeLaunch = ({ step }: Steps): Effect.Effect<Launch, never, FifoQueue | PlatformApi> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi

    const bound = (at: At, ticket: string, lease: string, { sessionIds, webSocketUrl }: WebSession) =>
      step(
        at,
        Effect.retry(queue.bind(at, ticket, lease, { ids: sessionIds, data: { url: webSocketUrl } }), BIND_RETRY),
      ).pipe(
        Effect.flatMap((result) => {
          if (result === "live") {
            return Effect.succeed({ uniqueRequestId: ticket, webSocketUrl, sessionId: sessionIds[0] ?? "" })
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
    ): Effect.Effect<Place, PlatformUnavailable | StoreUnavailable> => {
      if (reason._tag === "AtCapacity") {
        return Effect.flatMap(step(at, queue.rest(at, ticket, lease)), (result) =>
          result._tag === "waiting" ? Effect.succeed(result) : Effect.fail(tooSlow()),
        )
      }
      return Effect.logError(`The platform did not start a session: ${reason.message}`).pipe(
        Effect.andThen(leaveToDeadline(step(at, queue.fail(at, ticket, lease, true)))),
        Effect.andThen(
          Effect.fail(
            reason._tag === "Refused"
              ? platformUnavailable("rejected", "The voice agent cannot be reached because of its configuration.", 60)
              : platformUnavailable("unavailable", "The voice agent cannot be reached. Try again in a moment."),
          ),
        ),
      )
    }

    return (at, ticket, lease, config) =>
      Effect.matchEffect(platform.initiate(config), {
        onSuccess: (session) => Effect.map(bound(at, ticket, lease, session), Result.succeed),
        onFailure: (error) => Effect.map(refused(at, ticket, lease, error), Result.fail),
      })
  })
