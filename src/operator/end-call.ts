/**
 * Ends a call for an operator: at the platform first; only then is its slot free. Otherwise the next caller would get the slot while
 * the session runs, and the platform would have more calls than slots.
 *
 * A start in doubt is searched for at the platform before its slot is freed. A session that it has begun is ended like a call; the slot is
 * freed where none is found, where the platform has no list, and where the caller's identifier may be that of others too.
 *
 * - A platform that cannot be asked to end a session: the slot is freed at once, and the session may run on.
 * - The platform does not confirm the end: the slot stays held, and any gate of the campaign asks again (`gatekeeper/calls/end-due.ts`), until
 *   the end is confirmed or `STOP_MILLIS` have passed. The same happens if this process dies before it has asked.
 */

import { Effect } from "effect"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { Action, ActionOutcome, Performed } from "../fifo-queue/operator/actions.ts"
import { CLAIM_MILLIS } from "../gatekeeper/calls/end-due.ts"
import { endSession } from "../gatekeeper/calls/end-session.ts"
import { ownNameOf } from "../gatekeeper/calls/stored-config.ts"
import type { Internals } from "../gatekeeper/Internals.ts"
import { boundSessionOf } from "../gatekeeper/outcomes.ts"
import { lengthControl } from "../platform-api/layer.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"

/** How long the operator waits for the platform (ms); then any gate asks it again. The console itself waits for 8 s. */
const ANSWER_MILLIS = 5_000

/** How long the platform is searched for a start in doubt (ms). */
const SEARCH_MILLIS = 2_500

type End = Extract<Action, { readonly type: "end" }>

/** Frees the slot of a lease, and ends its session. */
export type EndCall = (campaign: Campaign, who: string, action: End) => Effect.Effect<ActionOutcome, StoreUnavailable>

/** How many pages of running calls one request ends; the operator repeats it for more. */
const MAX_PAGES = 1_000

/** Ends all running calls of a campaign, each at the platform and by whichever gate finds it. `ticket` is how many that are. */
export type EndCalls = (campaign: Campaign, who: string) => Effect.Effect<ActionOutcome, StoreUnavailable>

export const makeEndCalls = ({
  step,
}: Pick<Internals["Service"], "step">): Effect.Effect<EndCalls, never, FifoQueue | PlatformApi> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    return Effect.fnUntraced(function* (campaign, who) {
      const ends = lengthControl(platform, campaign.name) === "endable" ? ({ ends: true } as const) : {}
      let calls = 0
      let page: Performed["next"]
      let result: Performed["result"] = "ending_calls"
      for (let pages = 0; pages < MAX_PAGES; pages++) {
        const action = { type: "end_calls", ...ends, ...(page === undefined ? {} : { page }) } as const
        const performed = yield* step(campaign, (at) => queue.operator.act(at, who, action))
        calls += performed.calls ?? 0
        result = performed.result
        page = performed.next
        if (page === undefined) break
      }
      return { result, ticket: String(calls) }
    })
  })

export const makeEndCall = ({
  step,
}: Pick<Internals["Service"], "step">): Effect.Effect<EndCall, never, FifoQueue | PlatformApi> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi

    const freeSlot = (campaign: Campaign, who: string, action: End) =>
      step(campaign, (at) => queue.operator.act(at, who, action))

    const endAtPlatform = Effect.fnUntraced(function* (
      campaign: Campaign,
      who: string,
      { lease }: End,
      { data, deadline }: NonNullable<Performed["session"]>,
    ) {
      const free = Effect.map(freeSlot(campaign, who, { type: "end", lease, deadline }), ({ result }) =>
        // the platform's webhook has freed it meanwhile
        result === "gone" ? "ended" : result,
      )
      // a damaged record names no session
      if (data === "") return yield* free
      const session = boundSessionOf(data)
      const ending = yield* endSession(platform, campaign.name, session, "A session that an operator ends").pipe(
        Effect.timeoutOrElse({ duration: ANSWER_MILLIS, orElse: () => Effect.succeed("unconfirmed" as const) }),
      )
      if (ending === "unsupported") return yield* free
      // The platform's webhook may have freed the slot already.
      if (ending === "over") yield* step(campaign, (at) => queue.end(at, session.sessionIds))
      return ending === "over" ? ("ended" as const) : ("ending" as const)
    })

    /** The sessions that the platform reports for a start in doubt; none for any other slot. */
    const searchInDoubt = Effect.fnUntraced(function* (campaign: Campaign, lease: string) {
      const doubt = yield* step(campaign, (at) => queue.operator.doubt(at, lease))
      const name = doubt && ownNameOf(campaign, doubt.ticket, doubt.data)
      if (doubt === undefined || name === undefined) return []
      return yield* platform.sessionsOf(campaign.name, name, doubt.since).pipe(
        Effect.timeoutOrElse({ duration: SEARCH_MILLIS, orElse: () => Effect.undefined }),
        Effect.catch(({ message }) =>
          Effect.as(
            Effect.logInfo(`A start in doubt that an operator ends was not searched for: ${message}`),
            undefined,
          ),
        ),
        Effect.map((sessions) => sessions ?? []),
      )
    })

    return Effect.fnUntraced(function* (campaign, who, action) {
      if (platform.end === undefined) return yield* freeSlot(campaign, who, action)
      const candidates = yield* searchInDoubt(campaign, action.lease)
      const found = candidates.length === 0 ? {} : { candidates }
      const { result, session, ticket } = yield* Effect.uninterruptible(
        step(campaign, (at) => queue.operator.act(at, who, { ...action, claimMillis: CLAIM_MILLIS, ...found })),
      )
      if (session === undefined) return { result, ticket }
      return { result: yield* endAtPlatform(campaign, who, action, session), ticket }
    })
  })
