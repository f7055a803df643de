/** Compares the records of a queue with its sets, in case a rule has failed half-way and the gate that has seen it has died. */
import { Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { Steps } from "../Steps.ts"
import { runForEachCampaign } from "./run-every.ts"

/** How often the records of a queue are compared with its sets (ms). */
const REPAIR_MILLIS = 10 * 60_000

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { repair } = yield* FifoQueue
    const { at } = yield* Steps
    if (repair === undefined) return
    yield* runForEachCampaign(
      REPAIR_MILLIS,
      "repair of the queue",
      (campaign) =>
        Effect.flatMap(repair(at(campaign)), (count) =>
          count === 0
            ? Effect.void
            : Effect.logWarning(
                `${count} tickets of campaign ${campaign.name} were put back: a rule of the store had failed half-way.`,
              ),
        ),
      { atOnce: true },
    )
  }),
)
