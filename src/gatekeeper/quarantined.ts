/**
 * Logs that the store held records that are not what they should be (`rules/load.ts`): at once, then once a minute at most. What was
 * found before this instance began was logged by others.
 */
import { Effect } from "effect"
import type { At, Swept } from "../FifoQueue.ts"
import { quarantineKeyOf } from "../queue/keys.ts"
import type { Campaign } from "../Settings.ts"

const LOG_EVERY_MILLIS = 60_000

/** Notes what a sweep of the campaign has said. */
export type NoteQuarantined = (
  campaign: Campaign,
  at: At,
  quarantined: Swept["quarantined"],
  now: number,
) => Effect.Effect<void>

/** `began` is when this instance did, by the store's clock (ms). */
export const makeQuarantined = (began: number): NoteQuarantined => {
  const logged = new Map<string, { readonly count: number; readonly at: number }>()
  return ({ name }, { campaign }, { at, count, key }, now) => {
    const before = logged.get(name)
    if (count <= (before?.count ?? 0) || at < began) return Effect.void
    if (before !== undefined && now - before.at < LOG_EVERY_MILLIS) return Effect.void
    logged.set(name, { count, at: now })
    // only the key: an id may be a ticket's, which is a credential, and a settlement names its caller
    return Effect.logError(
      `The store held records of campaign ${name} that cannot be read (${count} so far; the last in its key ${key}). They were ` +
        `removed, and the last 100 are kept in ${quarantineKeyOf(campaign)}. If one was a ticket, it has ended, and its caller may ` +
        "ask again. Find out what else writes to the gate's keys.",
    )
  }
}
