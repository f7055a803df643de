/** `voicegate/testing`, used as an application's tests would use it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { AtCapacity, Gatekeeper, IpFacts, PlatformError } from "../../src/index.ts"
import { connect, FakeIpIntel, FakePlatform, hangUp, layerTest } from "../../src/testing/index.ts"

const from = (n: number) => ({ address: `203.0.113.${n}` })
const types = (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type)

/** Another caller takes the only slot; this one waits. */
const waiting = Effect.gen(function* () {
  const gate = yield* Gatekeeper
  const talking = yield* gate.request({}, from(1))
  const refusal = yield* Effect.flip(gate.request({}, from(2)))
  if (refusal._tag !== "Queued") return assert.fail(refusal._tag)
  return { gate, talking, ticket: refusal.uniqueRequestId, queuePosition: refusal.queuePosition }
})

describe("voicegate/testing", () => {
  it.effect("queues the second caller, and calls it when the first one hangs up", () =>
    Effect.gen(function* () {
      const { gate, queuePosition, talking, ticket } = yield* waiting
      assert.strictEqual(queuePosition, 1)
      const page = yield* connect(ticket)
      assert.isTrue(yield* hangUp(talking))
      assert.isFalse(yield* hangUp(talking))
      assert.deepStrictEqual(types(yield* page.events), ["position", "start_call"])
      const started = yield* gate.start(ticket)
      const sessions = yield* FakePlatform.use((platform) => platform.sessions)
      assert.deepStrictEqual(
        sessions.map(({ isRunning, webSocketUrl }) => ({ isRunning, webSocketUrl })),
        [
          { isRunning: false, webSocketUrl: talking.webSocketUrl },
          { isRunning: true, webSocketUrl: started.webSocketUrl },
        ],
      )
    }).pipe(Effect.provide(layerTest())),
  )

  it.effect("gives up the place of a page that is gone, by the test's clock", () =>
    Effect.gen(function* () {
      const { gate, ticket } = yield* waiting
      const page = yield* connect(ticket)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* gate.status(ticket)).state, "waiting")
      yield* page.disconnect
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* gate.status(ticket)).state, "abandoned")
    }).pipe(Effect.provide(layerTest({ Queue: { DisconnectGraceSeconds: 10 } }))),
  )

  it.effect("closes the connection of a ticket that is over", () =>
    Effect.gen(function* () {
      const { gate, ticket } = yield* waiting
      const page = yield* connect(ticket)
      yield* gate.leave(ticket)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(types(yield* page.events), ["position", "ended"])
      assert.strictEqual(yield* page.closedBecause, "over")
    }).pipe(Effect.provide(layerTest())),
  )

  it.effect("puts a caller into the queue when the platform is at capacity, and fails as it is told", () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const platform = yield* FakePlatform
      yield* platform.setLimit(1)
      yield* gate.request({}, from(1))
      assert.strictEqual((yield* Effect.flip(gate.request({}, from(2))))._tag, "Queued")
      yield* platform.setLimit(5)
      const reason = new AtCapacity({ message: "told to" })
      yield* platform.failNext(new PlatformError({ reason }))
      assert.strictEqual((yield* Effect.flip(gate.request({}, from(3))))._tag, "Queued")
    }).pipe(Effect.provide(layerTest({ VoiceAiPlatform: { MaxConcurrency: 5 } }))),
  )

  it.effect("refuses an address that the provider knows, and lets it pass while the provider is down", () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const intel = yield* FakeIpIntel
      yield* intel.know("203.0.113.1", { vpn: true })
      assert.strictEqual((yield* Effect.flip(gate.request({}, from(1))))._tag, "Blocked")
      yield* intel.setDown(true)
      assert.isString((yield* gate.request({}, from(1))).sessionId)
      assert.deepStrictEqual(yield* intel.lookups, ["203.0.113.1", "203.0.113.1"])
    }).pipe(Effect.provide(layerTest({ Security: { BlockVpn: true }, IpIntel: { OnError: "allow" } }))),
  )

  it.effect("names a wrong setting", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.scoped(Effect.provide(Gatekeeper, layerTest({ Queue: { MaxLength: -1 } }))),
      )
      assert.include(String(error), "Queue.MaxLength")
    }),
  )

  it("has facts that a test can name", () =>
    assert.includeMembers(Object.keys(IpFacts.fields), ["vpn", "proxy", "tor"]))
})
