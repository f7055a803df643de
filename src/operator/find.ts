/**
 * Finds tickets by the start of their hash, which the console, the audit log and the operator's log lines show, among the slots and
 * the waiting tickets. The store has no index of hashes, since an id must not be derived from one: pages are read one after the
 * other, so no single step reads more than a page.
 */
import { Effect } from "effect"
import { type CampaignSnapshot, PAGE_MAX, type Pages } from "../queue/operator.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { FoundTicket } from "./shapes.ts"

/** Limit of tickets that are returned. */
export const MAX_FOUND = 20
/** Pages overlap, because rows move forward while they are read. */
const STRIDE = PAGE_MAX - 20

/** The start of a ticket's hash. */
export const HASH = /^[0-9a-f]{4,10}$/

/** The tickets of one campaign whose hash begins so; at most one more than `MAX_FOUND`. */
export const findIn = <R>(
  campaign: string,
  hash: string,
  snapshot: (pages: Pages) => Effect.Effect<CampaignSnapshot, StoreUnavailable, R>,
): Effect.Effect<ReadonlyArray<FoundTicket>, StoreUnavailable, R> =>
  Effect.gen(function* () {
    const found = new Map<string, FoundTicket>()
    for (let first = 0; ; first += STRIDE) {
      const pages = { firstSlot: first, slots: PAGE_MAX, firstPlace: first, places: PAGE_MAX }
      const { held, slotPage, waiting, waitingPage } = yield* snapshot(pages)
      slotPage.forEach(({ since, state, ticket }, i) => {
        if (ticket.startsWith(hash)) found.set(ticket, { campaign, ticket, state, row: first + i, since })
      })
      waitingPage.forEach(({ acceptedAt, ticket }, i) => {
        const row = first + i
        // a caller whose start is in doubt waits and has a slot; the slot was seen first
        if (ticket.startsWith(hash) && !found.has(ticket))
          found.set(ticket, { campaign, ticket, state: "waiting", row, since: acceptedAt })
      })
      if (found.size > MAX_FOUND || first + PAGE_MAX >= Math.max(held, waiting)) return [...found.values()]
    }
  })
