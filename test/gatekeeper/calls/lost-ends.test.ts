/** Which attempts to report the end of a session this gate names as lost, and how every other gate can. */

import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { EndAttempt } from "../../../src/fifo-queue/inputs.ts"
import { commonAttempt, LostEnds, layer, RETRY_MILLIS } from "../../../src/gatekeeper/calls/LostEnds.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"

const away = new StoreUnavailable({ message: "The store is away." })
const unasked = new StoreUnavailable({ message: "The store is away.", unasked: true })

const IDS = ["web-1", "conversation-1"]
const COMMON = commonAttempt(IDS)

/** The attempts that reached the store, and what it does with the next ones. */
const makeStore = () => {
  const seen: Array<EndAttempt & { readonly ids: ReadonlyArray<string> }> = []
  const state = { answer: Effect.succeed("released") as Effect.Effect<string, StoreUnavailable> }
  return {
    seen,
    state,
    end: (attempt: EndAttempt, ids: ReadonlyArray<string>) =>
      Effect.andThen(
        Effect.sync(() => seen.push({ ...attempt, ids })),
        state.answer,
      ),
  }
}

describe("an end whose answer is lost", () => {
  it.effect("is named by the repeat, which is an attempt of its own, until one is answered", () =>
    Effect.gen(function* () {
      const { carryOut } = yield* LostEnds
      const { end, seen, state } = makeStore()
      state.answer = Effect.fail(away)
      yield* Effect.flip(carryOut(IDS, false, end))
      yield* Effect.flip(carryOut(IDS.toReversed(), false, end))
      state.answer = Effect.succeed("again")
      expect(yield* carryOut(IDS, false, end)).toBe("again")
      yield* carryOut(IDS, false, end)
      const [first = "", second = "", third = "", fourth = ""] = seen.map(({ attempt }) => attempt)
      expect(new Set([first, second, third, fourth]).size).toBe(4)
      expect(seen.map(({ lost }) => lost)).toEqual([[COMMON], [COMMON, first], [COMMON, second, first], [COMMON]])
    }).pipe(Effect.provide(layer)),
  )

  it.effect(
    "is replaced by one that every gate can name and that ends nothing, tried each second until it is answered",
    () =>
      Effect.gen(function* () {
        const { carryOut } = yield* LostEnds
        const { end, seen, state } = makeStore()
        state.answer = Effect.fail(away)
        yield* Effect.flip(carryOut(IDS, false, end))
        const first = seen[0]?.attempt ?? ""
        yield* TestClock.adjust(RETRY_MILLIS)
        state.answer = Effect.succeed("again")
        yield* TestClock.adjust(10 * RETRY_MILLIS)
        expect(seen.slice(1)).toEqual(Array.from({ length: 2 }, () => ({ attempt: COMMON, lost: [first], ids: [] })))
        // it may have been carried out late
        yield* carryOut(IDS, false, end)
        expect(seen.at(-1)?.lost).toEqual([COMMON, first])
      }).pipe(Effect.provide(layer)),
  )

  it.effect("an end whose request was given up is one whose answer is lost, too", () =>
    Effect.gen(function* () {
      const { carryOut } = yield* LostEnds
      const { end, seen, state } = makeStore()
      state.answer = Effect.never
      const request = yield* Effect.forkChild(carryOut(IDS, false, end), { startImmediately: true })
      yield* Fiber.interrupt(request)
      state.answer = Effect.succeed("again")
      yield* carryOut(IDS, false, end)
      expect(seen.at(-1)?.lost).toEqual([COMMON, seen[0]?.attempt])
    }).pipe(Effect.provide(layer)),
  )

  it.effect(
    "an end for which the store was never asked is not one whose answer is lost, unless it was asked for another campaign",
    () =>
      Effect.gen(function* () {
        const { carryOut } = yield* LostEnds
        const { end, seen, state } = makeStore()
        state.answer = Effect.fail(unasked)
        yield* Effect.flip(carryOut(IDS, false, end))
        yield* TestClock.adjust(2 * RETRY_MILLIS)
        expect(seen.length).toBe(1)
        yield* Effect.flip(carryOut(IDS, true, end))
        yield* TestClock.adjust(RETRY_MILLIS)
        expect(seen.at(-1)).toEqual({ attempt: COMMON, lost: [seen[1]?.attempt], ids: [] })
      }).pipe(Effect.provide(layer)),
  )

  it.effect("is named by a bounded number of attempts, the newest ones, and other sessions by none of them", () =>
    Effect.gen(function* () {
      const { carryOut } = yield* LostEnds
      const { end, seen, state } = makeStore()
      state.answer = Effect.fail(away)
      for (let n = 0; n < 40; n++) yield* Effect.flip(carryOut(IDS, false, end))
      const newest = seen.slice(-16).map(({ attempt }) => attempt)
      yield* Effect.flip(carryOut(IDS, false, end))
      expect(seen.at(-1)?.lost).toEqual([COMMON, ...newest.toReversed()])
      yield* Effect.flip(carryOut(["web-2"], false, end))
      expect(seen.at(-1)?.lost).toEqual([commonAttempt(["web-2"])])
    }).pipe(Effect.provide(layer)),
  )
})
