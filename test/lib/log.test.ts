/** The log format: what every line contains, and that no value can start a new line. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { formatFor, layer } from "../../src/lib/log.ts"
import { formatLine } from "../../src/lib/log-line.ts"
import { recorder } from "../support/span-recorder.ts"

const written = (form: "json" | "text", effect: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    yield* TestClock.setTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6))
    yield* Effect.provide(
      effect,
      layer((text) => lines.push(text), form),
    )
    return lines
  })

describe("a line of the log", () => {
  it.effect("is JSON with time, level, message, annotations, spans and cause", () =>
    Effect.gen(function* () {
      const [first = "", second = "", ...more] = yield* written(
        "json",
        Effect.gen(function* () {
          yield* Effect.logWarning("one", { two: 2 }).pipe(
            Effect.annotateLogs({ requestId: "r-1" }),
            Effect.withLogSpan("span"),
          )
          yield* Effect.catchCause(Effect.die(new Error("broken")), (cause) => Effect.logError("failed", cause))
        }),
      )
      assert.deepStrictEqual(more, [])
      const { message, spans, ...rest } = JSON.parse(first)
      assert.deepStrictEqual(rest, {
        time: "2026-01-02T03:04:05.006Z",
        level: "warn",
        annotations: { requestId: "r-1" },
      })
      assert.match(message, /^one .*two.*2/s)
      assert.deepStrictEqual(Object.keys(spans), ["span"])
      const failed = JSON.parse(second)
      assert.deepStrictEqual([failed.level, failed.message], ["error", "failed"])
      assert.include(failed.cause, "broken")
    }),
  )

  it.effect("names the span in which it is, where that is sent to a tracer", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recorder()
      const inside = Effect.withSpan(Effect.logInfo("hello"), "one")
      const notSampled = Effect.withSpan(Effect.logInfo("hello"), "two", { sampled: false })
      const [sent = "", dropped = ""] = yield* written("json", Effect.andThen(inside, notSampled)).pipe(
        Effect.provideService(Tracer.Tracer, tracer),
      )
      const { trace_id, span_id } = JSON.parse(sent)
      assert.deepStrictEqual([trace_id, span_id], [spans[0]?.traceId, spans[0]?.spanId])
      assert.notInclude(dropped, "trace_id")
      const [untraced = ""] = yield* written("json", inside)
      assert.notInclude(untraced, "span_id")
    }),
  )

  it.effect("is readable text with a time on a terminal", () =>
    Effect.gen(function* () {
      const [text = ""] = yield* written(
        "text",
        Effect.annotateLogs(Effect.logInfo("hello"), { requestId: "r-1", words: "a b" }),
      )
      assert.match(text, /^2026-01-02T03:04:05\.006Z INFO {2}hello annotations=.*r-1.*\n$/)
    }),
  )

  it("contains no character that ends it or controls a terminal", () => {
    const words = "a\nb\r\u0085c\u2028d\u2029e\u001b[2Kf\u009b"
    const json = formatLine("json", "t", "info", words, { annotations: { words } })
    assert.notMatch(json.slice(0, -1), /[\p{Cc}\u2028\u2029]/u)
    assert.strictEqual(JSON.parse(json).message, words)
    assert.notMatch(formatLine("text", "t", "info", words, {}).slice(0, -1), /(?!\n)[\p{Cc}\u2028\u2029]/u)
  })

  it("is JSON unless the stream is a terminal", () => {
    assert.strictEqual(formatFor({}), "json")
    assert.strictEqual(formatFor({ isTTY: false }), "json")
    assert.strictEqual(formatFor({ isTTY: true }), "text")
  })
})
