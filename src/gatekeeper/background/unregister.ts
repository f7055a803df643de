/** Tells the store that this gate has stopped. Otherwise the other gates would wait for it as for a dead one. */
import { Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { Campaigns } from "../Campaigns.ts"
import { Steps } from "../Steps.ts"
import { Successor } from "../Successor.ts"

/** How long a gate that stops waits at most for the store to know it (ms). */
const UNREGISTER_MILLIS = 2_000

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const queue = yield* FifoQueue
    const { at } = yield* Steps
    const successor = yield* Successor
    // awaited, while the store's connection is still open
    yield* Effect.addFinalizer(() =>
      Effect.forEach(
        campaigns.all.filter((campaign) => !successor.serves(campaign)),
        (campaign) => Effect.ignore(queue.unregister(at(campaign))),
        { concurrency: "unbounded", discard: true },
      ).pipe(Effect.interruptible, Effect.timeoutOption(UNREGISTER_MILLIS)),
    )
  }),
)
