/**
 * Finds tickets by the start of their hash, which the console, the audit log and the operator's log lines show, or by their caller, among
 * the slots and the waiting tickets. The store has no index of hashes, because it would lead from a hash to a ticket's id, so campaigns are read
 * page by page.
 *
 * What operators can spend of the store is bounded: no step reads more than a page, one search reads at most `PAGES_PER_SEARCH` pages
 * and says where to go on, and all searches of an instance read at most `PAGES_PER_WINDOW` pages in `WINDOW_MILLIS`. When those are
 * used up, a search ends where it is.
 */

import { Clock, Effect } from "effect"
import { SUBJECT_PREFIX } from "../caller-names/rules/subject-name.ts"
import type { Pages } from "../fifo-queue/inputs.ts"
import { type CampaignSnapshot, PAGE_MAX } from "../fifo-queue/operator/OperatorQueue.ts"
import { makeWindows } from "../lib/windows.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Found, FoundTicket } from "./shapes.ts"

const MAX_FOUND = 20
export const PAGES_PER_SEARCH = 25
/** Limit of pages that all searches of an instance read in a window, and its length (ms). */
export const PAGES_PER_WINDOW = 100
export const WINDOW_MILLIS = 5_000
/** Pages overlap, because rows move forward while they are read. */
const STRIDE = PAGE_MAX - 20

/** The start of a ticket's hash. */
export const HASH = /^[0-9a-f]{4,10}$/

/** What is searched for: the start of a hash, or the names that a caller may have (`CallerNames`). */
export type Sought = { readonly hash: string } | { readonly callers: ReadonlyArray<string> }

interface Row {
  readonly ticket: string
  readonly address?: string | undefined
  readonly subject?: string | undefined
}

const isSought = (sought: Sought, { address, subject, ticket }: Row): boolean =>
  "hash" in sought
    ? ticket.startsWith(sought.hash)
    : sought.callers.includes(subject === undefined ? (address ?? "") : SUBJECT_PREFIX + subject)

/** Where a search continues: the first row of the next page of a campaign. */
export interface SearchPosition {
  readonly campaign: string
  readonly first: number
}

const POSITION = /^(\d{1,9}) (.{1,256})$/su

/** The position of a text that a search has returned; undefined for another text. */
export const positionOf = (text: string): SearchPosition | undefined => {
  const [, first, campaign] = POSITION.exec(text) ?? []
  return first === undefined || campaign === undefined ? undefined : { campaign, first: Number(first) }
}

/** Takes one page from the budget of this instance; false when it is used up. */
export type TakePage = Effect.Effect<boolean>

export const makePageBudget = (): TakePage => {
  const pages = makeWindows(WINDOW_MILLIS, 1)
  return Effect.map(Clock.currentTimeMillis, (now) => pages.add("all", now) <= PAGES_PER_WINDOW)
}

/** What a ticket waits for, if that is a budget: of its caller, or of the campaign or its account, whichever has more again later. */
const awaitedOf = ({
  budgets,
  resumesAt,
}: {
  readonly budgets?: CampaignSnapshot["budgets"]
  readonly resumesAt?: number | undefined
}): Pick<FoundTicket, "budgets" | "resumesAt"> => ({
  ...(resumesAt === undefined ? {} : { resumesAt }),
  ...(budgets === undefined ? {} : { budgets }),
})

/** The tickets of a page that are sought. A caller whose start is in doubt waits and has a slot, and is found in the slot. */
const matches = (
  campaign: string,
  sought: Sought,
  first: number,
  { budgets, resumesAt, slotPage, waitingPage }: CampaignSnapshot,
): ReadonlyArray<FoundTicket> => [
  ...waitingPage.flatMap((row, i) => {
    if (!isSought(sought, row)) return []
    const { acceptedAt, position, ticket } = row
    return [
      {
        ...{ campaign, ticket, state: "waiting" as const, row: first + i, since: acceptedAt },
        ...(position === undefined ? {} : { position }),
        ...awaitedOf((resumesAt ?? 0) >= (row.resumesAt ?? 0) ? { budgets, resumesAt } : row),
      },
    ]
  }),
  ...slotPage.flatMap((row, i) =>
    isSought(sought, row) ? [{ campaign, ticket: row.ticket, state: row.state, row: first + i, since: row.since }] : [],
  ),
]

/**
 * Searches the campaigns in order, from a position or from the start.
 *
 * @param snapshot reads a page of a campaign
 */
export const search = Effect.fnUntraced(function* <C extends { readonly name: string }, R>(
  campaigns: ReadonlyArray<C>,
  sought: Sought,
  from: SearchPosition | undefined,
  takePage: TakePage,
  snapshot: (campaign: C, pages: Pages) => Effect.Effect<CampaignSnapshot, StoreUnavailable, R>,
): Effect.fn.Return<Found, StoreUnavailable, R> {
  const found = new Map<string, FoundTicket>()
  const listed = () => [...found.values()].slice(0, MAX_FOUND)
  // a campaign that a reload has removed since ends the search
  let at = from === undefined ? 0 : campaigns.findIndex(({ name }) => name === from.campaign)
  let first = from?.first ?? 0
  for (let pages = 0; ; pages++) {
    const campaign = campaigns[at]
    if (campaign === undefined) return { found: listed(), more: false }
    if (pages === PAGES_PER_SEARCH || !(yield* takePage)) {
      return { found: listed(), more: false, next: `${first} ${campaign.name}` }
    }
    const page = yield* snapshot(campaign, { firstSlot: first, slots: PAGE_MAX, firstPlace: first, places: PAGE_MAX })
    for (const ticket of matches(campaign.name, sought, first, page)) {
      const key = `${ticket.campaign} ${ticket.ticket}`
      // the slot was seen first
      if (ticket.state !== "waiting" || !found.has(key)) found.set(key, ticket)
    }
    if (found.size > MAX_FOUND) return { found: listed(), more: true }
    const isLast = first + PAGE_MAX >= Math.max(page.held, page.waiting)
    at += isLast ? 1 : 0
    first = isLast ? 0 : first + STRIDE
  }
})
