/**
 * Logs invalid records found in the store (`fifo-queue/rules/shared/load.ts`): the first at once, then at most once a minute. Records found before
 * this instance started were logged by others.
 */

import { Effect } from "effect"
import type { Swept } from "../../fifo-queue/FifoQueue.ts"
import { quarantineKeyOf } from "../../fifo-queue/keys.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { ageOf } from "../../lib/age.ts"
import type { Campaign } from "../../settings/Settings.ts"

const LOG_EVERY_MILLIS = 60_000

/** Logs the quarantine count of a campaign's sweep, if it has grown. */
export type NoteQuarantined = (
  campaign: Campaign,
  at: CampaignContext,
  quarantined: Swept["quarantined"],
  now: number,
) => Effect.Effect<void>

/** `startedAt` is when this instance started, by the store's clock (ms since 1970). */
export const logQuarantined = (startedAt: number): NoteQuarantined => {
  const logged = new Map<string, { readonly count: number; readonly at: number }>()
  return ({ name }, { campaign }, { at, count, key }, now) => {
    const before = logged.get(name)
    if (count <= (before?.count ?? 0) || at < startedAt) return Effect.void
    if (before !== undefined && ageOf(before.at, now) < LOG_EVERY_MILLIS) return Effect.void
    logged.set(name, { count, at: now })
    // logs only the key: the record may contain a ticket's id, which is a credential, or a caller's name
    return Effect.logError(
      `The store held records of campaign ${name} that cannot be read (${count} so far; the last in its key ${key}). They were ` +
        `removed, and the last 100 are kept in ${quarantineKeyOf(campaign)}. If one was a ticket, it has ended, and its caller may ` +
        "ask again. Find out what else writes to the gate's keys.",
    )
  }
}
