import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { keysOf, quarantineKeyOf } from "../../src/fifo-queue/keys.ts"
import { QUEUE_KEY_COUNT, queueKeys } from "../../src/fifo-queue/rules/shared/keys.ts"
import { readSignal, type Signal } from "../../src/protocol/signals.ts"

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
        assert.strictEqual(new Set(keys).size, QUEUE_KEY_COUNT)
        assert.strictEqual(new Set(keys.map(hashed)).size, 1)
      }),
    )
  })

  it("are no other campaign's", () => {
    fc.assert(
      fc.property(campaign, campaign, (one, other) => {
        fc.pre(one !== other)
        // the last key is the account's
        const own = (name: string): ReadonlyArray<string> => keysOf(name).slice(0, -1)
        assert.lengthOf(new Set([...own(one), ...own(other)]), 2 * (QUEUE_KEY_COUNT - 1))
      }),
    )
  })

  it("are in the hash slot of its account, whose key all of its campaigns share", () => {
    const [one, other] = ["main/vendor/a", "main/vendor/b"].map(keysOf)
    assert.strictEqual(new Set([...(one ?? []), ...(other ?? [])].map(hashed)).size, 1)
    assert.strictEqual(one?.at(-1), "vg:2:{@main}:account")
    assert.strictEqual(other?.at(-1), one?.at(-1))
    // a campaign without an account never has the tag of one
    assert.notInclude(keysOf("@main").map(hashed), "@main")
  })

  it("have the same names in the rules", () => {
    const keys = keysOf("a")
    for (const [name, key] of Object.entries(queueKeys(keys))) assert.strictEqual(key, `vg:2:{a}:${name}`)
    assert.sameMembers(Object.values(queueKeys(keys)), [...keys])
    assert.strictEqual(quarantineKeyOf("a"), queueKeys(keys).quarantine)
  })
})

describe("a signal", () => {
  it("is read as it was written, whatever the order of its fields", () => {
    const signals: ReadonlyArray<Signal> = [
      { ticket: "t", kind: { _tag: "called", startBefore: 1_700_000_000_000, lease: "7" } },
      { ticket: "t", kind: { _tag: "ended", state: "reclaimed" } },
    ]
    for (const { kind, ticket } of signals) {
      assert.deepStrictEqual(readSignal(JSON.stringify({ ticket, kind })), { ticket, kind })
      assert.deepStrictEqual(readSignal(JSON.stringify({ kind, ticket })), { ticket, kind })
    }
  })

  it("a signal with an unknown state or time is not read", () => {
    for (const kind of [
      { _tag: "ended", state: "?" },
      { _tag: "ended", state: "waiting" },
      { _tag: "called", startBefore: "soon", lease: "7" },
      { _tag: "called", startBefore: 1_700_000_000_000 },
      { _tag: "renamed", state: "ended" },
    ]) {
      assert.isUndefined(readSignal(JSON.stringify({ ticket: "t", kind })))
    }
    for (const message of [
      "",
      "t ended E",
      "null",
      "[]",
      '{"ticket":"t"}',
      '{"kind":{"_tag":"ended","state":"ended"}}',
    ]) {
      assert.isUndefined(readSignal(message))
    }
  })
})
