import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { signalOf } from "../../src/queue/replies.ts"
import { KEY_COUNT, keysOf } from "../../src/queue/step.ts"

/** What Redis Cluster hashes: the text between the first brace and the next closing one, when there is any. */
const hashed = (key: string): string => /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key

const campaign = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1 }),
  fc.string({ unit: fc.constantFrom("{", "}", ":", "%", "a", "/"), minLength: 1 }),
)

describe("the keys of a campaign", () => {
  it("are all different, in one hash slot, whatever its name", () => {
    fc.assert(
      fc.property(campaign, (name) => {
        const keys = keysOf(name)
        assert.strictEqual(new Set(keys).size, KEY_COUNT)
        assert.strictEqual(new Set(keys.map(hashed)).size, 1)
      }),
    )
  })

  it("are no other campaign's", () => {
    fc.assert(
      fc.property(campaign, campaign, (one, other) => {
        fc.pre(one !== other)
        assert.lengthOf(new Set([...keysOf(one), ...keysOf(other)]), 2 * KEY_COUNT)
      }),
    )
  })
})

describe("a signal", () => {
  it("is read as it was written", () => {
    assert.deepStrictEqual(signalOf("t", "called", "1700000000000 7"), {
      ticket: "t",
      kind: { _tag: "called", startBefore: 1_700_000_000_000, lease: "7" },
    })
    assert.deepStrictEqual(signalOf("t", "ended", "R"), { ticket: "t", kind: { _tag: "ended", state: "reclaimed" } })
  })

  it("with a state or a time that nobody knows is a fault", () => {
    assert.throws(() => signalOf("t", "ended", "?"), TypeError)
    assert.throws(() => signalOf("t", "called", "soon 7"), TypeError)
  })
})
