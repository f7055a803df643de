/** What an admission answers is decoded by its schema. */
import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import { TakenAndAdmitted } from "../../src/admission/answers.ts"
import { stepAnswer } from "../../src/fifo-queue/answers.ts"

const decode = Schema.decodeUnknownExit(stepAnswer(TakenAndAdmitted))

const place = { _tag: "waiting" as const, position: 3, length: 3, averageMillis: 61_000, disrupted: true }

describe("a place in line as an answer", () => {
  it("is decoded unchanged, with what was noted and what keeps it from being called", () => {
    const hindered = { ...place, paused: true as const, pausedUntil: 9, slots: 1 }
    for (const result of [
      place,
      hindered,
      { ...place, near: { hour: true, day: false } },
      { ...place, shadow: "day" },
    ]) {
      assert.deepStrictEqual(decode({ result }), Exit.succeed({ result } as never))
    }
  })

  it("is refused without one of its fields", () => {
    for (const field of Object.keys(place)) {
      assert.isTrue(Exit.isFailure(decode({ result: { ...place, [field]: undefined } })), field)
    }
  })

  it("is refused with a field of another type", () => {
    for (const [field, value] of Object.entries(place)) {
      const wrong = typeof value === "number" ? Number.NaN : typeof value === "boolean" ? "true" : "elsewhere"
      for (const other of [wrong, null, `${String(value)}?`]) {
        assert.isTrue(Exit.isFailure(decode({ result: { ...place, [field]: other } })), `${field} ${other}`)
      }
    }
  })

  it("is refused where the answer is no step's", () => {
    for (const other of [undefined, null, "text", [], {}, { result: {} }, { result: place, signals: [{}] }]) {
      assert.isTrue(Exit.isFailure(decode(other)), JSON.stringify(other))
    }
  })
})
