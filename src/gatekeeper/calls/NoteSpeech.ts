/**
 * What vendors say of who speaks in a call whose campaign ends silent calls (`SilenceSeconds`). Each is told to the queue, of one session at
 * most once in `REPORT_MILLIS`: a caller who talks in bursts costs the store no more.
 */
import { Context, Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { Speech } from "../../platform-api/model.ts"
import { Campaigns } from "../Campaigns.ts"
import { Steps } from "../Steps.ts"

/** The time between two reports of one session (ms). Shorter than any `SilenceSeconds`, so no call ends while one is held back. */
export const REPORT_MILLIS = 3_000

/** Notes what the vendor says of a session of this campaign, by its ids. Does not wait for the store. */
export class NoteSpeech extends Context.Service<
  NoteSpeech,
  (campaign: string, sessionIds: ReadonlyArray<string>, speech: Speech) => Effect.Effect<void>
>()("voicegate/gatekeeper/NoteSpeech") {}

interface Heard {
  readonly caller?: boolean
  readonly agent?: boolean
}

export const layer: Layer.Layer<NoteSpeech, never, Campaigns | FifoQueue | Steps> = Layer.effect(
  NoteSpeech,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { at, step } = yield* Steps
    const queue = yield* FifoQueue
    const scope = yield* Effect.scope
    /** what was heard of a session since its last report */
    const heldBack = new Map<string, Heard>()

    return (name, sessionIds, { side, speaks }) =>
      Effect.suspend(() => {
        const { speech } = queue
        const campaign = campaigns.all.find((each) => each.name === name)
        if (speech === undefined || campaign?.SilenceSeconds === undefined) return Effect.void
        const key = `${name} ${sessionIds[0]}`
        const heard = { ...heldBack.get(key), [side]: speaks }
        if (heldBack.has(key)) {
          heldBack.set(key, heard)
          return Effect.void
        }
        const report = (each: Heard) =>
          Effect.catch(step(at(campaign), speech(at(campaign), sessionIds, each)), ({ message }) =>
            Effect.logDebug(`What the vendor has heard in a call was not noted: ${message}`),
          )
        const reports = Effect.gen(function* () {
          for (let next: Heard | undefined = heard; next !== undefined && Object.keys(next).length > 0; ) {
            heldBack.set(key, {})
            yield* report(next)
            yield* Effect.sleep(REPORT_MILLIS)
            next = heldBack.get(key)
          }
        })
        heldBack.set(key, {})
        return reports.pipe(
          Effect.ensuring(Effect.sync(() => void heldBack.delete(key))),
          // a webhook that breaks must not interrupt it
          Effect.interruptible,
          Effect.forkIn(scope),
          Effect.asVoid,
        )
      })
  }),
)
