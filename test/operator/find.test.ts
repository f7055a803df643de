/** The search of tickets by hash: what it finds, and what operators can spend of the store with it. */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Pages } from "../../src/fifo-queue/inputs.ts"
import { type CampaignSnapshot, PAGE_MAX } from "../../src/fifo-queue/operator/OperatorQueue.ts"
import {
  makePageBudget,
  PAGES_PER_SEARCH,
  PAGES_PER_WINDOW,
  positionOf,
  search,
  WINDOW_MILLIS,
} from "../../src/operator/find.ts"
import { EMPTY_VIEW } from "../support/queue-view.ts"

/** Campaigns with so many waiting tickets, whose hash is their number; counts the pages and rows that are read. */
const world = (sizes: Readonly<Record<string, number>>) => {
  const read = { pages: 0, rows: 0 }
  const takePage = makePageBudget()
  const snapshot = (
    { name }: { readonly name: string },
    { firstPlace, places }: Pages,
  ): Effect.Effect<CampaignSnapshot> =>
    Effect.sync(() => {
      const waiting = sizes[name] ?? 0
      const count = Math.max(0, Math.min(places, waiting - firstPlace))
      read.pages++
      read.rows += count
      const waitingPage = Array.from({ length: count }, (_, i) => ({
        ticket: String(firstPlace + i).padStart(10, "0"),
        seq: firstPlace + i,
        acceptedAt: 1,
        presentUntil: 1,
      }))
      return { ...EMPTY_VIEW, waiting, held: 0, slotPage: [], waitingPage }
    })
  const find = (hash: string, from?: string) =>
    search(
      Object.keys(sizes).map((name) => ({ name })),
      { hash },
      from === undefined ? undefined : positionOf(from),
      takePage,
      snapshot,
    )
  return { read, find }
}

describe("the search of a ticket", () => {
  it.effect("reads a bounded number of pages, and goes on where it ended until everything is read", () =>
    Effect.gen(function* () {
      const { find, read } = world({ default: 5_000, sales: 300 })
      const first = yield* find("0000000299")
      assert.deepStrictEqual(
        first.found.map(({ campaign, row }) => [campaign, row]),
        [["default", 299]],
      )
      assert.strictEqual(read.pages, PAGES_PER_SEARCH)
      assert.isAtMost(read.rows, PAGES_PER_SEARCH * PAGE_MAX)
      let { next } = first
      const more: Array<string> = []
      for (let searches = 1; next !== undefined; searches++) {
        assert.isBelow(searches, 4)
        const answer = yield* find("0000000299", next)
        more.push(...answer.found.map(({ campaign, row }) => `${campaign} ${row}`))
        next = answer.next
      }
      assert.deepStrictEqual(more, ["sales 299"])
    }),
  )

  it.effect("is refused further pages when an operator repeats it without end, until the next window", () =>
    Effect.gen(function* () {
      const { find, read } = world({ default: 100_000 })
      yield* Effect.forEach(Array.from({ length: 50 }), () => find("0000099999"), { concurrency: "unbounded" })
      assert.strictEqual(read.pages, PAGES_PER_WINDOW)
      // it says where to go on, although it has read nothing
      assert.deepStrictEqual(yield* find("0000099999", "4000 default"), {
        found: [],
        more: false,
        next: "4000 default",
      })
      assert.strictEqual(read.pages, PAGES_PER_WINDOW)
      yield* TestClock.adjust(WINDOW_MILLIS)
      yield* find("0000099999")
      assert.strictEqual(read.pages, PAGES_PER_WINDOW + PAGES_PER_SEARCH)
    }),
  )

  it.effect("ends as soon as there are more matches than are shown", () =>
    Effect.gen(function* () {
      const { find, read } = world({ default: 5_000 })
      const { found, more, next } = yield* find("0000")
      assert.deepStrictEqual([found.length, more, next, read.pages], [20, true, undefined, 1])
    }),
  )

  it.effect("ends when its campaign was removed meanwhile, and takes no position that it did not give", () =>
    Effect.gen(function* () {
      const { find } = world({ default: 10 })
      assert.deepStrictEqual(yield* find("0000000001", "80 gone"), { found: [], more: false })
      for (const wrong of ["", "default", "-1 default", "1e9 default", "80", "80 "]) {
        assert.isUndefined(positionOf(wrong), wrong)
      }
      assert.deepStrictEqual(positionOf("80 two words"), { campaign: "two words", first: 80 })
    }),
  )
})
