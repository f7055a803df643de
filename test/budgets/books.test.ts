/** The two books of a call, the campaign's and the caller's, where each is a step of its own, as on a Redis Cluster: what is lost of one of them. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type BudgetedCampaign, Budgets } from "../../src/budgets/Budgets.ts"
import { callerBook, campaignBook } from "../../src/budgets/keys.ts"
import * as budgets from "../../src/budgets/layer.ts"
import { holdName } from "../../src/fifo-queue/rules/shared/charges.ts"
import type { StoreUnavailable } from "../../src/protocol/refusals.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"
import { asOnCluster } from "../harness/one-slot.ts"
import { BEGIN, settingsLayer } from "../support/gate.ts"

const KEY = "business/campaign"
const CALLER = "ada"
const call = { ticket: "ticket", lease: "7", caller: CALLER }
const HOLD = holdName(call.ticket, call.lease)
const HOUR = 3_600_000

/** Drops every key that it is given. */
const drop: Rule<object, object, boolean> = {
  name: "test.drop",
  run: (db, [ledger = "", records = "", holds = ""], _now, _context, calls) =>
    calls.map(() => {
      for (const key of [ledger, records, holds]) db.del(key)
      return true
    }),
  lua: "return '[true]'",
  decode: Boolean,
  batch: false,
}

interface Rig {
  readonly at: BudgetedCampaign
  readonly budgets: Budgets["Service"]
  /** the step of this book fails, as when the gate dies before it */
  readonly fail: (book: ReadonlyArray<string> | undefined) => void
  readonly lose: (book: ReadonlyArray<string>) => Effect.Effect<unknown, StoreUnavailable>
  /** settled and held of the campaign's budget and of the caller's, in minutes */
  readonly amounts: Effect.Effect<Readonly<Record<string, string>>, StoreUnavailable>
}

const rigTest = (
  title: string,
  use: (rig: Rig) => Effect.Effect<unknown, unknown>,
  caps: { readonly team: number; readonly own: number; readonly per?: "day" } = { team: 10, own: 10 },
) =>
  it.effect(title, () => {
    let failing: string | undefined
    const apart = Layer.effect(
      Store,
      Effect.map(Store, (memory) => {
        const store = asOnCluster(memory)
        return { ...store, run: (rule, ask) => (ask.keys[1] === failing ? Effect.never : store.run(rule, ask)) }
      }),
    ).pipe(Layer.provide(memory.layer))
    const given = {
      VoiceAiPlatform: {
        Budgets: [
          { Name: "team", Of: "campaign", Unit: "minutes", Per: "hour", Cap: caps.team },
          { Name: "own", Of: "caller", Unit: "minutes", Per: caps.per ?? "hour", Cap: caps.own },
        ],
      },
    }
    const used = Effect.gen(function* () {
      const service = yield* Budgets
      const store = yield* Store
      const [campaign] = (yield* Settings).Campaigns
      const at = { campaign, key: KEY }
      yield* use({
        at,
        budgets: service,
        fail: (book) => {
          failing = book?.[1]
        },
        lose: (book) =>
          Effect.flatMap(store.now, (now) => store.run(drop, { keys: book, now, context: NO_CONTEXT, call: {} })),
        amounts: Effect.map(service.balances(at, CALLER), (all) =>
          Object.fromEntries(
            all.map(({ budget, held, overrun, settled }) => [
              budget.Name,
              `${settled} settled, ${held} held${overrun === 0 ? "" : `, ${overrun} over`}`,
            ]),
          ),
        ),
      })
    })
    const layer = budgets.layer.pipe(Layer.provideMerge(apart), Layer.provideMerge(settingsLayer(given)))
    return Effect.andThen(TestClock.setTime(BEGIN), Effect.provide(used, layer))
  })

describe("a call's two books", () => {
  rigTest("are both held at the start, and both charged at the end", ({ amounts, at, budgets }) =>
    Effect.gen(function* () {
      yield* budgets.hold(at, call)
      expect(yield* amounts).toEqual({ team: "0 settled, 1 held", own: "0 settled, 1 held" })
      for (const _ of [1, 2]) yield* budgets.settle(KEY, { hold: HOLD, seconds: 30, caller: CALLER })
      expect(yield* amounts).toEqual({ team: "0.5 settled, 0 held", own: "0.5 settled, 0 held" })
    }),
  )

  rigTest("are free when the gate died before it held the campaign's, and the start came to nothing", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      rig.fail(campaignBook(KEY))
      yield* Effect.timeoutOption(budgets.hold(at, call), "1 second").pipe(
        (held) => Effect.forkChild(held),
        Effect.andThen(TestClock.adjust("2 seconds")),
      )
      rig.fail(undefined)
      expect(yield* amounts).toEqual({ team: "0 settled, 0 held", own: "0 settled, 1 held" })
      yield* budgets.settle(KEY, { hold: HOLD, seconds: 0, doubt: true, caller: CALLER })
      expect(yield* amounts).toEqual({ team: "0 settled, 0 held", own: "0 settled, 0 held" })
      // the gate lives after all, and is late
      expect(yield* budgets.hold(at, call)).toEqual({ _tag: "over" })
      expect(yield* amounts).toEqual({ team: "0 settled, 0 held", own: "0 settled, 0 held" })
    }),
  )

  rigTest("are both charged in the hour in which the call began when both were lost", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      yield* TestClock.setTime(BEGIN + HOUR - 60_000)
      yield* budgets.hold(at, call)
      for (const book of [campaignBook(KEY), callerBook(CALLER)]) yield* rig.lose(book)
      yield* TestClock.setTime(BEGIN + HOUR - 1)
      yield* budgets.settle(KEY, { hold: HOLD, seconds: 50, caller: CALLER })
      expect(yield* amounts).toEqual({
        team: `${50 / 60} settled, 0 held`,
        own: `${50 / 60} settled, 0 held`,
      })
      const other = { ...call, lease: "8" }
      yield* TestClock.setTime(BEGIN + 2 * HOUR - 60_000)
      yield* budgets.hold(at, other)
      yield* rig.lose(campaignBook(KEY))
      yield* TestClock.setTime(BEGIN + 2 * HOUR + 60_000)
      yield* budgets.settle(KEY, { hold: holdName(other.ticket, other.lease), seconds: 120, caller: CALLER })
      expect(yield* amounts).toEqual({ team: "0 settled, 0 held", own: "0 settled, 0 held" })
    }),
  )

  rigTest(
    "of a running call keep what it has used when the caller's was lost, and what passes the cap is overrun",
    (rig) =>
      Effect.gen(function* () {
        const { amounts, at, budgets } = rig
        yield* budgets.hold(at, call)
        yield* rig.lose(callerBook(CALLER))
        yield* TestClock.adjust("31 seconds")
        const [due] = yield* budgets.due(at, 5_000)
        expect(due).toMatchObject({ hold: HOLD, seconds: 60 })
        if (due === undefined) return
        expect(yield* budgets.extend(at, due, BEGIN)).toMatchObject({ _tag: "held", seconds: 90, last: true })
        // the caller has 30 s more, and no more
        expect(yield* amounts).toEqual({ team: "0 settled, 1.5 held", own: "0 settled, 1.5 held" })
        yield* rig.lose(callerBook(CALLER))
        yield* budgets.settle(KEY, { hold: HOLD, seconds: 100, caller: CALLER })
        expect(yield* amounts).toEqual({
          team: `${100 / 60} settled, 0 held`,
          own: `${100 / 60} settled, 0 held, ${10 / 60} over`,
        })
      }),
    { team: 10, own: 1.5 },
  )

  rigTest("that are old are forgotten without keeping a running call waiting for its time", (rig) =>
    Effect.gen(function* () {
      const { at, budgets } = rig
      for (let n = 0; n < 250; n++) {
        yield* budgets.settle(KEY, { hold: `old-${n}`, seconds: 0, caller: CALLER })
      }
      // they are forgotten after two days
      yield* TestClock.adjust("48 hours")
      yield* budgets.hold(at, call)
      yield* TestClock.adjust("31 seconds")
      expect(yield* budgets.due(at, 5_000)).toMatchObject([{ hold: HOLD }])
    }),
  )

  rigTest("are corrected by a report that came before the charge, once, also when the gate died meanwhile", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      const charge = { hold: HOLD, seconds: 60, caller: CALLER, sessions: ["s1", "s2"] }
      yield* budgets.hold(at, call)
      for (const _ of [1, 2]) yield* budgets.correct(at, ["s2"], { seconds: 120 })
      yield* budgets.correct(at, ["not ours"], { seconds: 600 })
      expect(yield* amounts).toEqual({ team: "0 settled, 1 held", own: "0 settled, 1 held" })
      // the gate dies when it has charged the campaign
      rig.fail(callerBook(CALLER))
      yield* Effect.forkChild(Effect.timeoutOption(budgets.settle(KEY, charge), "1 second"))
      yield* TestClock.adjust("2 seconds")
      rig.fail(undefined)
      expect(yield* amounts).toEqual({ team: "1 settled, 0 held", own: "0 settled, 1 held" })
      const corrected = { team: "2 settled, 0 held", own: "2 settled, 0 held" }
      for (const _ of [1, 2]) {
        yield* budgets.settle(KEY, charge)
        expect(yield* amounts).toEqual(corrected)
      }
      yield* budgets.correct(at, ["s1"], { seconds: 120 })
      expect(yield* amounts).toEqual(corrected)
    }),
  )

  rigTest("are both corrected by a report that came when only the campaign's was charged", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      const charge = { hold: HOLD, seconds: 60, caller: CALLER, sessions: ["s1"] }
      yield* budgets.hold(at, call)
      rig.fail(callerBook(CALLER))
      yield* Effect.forkChild(Effect.timeoutOption(budgets.settle(KEY, charge), "1 second"))
      yield* TestClock.adjust("2 seconds")
      rig.fail(undefined)
      yield* budgets.correct(at, ["s1"], { seconds: 120 })
      expect(yield* amounts).toEqual({ team: "2 settled, 0 held", own: "0 settled, 1 held" })
      for (const _ of [1, 2]) yield* budgets.settle(KEY, charge)
      expect(yield* amounts).toEqual({ team: "2 settled, 0 held", own: "2 settled, 0 held" })
    }),
  )

  const OWN = { team: 100, own: 30, per: "day" } as const
  rigTest(
    "give back when they expire what is held for a caller whose campaign has lost it, however many calls that were",
    (rig) =>
      Effect.gen(function* () {
        const { at, budgets } = rig
        for (let n = 0; n < 30; n++) yield* budgets.hold(at, { ...call, lease: String(n) })
        const check = Effect.match(budgets.check(at, CALLER), {
          onFailure: ({ _tag }): string => _tag,
          onSuccess: () => "may call",
        })
        expect(yield* check).toBe("BudgetExhausted")
        // a failover of the campaign's node
        yield* rig.lose(campaignBook(KEY))
        yield* TestClock.adjust("1 hour")
        expect(yield* check).toBe("BudgetExhausted")
        yield* TestClock.adjust("5 hours")
        expect(yield* check).toBe("may call")
      }),
    OWN,
  )

  rigTest(
    "show no time as held that has been lost and has expired",
    (rig) =>
      Effect.gen(function* () {
        const { amounts, at, budgets } = rig
        yield* budgets.hold(at, call)
        yield* rig.lose(campaignBook(KEY))
        expect(yield* amounts).toEqual({ team: "0 settled, 0 held", own: "0 settled, 1 held" })
        yield* TestClock.adjust("6 hours")
        expect(yield* amounts).toEqual({ team: "0 settled, 0 held", own: "0 settled, 0 held" })
      }),
    OWN,
  )

  rigTest("keep a bounded number of reports of calls that are not the gate's, and the newest", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      yield* budgets.hold(at, call)
      yield* budgets.correct(at, ["s1"], { seconds: 120 })
      for (let n = 0; n < 1_000; n++) {
        yield* TestClock.adjust("1 milli")
        yield* budgets.correct(at, [`other-${n}`], { seconds: 600 })
      }
      yield* budgets.settle(KEY, { hold: HOLD, seconds: 60, caller: CALLER, sessions: ["s1", "other-999"] })
      // the oldest one of its own has gone, and another one is not of this call in truth, but shows that it is kept
      expect(yield* amounts).toEqual({ team: "10 settled, 0 held", own: "10 settled, 0 held" })
    }),
  )

  rigTest("are adjusted once by an id, also when it is repeated in the next window", (rig) =>
    Effect.gen(function* () {
      const { at, budgets } = rig
      const adjusted = (window: "present" | "next") =>
        Effect.map(budgets.adjust(at, "team", { by: 5, id: "top-up-1" }), (made) => [
          window,
          made?.result,
          made?.balance.adjusted,
        ])
      expect(yield* budgets.wasAdjusted(at, "team", { id: "top-up-1" })).toBe(false)
      expect(yield* adjusted("present")).toEqual(["present", "made", 5])
      expect(yield* adjusted("present")).toEqual(["present", "again", 5])
      yield* TestClock.adjust("1 hour")
      expect(yield* budgets.wasAdjusted(at, "team", { id: "top-up-1" })).toBe(true)
      expect(yield* adjusted("next")).toEqual(["next", "again", 0])
      expect((yield* budgets.adjust(at, "team", { by: 5, id: "top-up-2" }))?.result).toBe("made")
      // also of an earlier window
      for (const id of ["top-up-1", "top-up-2"])
        expect(yield* budgets.adjust(at, "team", { by: 4, id })).toMatchObject({
          result: "other",
          balance: { adjusted: 5 },
        })
      // it is forgotten two days after its window
      yield* TestClock.adjust("49 hours")
      yield* budgets.hold(at, call)
      expect(yield* budgets.wasAdjusted(at, "team", { id: "top-up-1" })).toBe(false)
    }),
  )

  rigTest("count a call on when its campaign is removed, as far as they have something left", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      yield* budgets.hold(at, call)
      yield* TestClock.adjust("31 seconds")
      const [due] = yield* budgets.due(at, 5_000)
      if (due === undefined) throw new Error("nothing is due")
      yield* budgets.countOn(KEY, due, BEGIN)
      expect(yield* amounts).toEqual({
        team: "0 settled, 1.5166666666666666 held",
        own: "0 settled, 1.5166666666666666 held",
      })
    }),
  )

  rigTest("are corrected once by each report of the vendor, also when an earlier one comes again", (rig) =>
    Effect.gen(function* () {
      const { amounts, at, budgets } = rig
      yield* budgets.hold(at, call)
      yield* budgets.settle(KEY, { hold: HOLD, seconds: 60, caller: CALLER, sessions: ["s1"] })
      yield* budgets.correct(at, ["s1"], { seconds: 61 })
      yield* budgets.correct(at, ["s1"], { seconds: 120 })
      const corrected = { team: "2 settled, 0 held", own: "2 settled, 0 held" }
      expect(yield* amounts).toEqual(corrected)
      yield* budgets.correct(at, ["s1"], { seconds: 61 })
      expect(yield* amounts).toEqual(corrected)
    }),
  )
})
