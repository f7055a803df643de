/**
 * The campaigns whose queue is full, so that no address is looked up for a caller who would be refused anyway: lookups cost money, and a
 * network could spend its share of them while nobody gets in. A campaign is full from a refusal until a sweep of its queue finds room,
 * so newcomers are refused for at most a second longer.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { isOpen } from "../../lib/age.ts"
import type { QueueFull } from "../../protocol/refusals.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"

/** Without a sweep, a campaign counts as full for this time (ms). */
const KNOWN_MILLIS = 3_000

export class FullQueues extends Context.Service<
  FullQueues,
  {
    /** A newcomer was refused, while so many waited. */
    readonly refused: (campaign: Campaign, refusal: QueueFull, waiting: number) => void
    /** A sweep found so many waiting. */
    readonly swept: (campaign: Campaign, waiting: number) => void
    /** The refusal of a newcomer to a queue that is full; undefined for one that may have room. */
    readonly refusal: (campaign: Campaign) => QueueFull | undefined
  }
>()("voicegate/gatekeeper/FullQueues") {}

export const layer: Layer.Layer<FullQueues, never, Settings> = Layer.effect(
  FullQueues,
  Effect.gen(function* () {
    const { Queue } = yield* Settings
    const clock = yield* Clock.Clock
    const full = new Map<Campaign, { readonly refusal: QueueFull; until: number }>()
    const until = (): number => clock.currentTimeMillisUnsafe() + KNOWN_MILLIS
    return {
      refused: (campaign, refusal, waiting) => {
        // with fair shares, the queue can be full for one network alone
        if (waiting >= Queue.MaxLength) full.set(campaign, { refusal, until: until() })
      },
      swept: (campaign, waiting) => {
        const known = full.get(campaign)
        if (known === undefined) return
        if (waiting < Queue.MaxLength) full.delete(campaign)
        else known.until = until()
      },
      refusal: (campaign) => {
        const known = full.get(campaign)
        return known !== undefined && isOpen(known.until, KNOWN_MILLIS, clock.currentTimeMillisUnsafe())
          ? known.refusal
          : undefined
      },
    }
  }),
)
