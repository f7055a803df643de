/**
 * Asks the platform for a session in the name of a held slot, and makes the slot what the answer says: live, given back, or held
 * where a session may run, while the ticket keeps its place.
 */
import { createHash } from "node:crypto"
import { Effect, Result, Schedule, type Scope } from "effect"
import { type At, FifoQueue, type Place, type StartFailure } from "../FifoQueue.ts"
import * as messages from "../messages.ts"
import { PlatformApi, type PlatformError, type Unavailable, type WebSession } from "../PlatformApi.ts"
import { DOUBT_MILLIS } from "../rules/doubt.ts"
import { START_LEASE_MILLIS } from "../rules/queue/admit.ts"
import { LIMITED_LONGEST_MILLIS } from "../rules/queue/fail.ts"
import type { PlatformUnavailable, SessionConfig, Started, StoreUnavailable } from "../Session.ts"
import type { Closing } from "./closing.ts"
import { platformUnavailable } from "./outcomes.ts"
import type { SessionIds } from "./session-ids.ts"
import type { Steps } from "./steps.ts"

/** How long a started session is kept for a store that is away for a moment, before the start is given up. */
const BIND_RETRY = { schedule: Schedule.spaced(200), times: 25 }

/** Until when it is bound without an answer to its caller: so long a start in doubt holds its slot. */
const BIND_LATER = { schedule: Schedule.spaced(250), times: DOUBT_MILLIS / 250 }
/** How a failed start is told to a store that is away. */
const TELL_RETRY = { schedule: Schedule.spaced(250), times: START_LEASE_MILLIS / 250 }

/** What is kept with a ticket until it starts: `from` is its caller's group, absent in tickets of older versions. */
export interface StoredConfig extends SessionConfig {
  readonly from?: string
}

/** Reads it; undefined where that is not what a gate has written. */
export const storedConfigOf = (data: string): StoredConfig | undefined => {
  try {
    const stored: StoredConfig | null = JSON.parse(data)
    return typeof stored === "object" && stored !== null ? stored : undefined
  } catch {
    return undefined
  }
}

/** The ticket's place after a start that failed; `busy` where the platform has no free slot, else it did not answer usefully. */
export type Unstarted = Place & { readonly busy: boolean }

/**
 * A session; or the ticket's place, because the platform has not started one. `unplaced` is done where the store did
 * not say whether the ticket has that place, and no session runs.
 */
export type Launch = (
  at: At,
  ticket: string,
  lease: string,
  stored: StoredConfig,
  unplaced?: Effect.Effect<void>,
) => Effect.Effect<Result.Result<Started, Unstarted>, PlatformUnavailable | StoreUnavailable>

const tooSlow = (): PlatformUnavailable => platformUnavailable("unavailable", messages.startTooSlow)

export const ownFailure = (): PlatformUnavailable => platformUnavailable("unavailable", messages.startFailed)

const misconfigured = (): PlatformUnavailable => platformUnavailable("rejected", messages.platformRejected, 60)

/** What the queue makes of a platform that gave no usable answer: whether a session may run, and whether a caller can be the reason. */
const failureOf = ({ mayHaveHappened, reason, retryAfterMillis }: Unavailable): StartFailure => {
  if (mayHaveHappened) return { _tag: "doubt" }
  switch (reason) {
    case "circuit_open":
    case "unreachable":
      return { _tag: "disrupted", millis: retryAfterMillis }
    case "malformed":
      return { _tag: "failed" }
    default:
      return { _tag: "answered" }
  }
}

/**
 * By which the platform knows the caller of a ticket: the caller's own identifier, else one of the ticket's, so that its session can be
 * found in the platform's history. The ticket's id is a credential, so that only its hash goes out.
 */
export const identifierOf = (ticket: string, config: Pick<SessionConfig, "clientIdentifier">): string =>
  config.clientIdentifier ?? `anonymous-${createHash("sha256").update(ticket).digest("hex").slice(0, 20)}`

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

    /** Where the store is away for longer, its slot must not be given to others: it is bound when the store is back. */
    const bindWithin = (at: At, ticket: string, lease: string, session: Parameters<typeof queue.bind>[3]) => {
      const bind = step(at, queue.bind(at, ticket, lease, session))
      return Effect.tapError(Effect.retry(bind, bindRetry), () =>
        Effect.forkIn(Effect.ignore(Effect.retry(bind, BIND_LATER)), scope),
      )
    }

    const bound = (
      at: At,
      ticket: string,
      lease: string,
      campaign: string,
      { sessionIds, webSocketUrl }: WebSession,
    ): Effect.Effect<Started, PlatformUnavailable | StoreUnavailable> =>
      bindWithin(at, ticket, lease, { ids: sessionIds, data: { url: webSocketUrl } }).pipe(
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
            result === "stale" ? tooSlow() : platformUnavailable("unavailable", messages.endedBeforeItBegan),
          )
        }),
      )

    /** Tells the queue when the store is back: until the start's deadline, when it would be in doubt. Then does what is left to do. */
    const later = (
      at: At,
      ticket: string,
      lease: string,
      why: StartFailure,
      then: Effect.Effect<void> = Effect.void,
    ): Effect.Effect<void> =>
      Effect.retry(step(at, queue.fail(at, ticket, lease, why)), TELL_RETRY).pipe(
        Effect.ignore,
        Effect.andThen(then),
        Effect.forkIn(scope),
        Effect.asVoid,
      )

    /** Tells the queue why the start failed, and the log; the ticket has its place again, or is over. */
    const notStarted = (
      at: At,
      ticket: string,
      lease: string,
      { reason }: PlatformError,
      unplaced: Effect.Effect<void> | undefined,
    ): Effect.Effect<Unstarted, PlatformUnavailable | StoreUnavailable> => {
      const backInLine = (why: StartFailure, failure = tooSlow) =>
        Effect.flatMap(
          Effect.tapError(step(at, queue.fail(at, ticket, lease, why)), () =>
            why._tag === "doubt"
              ? later(at, ticket, lease, why, unplaced)
              : (unplaced ?? later(at, ticket, lease, why)),
          ),
          (result): Effect.Effect<Unstarted, PlatformUnavailable> =>
            result._tag === "waiting"
              ? Effect.succeed({ ...result, busy: why._tag === "capacity" || why._tag === "limited" })
              : Effect.fail(result._tag === "failed" ? failure() : tooSlow()),
        )
      const over = (why: StartFailure, failure: PlatformUnavailable) =>
        Effect.andThen(
          Effect.catch(step(at, queue.fail(at, ticket, lease, why)), () => later(at, ticket, lease, why)),
          Effect.fail(failure),
        )
      switch (reason._tag) {
        case "AtCapacity":
          return backInLine({ _tag: "capacity" })
        case "KeyRateLimited":
          return Effect.andThen(
            Effect.logWarning(
              `The platform limits the requests of this key (${reason.message}); starts go on within ` +
                `${LIMITED_LONGEST_MILLIS / 1000} s. This is not the limit of its calls.`,
            ),
            backInLine({ _tag: "limited", millis: reason.retryAfterMillis }),
          )
        case "RequestRefused":
          // what one caller sent: his budget pays for it, and nothing is wrong with the gate or the platform
          return Effect.andThen(
            Effect.logInfo(`The platform refused what a caller sent: ${reason.message}`),
            over({ _tag: "refused" }, platformUnavailable("refused", messages.requestRefused, 0)),
          )
        case "Refused":
          return Effect.andThen(
            Effect.logError(`The platform did not start a session: ${reason.message}`),
            over({ _tag: "failed" }, misconfigured()),
          )
        case "Unavailable": {
          const why = failureOf(reason)
          const said =
            why._tag === "doubt"
              ? "It is not known whether the platform started a session, so its slot stays held until that is known, " +
                `${DOUBT_MILLIS / 60_000} minutes at most`
              : "The platform did not start a session"
          return Effect.andThen(
            Effect.logError(`${said}: ${reason.message}`),
            why._tag === "failed" ? over(why, misconfigured()) : backInLine(why, ownFailure),
          )
        }
      }
    }

    return (at, ticket, lease, { from = "", ...config }, unplaced) => {
      const start = platform.initiate({ ...config, clientIdentifier: identifierOf(ticket, config) }, from)
      return Effect.matchEffect(inTime(start), {
        onSuccess: (session) => Effect.map(bound(at, ticket, lease, config.campaign, session), Result.succeed),
        onFailure: (error) => Effect.map(notStarted(at, ticket, lease, error, unplaced), Result.fail),
      })
    }
  })
