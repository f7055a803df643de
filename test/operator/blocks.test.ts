/** Addresses that operators see and block: at every instance, for a time, in the audit log, and only those. */
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { limitKey } from "../../src/lib/ip/address.ts"
import { blockedName } from "../../src/operator/blocks.ts"
import { Operator } from "../../src/operator/Operator.ts"
import type { StoreUnavailable } from "../../src/protocol/refusals.ts"
import type { Store } from "../../src/store/Store.ts"
import { ask, makeWorld } from "../support/gate.ts"
import { makeStore, startGate } from "../support/gates.ts"

const given = {
  VoiceAiPlatform: { MaxConcurrency: 100 },
  Security: { ConsoleToken: "console-token-0123456789", RateLimitHourly: 0, RateLimitDaily: 0 },
}

/** An instance, and how it answers an address: `Started`, or the reason of a refusal. */
const instance = (store: Store["Service"], more: object = {}) =>
  Effect.map(startGate(makeWorld(), store, { ...given, ...more }), (gate) => ({
    answers: (address: string) =>
      gate.on(Effect.map(ask(address), (outcome) => (outcome._tag === "Blocked" ? outcome.reason : outcome._tag))),
    block: (address: string, until: number | undefined) =>
      gate.on(Operator.use((operator) => operator.block("me", address, until))),
    asking: gate.on(Operator.use((operator) => operator.asking)),
    found: (caller: string) =>
      gate.on(Operator.use((operator) => Effect.map(operator.find({ caller }), ({ found }) => found.length))),
    refused: Effect.map(
      gate.on(
        Operator.use((operator) => operator.view(undefined, { firstSlot: 0, slots: 0, firstPlace: 0, places: 0 }, 0)),
      ),
      (view) => (view?.refused ?? []).map(({ address, reason }) => [address, reason]),
    ),
    audit: Effect.map(
      gate.on(Operator.use((operator) => operator.auditLog(undefined, 0, 5))),
      (log) => log?.lines.map(({ action, target, who }) => `${who} ${action} ${target}`) ?? [],
    ),
  }))

const test = (name: string, body: Effect.Effect<void, StoreUnavailable, Scope.Scope>): void => {
  it.effect(name, () => Effect.scoped(body))
}

test(
  "a blocked address is refused at once where it was blocked and within seconds elsewhere, until its time has passed",
  Effect.gen(function* () {
    const store = yield* makeStore
    const one = yield* instance(store)
    const two = yield* instance(store)
    yield* TestClock.adjust("3 seconds")
    const until = (yield* store.now) + 20_000
    assert.strictEqual(yield* one.block("203.0.113.7", until), "done")
    assert.strictEqual(yield* one.answers("203.0.113.7"), "operator")
    assert.strictEqual(yield* one.answers("203.0.113.8"), "Started")
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(yield* two.answers("203.0.113.7"), "operator")
    // one that starts later knows it too
    const three = yield* instance(store)
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(yield* three.answers("203.0.113.7"), "operator")
    assert.deepStrictEqual(yield* two.audit, [`me block 203.0.113.7 until ${new Date(until).toISOString()}`])
    assert.deepStrictEqual((yield* two.refused).toSorted(), [
      ["203.0.113.7", "operator"],
      ["203.0.113.7", "operator"],
    ])
    yield* TestClock.adjust("20 seconds")
    for (const each of [one, two, three]) assert.strictEqual(yield* each.answers("203.0.113.7"), "Started")
    assert.deepStrictEqual((yield* one.asking).blocks, [])
  }),
)

test(
  "a network is blocked with all of its addresses, and served again when the block is lifted",
  Effect.gen(function* () {
    const gate = yield* instance(yield* makeStore)
    yield* TestClock.adjust("3 seconds")
    assert.strictEqual(yield* gate.block("8.8.8.0/24", 0), "done")
    assert.strictEqual(yield* gate.block("2001:470:1::/48", 0), "done")
    assert.strictEqual(yield* gate.block("2001:470:2:3::9", 0), "done")
    const answers = (...addresses: ReadonlyArray<string>) => Effect.forEach(addresses, gate.answers)
    assert.deepStrictEqual(
      yield* answers("8.8.8.8", "8.8.9.8", "2001:470:1:9::1", "2001:470:2:3::1", "2001:470:2:4::1"),
      [...["operator", "Started", "operator", "operator", "Started"]],
    )
    assert.strictEqual(yield* gate.block("8.8.8.0/24", undefined), "done")
    assert.strictEqual(yield* gate.block("8.8.8.0/24", undefined), "already")
    assert.strictEqual(yield* gate.answers("8.8.8.8"), "Started")
    assert.strictEqual(yield* gate.block("example.com", 0), "invalid")
  }),
)

test(
  "a caller is found by address, and those that ask most are listed with how often they were refused",
  Effect.gen(function* () {
    const gate = yield* instance(yield* makeStore)
    yield* TestClock.adjust("3 seconds")
    yield* gate.answers("203.0.113.7")
    yield* gate.answers("203.0.113.7")
    yield* gate.answers("203.0.113.8")
    yield* gate.block("203.0.113.7", 0)
    yield* gate.answers("203.0.113.7")
    assert.deepStrictEqual([yield* gate.found("203.0.113.7"), yield* gate.found("203.0.113.9")], [2, 0])
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual((yield* gate.asking).addresses, [
      { address: "203.0.113.7", requests: 3, refused: 1 },
      { address: "203.0.113.8", requests: 1, refused: 0 },
    ])
  }),
)

test(
  "hashed addresses are listed, found and blocked by their hashes, and none is stored",
  Effect.gen(function* () {
    const gate = yield* instance(yield* makeStore, { Privacy: { Addresses: "hashed" } })
    yield* TestClock.adjust("3 seconds")
    yield* gate.answers("203.0.113.7")
    yield* TestClock.adjust("2 seconds")
    const [first] = (yield* gate.asking).addresses
    const hash = first?.address ?? ""
    assert.match(hash, /^h[\w-]{16}$/)
    assert.strictEqual(yield* gate.found("203.0.113.7"), 1)
    assert.strictEqual(yield* gate.block(hash, 0), "done")
    assert.strictEqual(yield* gate.answers("203.0.113.7"), "operator")
    // the address itself may be given too, and is the same block
    assert.strictEqual(yield* gate.block("203.0.113.7", undefined), "done")
    assert.strictEqual(yield* gate.answers("203.0.113.7"), "Started")
    assert.notInclude(JSON.stringify([yield* gate.asking, yield* gate.audit, yield* gate.refused]), "203.0.113")
  }),
)

it("what can be blocked is an address or a network of the size that limits know", () => {
  const name = (given: string) => blockedName((key) => key, given)
  assert.deepStrictEqual(
    ["203.0.113.7", " 2001:db8::1 ", "8.8.8.8/24", "2001:470:1:2::/48", "2001:470:1:2::/64"].map(name),
    [...["203.0.113.7", limitKey("2001:db8::1"), "8.8.8.0/24", "2001:470:1::/48", "2001:470:1:2::/64"]],
  )
  // no network at all, of another size, or one that is not public
  for (const text of ["", "x", "8.8.8.8/16", "8.8.8.8/48", "2001:470::/24", "10.0.0.0/24", "0.0.0.0/0"])
    assert.isUndefined(name(text))
})
