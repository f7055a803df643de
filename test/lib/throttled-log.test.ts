/** Throttled logs: at most one line a minute, and nothing that is left out goes uncounted. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { countedEachMinute, onceAMinute } from "../../src/lib/throttled-log.ts"

describe("A log once a minute", () => {
  it.effect("writes the first line at once, and the next one after a minute with the number that was left out", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const log = onceAMinute<string>((what, more) => Effect.sync(() => lines.push(`${what} +${more}`)))
      yield* log("a")
      yield* log("b")
      yield* log("c")
      assert.deepStrictEqual(lines, ["a +0"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines, ["a +0"])
      yield* log("d")
      assert.deepStrictEqual(lines, ["a +0", "d +2"])
    }),
  )

  it.effect("writes a line when the clock was set back to before the last one", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const log = onceAMinute<string>((what) => Effect.sync(() => lines.push(what)))
      yield* TestClock.setTime(3_600_000)
      yield* log("a")
      yield* TestClock.setTime(0)
      yield* log("b")
      assert.deepStrictEqual(lines, ["a", "b"])
    }),
  )
})

describe("A log that counts each minute", () => {
  const counting = Effect.gen(function* () {
    const lines: Array<string> = []
    const line = (text: string) => Effect.sync(() => void lines.push(text))
    const log = yield* countedEachMinute<string, string>({
      first: (kind, what) => line(`${kind} first ${what}`),
      more: (kind, count, last) => line(`${kind} more ${count}, last ${last}`),
      over: (kind) => line(`${kind} over`),
    })
    return { lines, note: (kind: string, what: string) => log(kind, what) ?? Effect.void }
  })

  it.effect("writes the count by itself while it goes on, and that it is over after a minute without any", () =>
    Effect.gen(function* () {
      const { lines, note } = yield* counting
      yield* note("a", "1")
      yield* note("a", "2")
      yield* note("a", "3")
      assert.deepStrictEqual(lines, ["a first 1"])
      yield* TestClock.adjust("1 minute")
      yield* note("a", "4")
      yield* TestClock.adjust("1 minute")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines, ["a first 1", "a more 2, last 3", "a more 1, last 4", "a over"])
      yield* note("a", "5")
      assert.strictEqual(lines.at(-1), "a first 5")
    }).pipe(Effect.scoped),
  )

  it.effect("counts each kind apart", () =>
    Effect.gen(function* () {
      const { lines, note } = yield* counting
      yield* note("a", "1")
      yield* note("b", "2")
      yield* note("b", "3")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines, ["a first 1", "b first 2", "a over", "b more 1, last 3"])
    }).pipe(Effect.scoped),
  )
})
