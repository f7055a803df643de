/** The usual answer of an admission is checked by hand, and the schema says the same of it. */
import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import { admittedOf } from "../../src/fifo-queue/admitted.ts"
import { isPlainPlace, stepAnswer, takenAndAdmitted } from "../../src/fifo-queue/answers.ts"

const decode = Schema.decodeUnknownExit(stepAnswer(takenAndAdmitted))

const place = { _tag: "waiting" as const, position: 3, averageMillis: 61_000, disrupted: true as const }
const plain = { result: place }

describe("a place in line as an answer", () => {
  it("is accepted unchanged if the schema accepts it unchanged", () => {
    assert.isTrue(isPlainPlace(plain))
    assert.deepStrictEqual(decode(plain), Exit.succeed(plain))
  })

  it("is decoded by the schema otherwise", () => {
    const others: ReadonlyArray<unknown> = [
      undefined,
      null,
      "text",
      [],
      {},
      { result: {} },
      { ...plain, signals: [] },
      { ...plain, settlements: [] },
      { result: { ...place, near: { hour: true, day: false } } },
      { result: { ...place, shadow: "day" } },
      { result: { _tag: "refused", usage: {} } },
      { result: { _tag: "starting", lease: "1" } },
    ]
    for (const other of others) assert.isFalse(isPlainPlace(other), JSON.stringify(other))
  })

  it("is the last place, and says only what is not as usual", () => {
    const usual = { result: { _tag: "waiting" as const, position: 3 } }
    assert.isTrue(isPlainPlace(usual))
    assert.deepStrictEqual(decode(usual), Exit.succeed(usual))
    const paused = { _tag: "waiting" as const, position: 3, paused: true as const, pausedUntil: 9, slots: 1 }
    const full = { length: 3, averageMillis: 0, disrupted: false }
    assert.deepStrictEqual(admittedOf(usual.result), { ...usual.result, ...full })
    assert.deepStrictEqual(admittedOf(paused), { ...paused, ...full })
    assert.deepStrictEqual(admittedOf({ ...paused, ...place }), { ...paused, ...place, length: 3 })
  })

  for (const field of ["_tag", "position"]) {
    it(`is refused by both without ${field}`, () => {
      const broken = { result: { ...place, [field]: undefined } }
      assert.isFalse(isPlainPlace(broken))
      assert.isTrue(Exit.isFailure(decode(broken)))
    })
  }

  for (const [field, value] of Object.entries(place)) {
    const wrong = typeof value === "number" ? Number.NaN : typeof value === "boolean" ? false : "elsewhere"
    for (const other of [wrong, null, `${String(value)}?`]) {
      it(`is refused by both with ${field} ${other}`, () => {
        const broken = { result: { ...place, [field]: other } }
        assert.isFalse(isPlainPlace(broken))
        assert.isTrue(Exit.isFailure(decode(broken)))
      })
    }
  }
})
