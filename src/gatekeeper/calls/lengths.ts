/**
 * Enforces the time limits of calls (`call-limit.ts`): their pages are warned, and at their ends the platform is asked to end them, again and
 * again until it confirms that or the slot is taken back. The store gives each warning and each end to one gate at a time (`fifo-queue/rules/lengths.ts`), so
 * neither depends on the gate that has started the call.
 *
 * The store says when the next thing is due. It is asked then, and otherwise every `DUE_CHECK_MILLIS`, since another gate may have started a
 * shorter call; where no call is known to have a limit, and neither the settings nor tokens set any, once in
 * `LOOK_MILLIS`, since they may have before a reload.
 */
import { Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { lengthControl } from "../../platform-api/layer.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import { boundSessionOf } from "../outcomes.ts"
import { Running } from "../Running.ts"
import { Steps } from "../Steps.ts"
import { CLAIM_MILLIS, DUE_CHECK_MILLIS } from "./end-due.ts"

/** How exactly a call ends at its limit (ms). */
export const LENGTH_TICK_MILLIS = 1_000
const LOOK_MILLIS = 60_000
/** Sessions that a gate ends at once. */
const AT_ONCE = 10

interface Known {
  /** when the store is to be asked again (ms since 1970) */
  askAt: number
}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const running = yield* Running
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const store = yield* Store
    const { dueLengths } = queue
    if (dueLengths === undefined) return
    const known = new Map<Campaign, Known>()
    const { JwksUrl, Secrets } = (yield* Settings).Identity
    const tokensLimit = Secrets.length > 0 || JwksUrl !== undefined
    const mayLimit = ({ Budgets, MaxCallSeconds }: Campaign): boolean =>
      tokensLimit || MaxCallSeconds !== undefined || Budgets !== undefined

    const endOne = Effect.fnUntraced(function* (campaign: Campaign, data: string) {
      const session = boundSessionOf(data)
      const ended = platform.end?.(campaign.name, session) ?? Effect.succeed("unsupported" as const)
      const isOver = yield* Effect.catch(ended, ({ message }) =>
        Effect.as(
          Effect.logDebug(`A call at its time limit was not ended, and the platform is asked again: ${message}`),
          false,
        ),
      )
      if (isOver === true) yield* step(at(campaign), queue.end(at(campaign), session.sessionIds))
    })

    const enforce = Effect.fnUntraced(function* (campaign: Campaign, now: number) {
      const isEndable = lengthControl(platform, campaign.name) === "endable"
      const { nextAt, sessions } = yield* step(at(campaign), dueLengths(at(campaign), CLAIM_MILLIS, isEndable))
      const wait = nextAt === undefined && !mayLimit(campaign) ? LOOK_MILLIS : DUE_CHECK_MILLIS
      known.set(campaign, { askAt: Math.min(nextAt ?? Number.POSITIVE_INFINITY, now + wait) })
      yield* Effect.forEach(
        sessions.filter((data) => data !== ""),
        (data) => endOne(campaign, data),
        { concurrency: AT_ONCE, discard: true },
      )
    })

    yield* runForEachCampaign(
      LENGTH_TICK_MILLIS,
      "time limits of calls",
      Effect.fnUntraced(function* (campaign: Campaign) {
        if ((running.of(campaign)?.live ?? 0) === 0) return
        const now = yield* store.now
        if (now < (known.get(campaign)?.askAt ?? 0)) return
        yield* enforce(campaign, now)
      }),
    )
  }),
)
