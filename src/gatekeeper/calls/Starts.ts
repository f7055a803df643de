/**
 * Starts a session at the platform for a held slot. Depending on the answer the slot becomes live, is given back, or stays held
 * because a session may run; in the last case the ticket keeps its place.
 */

import { Context, Effect, Layer, Result, Schedule } from "effect"
import { Budgets, type OwnWait } from "../../budgets/Budgets.ts"
import { DOUBT_MILLIS, LIMITED_LONGEST_MILLIS, START_LEASE_MILLIS } from "../../fifo-queue/bounds.ts"
import { type CallLimit, FifoQueue, type Place } from "../../fifo-queue/FifoQueue.ts"
import type { StartFailure } from "../../fifo-queue/inputs.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { type PlatformError, refused, type Unavailable } from "../../platform-api/errors.ts"
import { faultOf, faultOfEverybody, isOfAccount, settingPath } from "../../platform-api/faults.ts"
import type { RelayedSession, WebSession } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { DEFAULT_PLATFORM } from "../../platform-api/vendors.ts"
import type { BudgetExhausted, StartFailed, StoreUnavailable } from "../../protocol/refusals.ts"
import { platformUnavailable } from "../../protocol/refusals.ts"
import type { StartConfig } from "../../protocol/request.ts"
import type { Started } from "../../protocol/session-answers.ts"
import * as texts from "../../protocol/texts.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { aheadOf } from "../../store/time-of-day.ts"
import { Campaigns } from "../Campaigns.ts"
import { FollowUps } from "../FollowUps.ts"
import * as metrics from "../metrics.ts"
import { addressed, awaitedDataOf, dataOf, startedFrom } from "../outcomes.ts"
import { Shutdown } from "../Shutdown.ts"
import { Steps } from "../Steps.ts"
import { aboutTicket, TicketLog } from "../TicketLog.ts"
import { callLimitOf, callSecondsOf } from "./call-limit.ts"
import { SessionIds } from "./SessionIds.ts"
import { correlationOf, dataOfConfig, identifierOf, type StoredConfig } from "./stored-config.ts"

/** How a started session is bound while the store is unavailable, before the caller gets an error. */
const BIND_RETRY = { schedule: Schedule.spaced(200), times: 25 }

/** How binding goes on after that: for as long as a start in doubt holds its slot. */
const BIND_LATER = { schedule: Schedule.spaced(250), times: DOUBT_MILLIS / 250 }
/** How a failed start is reported to the queue while the store is unavailable. */
const FAIL_RETRY = { schedule: Schedule.spaced(250), times: START_LEASE_MILLIS / 250 }

/** How a call is ended whose caller gets no answer, while the platform cannot be reached. */
const END_RETRY = { schedule: Schedule.spaced(5_000), times: 12 }

/**
 * The ticket's place after a failed start. `busy`: the platform has no free slot; `unpaid`: a budget has too little, and the platform was not
 * asked; otherwise it gave no usable answer.
 */
export type NotStarted = Place & { readonly busy: boolean; readonly unpaid?: true }

/** The start of a newcomer, who has not waited. */
export interface NewcomerStart<E> {
  /** runs if no session runs and the store failed, so that it is unknown whether the ticket has a place */
  readonly unplaced: Effect.Effect<void>
  /** with `Queue.OnPlatformRefusal`: why a newcomer does not wait for a platform that refuses everybody */
  readonly rejected: () => E
}

/** Returns the session, or the ticket's place if the platform has not started one. */
export type StartSession = <E = never>(
  at: CampaignContext,
  ticket: string,
  lease: string,
  stored: StoredConfig,
  newcomer?: NewcomerStart<E>,
) => Effect.Effect<Result.Result<Started, NotStarted>, BudgetExhausted | StartFailed | StoreUnavailable | E>

/**
 * Begins the session of a ticket with its page's offer; otherwise like `StartSession`. The session's end may also be reported under
 * `session`, its id before the offer. If that happens while the offer is under way, the call is ended at once.
 */
export type RelayOffer = (
  at: CampaignContext,
  ticket: string,
  lease: string,
  stored: StoredConfig,
  offer: { readonly sdp: string; readonly session: string },
) => Effect.Effect<Result.Result<RelayedSession, NotStarted>, StartFailed | StoreUnavailable>

export class Starts extends Context.Service<
  Starts,
  {
    readonly startSession: StartSession
    readonly relayOffer: RelayOffer
  }
>()("voicegate/gatekeeper/Starts") {}

const startTooSlow = (): StartFailed => platformUnavailable("unavailable", texts.startTooSlow)

export const startFailed = (): StartFailed => platformUnavailable("unavailable", texts.startFailed)

const cannotRelay = (): PlatformError => refused(501, "NO_RELAY", "the platform's sessions do not begin with an offer")

/** Classifies a platform failure for the queue: whether a session may run, and whether the caller's request may be the cause. */
const failureOf = ({ mayHaveHappened, reason, retryAfterMillis }: Unavailable): StartFailure => {
  if (mayHaveHappened) return { _tag: "doubt", code: reason }
  switch (reason) {
    case "circuit_open":
    case "unreachable":
      return { _tag: "disrupted", millis: retryAfterMillis, code: reason }
    case "malformed":
      return { _tag: "rejected" }
    default:
      return { _tag: "answered", code: reason }
  }
}

const unpaid = ({ paidSeconds: _, ...stored }: StoredConfig): StoredConfig => stored

export const layer: Layer.Layer<
  Starts,
  never,
  | Budgets
  | Campaigns
  | FifoQueue
  | FollowUps
  | PlatformApi
  | SessionIds
  | Settings
  | Shutdown
  | Steps
  | Store
  | TicketLog
> = Layer.effect(
  Starts,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { step } = yield* Steps
    const ids = yield* SessionIds
    const { beforeDeadline, isPastDeadline } = yield* Shutdown
    const followUps = yield* FollowUps
    const log = yield* TicketLog
    const { MaxCallMinutes, OnPlatformRefusal } = (yield* Settings).Queue
    const store = yield* Store
    const budgets = yield* Budgets
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const context = yield* Effect.context<never>()
    const bindRetry = { ...BIND_RETRY, while: () => !isPastDeadline() }

    /** If the store stays unavailable, binding goes on in the background, so that the slot is not given to another caller. */
    const bindWithRetry = (
      at: CampaignContext,
      ticket: string,
      lease: string,
      session: Parameters<typeof queue.bind>[3],
    ) => {
      const bind = step(at, queue.bind(at, ticket, lease, session))
      return Effect.tapError(Effect.retry(bind, bindRetry), () =>
        followUps.run(Effect.ignore(Effect.retry(bind, BIND_LATER))),
      )
    }

    /** Ends a call whose caller gets no answer. Otherwise it would run without a caller. */
    const endUnanswered = (campaign: string, session: WebSession): Effect.Effect<void> =>
      followUps.run(Effect.ignore(Effect.retry(platform.end?.(campaign, session) ?? Effect.void, END_RETRY)))

    const bindStarted = (
      at: CampaignContext,
      ticket: string,
      lease: string,
      campaign: string,
      session: WebSession,
      data: Readonly<Record<string, string>>,
      limit: CallLimit | undefined,
    ): Effect.Effect<Started, StartFailed | StoreUnavailable> =>
      bindWithRetry(at, ticket, lease, { ids: session.sessionIds, data, offerMillis: session.offerMillis, limit }).pipe(
        Effect.flatMap((result) => {
          if (result === "live") {
            if (session.offerMillis === undefined) metrics.started.of(campaign).updateUnsafe(1, context)
            const [sessionId = "", ...others] = session.sessionIds
            // the webhook may use another id; the caller does not wait for the lookup
            const learned =
              others.length > 0 || session.offerMillis !== undefined
                ? Effect.void
                : followUps.run(ids.learn(at, campaign, sessionId))
            return Effect.andThen(learned, log("ticket started", { campaign, ticket })).pipe(
              Effect.as(
                startedFrom(
                  ticket,
                  session,
                  campaigns.ofTicket(ticket),
                  limit === undefined
                    ? undefined
                    : Math.min(limit.endsAt, limit.paidUntil ?? limit.endsAt) + aheadOf(store),
                ),
              ),
            )
          }
          return Effect.fail(
            result === "stale" ? startTooSlow() : platformUnavailable("unavailable", texts.endedBeforeItBegan),
          )
        }),
      )

    /**
     * Reports the failed start in the background until the start's deadline, when the store puts the start in doubt by itself; then runs
     * `then`.
     */
    const failLater = (
      at: CampaignContext,
      ticket: string,
      lease: string,
      why: StartFailure,
      then: Effect.Effect<void> = Effect.void,
    ): Effect.Effect<void> =>
      Effect.retry(step(at, queue.fail(at, ticket, lease, why)), FAIL_RETRY).pipe(
        Effect.ignore,
        Effect.andThen(then),
        followUps.run,
      )

    /** Logs why the start failed and reports it to the queue. The ticket gets its place back, or is over. */
    const notStarted = <E = never>(
      at: CampaignContext,
      ticket: string,
      lease: string,
      campaign: string,
      error: PlatformError,
      newcomer?: NewcomerStart<E>,
    ): Effect.Effect<NotStarted, StartFailed | StoreUnavailable | E> => {
      const { reason } = error
      const platformName = campaigns.find(campaign)?.Platform ?? DEFAULT_PLATFORM
      const fault = faultOf(platformName, error)
      const setting = fault === undefined || fault.setting === "" ? "" : settingPath(campaign, fault.setting)
      const ofTicket = Effect.annotateLogs({
        ...(fault === undefined ? {} : { code: fault.code }),
        ...(setting === "" ? {} : { setting }),
      })
      const requeue = (why: StartFailure, failure = startTooSlow) =>
        Effect.flatMap(
          Effect.tapError(step(at, queue.fail(at, ticket, lease, why)), () =>
            why._tag === "doubt"
              ? failLater(at, ticket, lease, why, newcomer?.unplaced)
              : (newcomer?.unplaced ?? failLater(at, ticket, lease, why)),
          ),
          (result): Effect.Effect<NotStarted, StartFailed> =>
            result._tag === "waiting"
              ? Effect.succeed({ ...result, busy: why._tag === "capacity" || why._tag === "limited" })
              : Effect.fail(result._tag === "failed" ? failure() : startTooSlow()),
        )
      const endTicket = (why: StartFailure, failure: E) =>
        Effect.andThen(
          Effect.catch(step(at, queue.fail(at, ticket, lease, why)), () => failLater(at, ticket, lease, why)),
          Effect.fail(failure),
        )
      const why: StartFailure = {
        _tag: "rejected",
        code: fault?.code ?? "",
        setting,
        ...(reason._tag === "Refused" && isOfAccount(reason) ? { ofAccount: true } : {}),
      }
      // a called ticket has waited for its turn, and waits on
      const refused = OnPlatformRefusal === "refuse" ? newcomer : undefined
      const rejected: Effect.Effect<NotStarted, StartFailed | StoreUnavailable | E> =
        refused === undefined ? requeue(why, startFailed) : endTicket({ ...why, ends: true }, refused.rejected())
      switch (reason._tag) {
        case "AtCapacity":
          return requeue({ _tag: "capacity" })
        case "KeyRateLimited":
          return Effect.andThen(
            ofTicket(
              Effect.logWarning(
                `The platform limits the request rate of this key (${reason.message}); starts resume within ` +
                  `${LIMITED_LONGEST_MILLIS / 1000} s. This is not its limit of concurrent calls.`,
              ),
            ),
            requeue({ _tag: "limited", millis: reason.retryAfterMillis }),
          )
        case "RequestRefused": {
          // the caller's input is the cause, so the quota is not given back, unless everybody is refused
          const { code, setting } = faultOfEverybody(platformName, reason)
          const why: StartFailure = { _tag: "refused", code, setting: settingPath(campaign, setting) }
          const failure = () => platformUnavailable("refused", texts.requestRefused, 0)
          return Effect.andThen(
            ofTicket(Effect.logInfo(`The platform refused a caller's request: ${reason.message}`)),
            requeue(refused === undefined ? why : { ...why, ends: true }, failure),
          ).pipe(Effect.catchTag("StoreUnavailable", () => Effect.fail(failure())))
        }
        case "Refused":
          // what the operator must mend is no caller's fault
          return Effect.andThen(
            ofTicket(Effect.logError(`The platform did not start a session: ${reason.message}`)),
            rejected,
          )
        case "Unavailable": {
          const why = failureOf(reason)
          const summary =
            why._tag === "doubt"
              ? "It is not known whether the platform started a session. Its slot stays held until it is known, for at most " +
                `${DOUBT_MILLIS / 60_000} minutes`
              : "The platform did not start a session"
          return Effect.andThen(
            ofTicket(Effect.logError(`${summary}: ${reason.message}`)),
            why._tag === "rejected" ? rejected : requeue(why, startFailed),
          )
        }
      }
    }

    const configOf = (ticket: string, stored: StoredConfig): StartConfig => {
      const { callSeconds: _, caller: __, from: ___, paidSeconds: ____, ...config } = stored
      const callSeconds = callSecondsOf(campaigns.find(stored.campaign), stored, { MaxCallMinutes })
      return {
        ...config,
        clientIdentifier: identifierOf(ticket, config),
        correlationId: correlationOf(ticket),
        ...(callSeconds === undefined ? {} : { callSeconds }),
      }
    }

    /** Runs when the platform has started the session; a session that awaits its offer is not a call yet. */
    const limitOf = (
      at: CampaignContext,
      { callSeconds, campaign: name }: StartConfig,
      { offerMillis }: WebSession,
      paidSeconds: number | undefined,
    ): Effect.Effect<CallLimit | undefined> => {
      const campaign = campaigns.find(name)
      if (callSeconds === undefined || campaign === undefined || offerMillis !== undefined) return Effect.undefined
      return Effect.map(store.now, (now) => {
        const limit = callLimitOf(platform, campaign, callSeconds, now)
        return paidSeconds === undefined
          ? limit
          : { ...limit, paidUntil: budgets.endsAt({ campaign, key: at.campaign }, now, paidSeconds) }
      })
    }

    /** A budget has too little for the call, and its caller waits until there is more. */
    const waitForBudget = <E>(
      at: CampaignContext,
      ticket: string,
      lease: string,
      own: OwnWait | undefined,
      newcomer: NewcomerStart<E> | undefined,
    ): Effect.Effect<NotStarted, BudgetExhausted | StartFailed | StoreUnavailable> => {
      if (own !== undefined && queue.unpaid === undefined) return refuseUnpaid(at, ticket, lease, own.refusal)
      const why: StartFailure = own === undefined ? { _tag: "unpaid" } : { _tag: "unpaid", until: own.until }
      return Effect.flatMap(
        Effect.tapError(
          step(at, queue.fail(at, ticket, lease, why)),
          () => newcomer?.unplaced ?? failLater(at, ticket, lease, why),
        ),
        (result): Effect.Effect<NotStarted, BudgetExhausted | StartFailed> =>
          result._tag === "waiting"
            ? Effect.succeed({ ...result, busy: false, unpaid: true as const })
            : Effect.fail(result._tag === "failed" && own !== undefined ? own.refusal : startTooSlow()),
      )
    }

    /** A budget has too little for the call, and its caller does not wait. */
    const refuseUnpaid = (
      at: CampaignContext,
      ticket: string,
      lease: string,
      refusal: BudgetExhausted,
    ): Effect.Effect<never, BudgetExhausted> => {
      const why: StartFailure = { _tag: "failed", spent: true }
      return Effect.andThen(
        Effect.catch(step(at, queue.fail(at, ticket, lease, why)), () => failLater(at, ticket, lease, why)),
        Effect.fail(refusal),
      )
    }

    /**
     * Holds the first time of a call from its budgets. Where they have too little, its caller waits, or the ticket is over; it is over too where it
     * came too late. Returns how long the call may last by what is held (s) where its budgets have no more.
     */
    const holdTime = <E>(
      at: CampaignContext,
      ticket: string,
      lease: string,
      campaign: Campaign,
      caller: string,
      newcomer: NewcomerStart<E> | undefined,
    ): Effect.Effect<Result.Result<number | undefined, NotStarted>, BudgetExhausted | StartFailed | StoreUnavailable> =>
      Effect.matchEffect(budgets.hold({ campaign, key: at.campaign }, { ticket, lease, caller }), {
        onSuccess: (
          held,
        ): Effect.Effect<
          Result.Result<number | undefined, NotStarted>,
          BudgetExhausted | StartFailed | StoreUnavailable
        > => {
          if (held._tag === "held") return Effect.succeed(Result.succeed(held.last ? held.seconds : undefined))
          if (held._tag === "over") return Effect.fail(startTooSlow())
          return Effect.map(waitForBudget(at, ticket, lease, held.own, newcomer), Result.fail)
        },
        onFailure: (error): Effect.Effect<never, BudgetExhausted | StoreUnavailable> => {
          if (error._tag === "StoreUnavailable") {
            // the platform was not asked: a called ticket is called again
            const later = failLater(at, ticket, lease, { _tag: "elsewhere", millis: 1 })
            return Effect.andThen(newcomer?.unplaced ?? later, Effect.fail(error))
          }
          return refuseUnpaid(at, ticket, lease, error)
        },
      })

    const startSession: StartSession = (at, ticket, lease, given, newcomer) => {
      const found = campaigns.find(given.campaign)
      // what was held for a start before, which awaited its page's offer, is not held any more
      const stored = given.paidSeconds === undefined ? given : unpaid(given)
      if (found === undefined || !budgets.has(found)) return startHeld(at, ticket, lease, stored, newcomer)
      return Effect.flatMap(holdTime(at, ticket, lease, found, stored.caller ?? "", newcomer), (held) => {
        if (Result.isFailure(held)) return Effect.succeed(Result.fail(held.failure))
        const paidSeconds = held.success
        return startHeld(at, ticket, lease, paidSeconds === undefined ? stored : { ...stored, paidSeconds }, newcomer)
      })
    }

    const startHeld: StartSession = (at, ticket, lease, stored, newcomer) => {
      const { campaign, from = "", paidSeconds } = stored
      const config = configOf(ticket, stored)
      return Effect.matchEffect(beforeDeadline(platform.initiate(config, from)), {
        onSuccess: (minted) => {
          const session = addressed(ticket, minted)
          const data =
            session.offerMillis === undefined ? dataOf(session) : awaitedDataOf(session, dataOfConfig(stored))
          return Effect.flatMap(limitOf(at, config, session, paidSeconds), (limit) =>
            bindStarted(at, ticket, lease, campaign, session, data, limit),
          ).pipe(
            // an operator has cancelled the start, or it came too late; a session without its offer does not run
            Effect.tapErrorTag("PlatformUnavailable", () =>
              session.offerMillis === undefined ? endUnanswered(campaign, session) : Effect.void,
            ),
            Effect.map(Result.succeed),
          )
        },
        onFailure: (error) =>
          Effect.map(notStarted(at, ticket, lease, campaign, error, newcomer), Result.fail).pipe(
            aboutTicket({ campaign, ticket }),
          ),
      })
    }

    const relayOffer: RelayOffer = (at, ticket, lease, stored, { sdp, session: before }) => {
      const { campaign, from = "", paidSeconds } = stored
      const config = configOf(ticket, stored)
      const begin = platform.relay?.(config, sdp, from) ?? Effect.fail(cannotRelay())
      return Effect.matchEffect(beforeDeadline(begin), {
        onSuccess: (session) =>
          Effect.flatMap(limitOf(at, config, session, paidSeconds), (limit) => {
            const bound = { ...session, sessionIds: [...session.sessionIds, before] }
            return bindStarted(at, ticket, lease, campaign, bound, dataOf(bound), limit)
          }).pipe(
            Effect.as(Result.succeed(session)),
            Effect.tapError(() => endUnanswered(campaign, session)),
          ),
        onFailure: (error) =>
          Effect.map(notStarted(at, ticket, lease, campaign, error), Result.fail).pipe(
            aboutTicket({ campaign, ticket }),
          ),
      })
    }

    return { startSession, relayOffer }
  }),
)
