/** Says in the log that the store held records that are not what they should be (`queue/quarantine.ts`): at once, then once a minute. */
import { Clock, Effect } from "effect"
import type { At, Swept } from "../FifoQueue.ts"
import { quarantineKeyOf } from "../queue/step.ts"
import type { Campaign } from "../Settings.ts"

const LOG_EVERY_MILLIS = 60_000

/** Notes what a sweep of the campaign has said. */
export type NoteQuarantined = (campaign: Campaign, at: At, quarantined: Swept["quarantined"]) => Effect.Effect<void>

export const makeQuarantined = (): NoteQuarantined => {
  const logged = new Map<string, { readonly count: number; readonly at: number }>()
  return ({ name }, { campaign }, { count, last }) => {
    const before = logged.get(name)
    if (count <= (before?.count ?? 0)) return Effect.void
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (before !== undefined && now - before.at < LOG_EVERY_MILLIS) return Effect.void
      logged.set(name, { count, at: now })
      return Effect.logError(
        `The store held ${count} records of the campaign ${name} that are not what they should be. They were taken out and ` +
          `are kept in ${quarantineKeyOf(campaign)}, the last 100; the last came from ${JSON.stringify(last)}. A ticket among them ` +
          `has ended, and its caller may ask again. Find out who writes to the gate's keys.`,
      )
    })
  }
}
