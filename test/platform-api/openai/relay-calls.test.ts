/** Calls that began with an offer: watched, ended and hung up. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { type OpenSideband, Sideband } from "../../../src/platform-api/shared/sideband.ts"
import { ask, stateOf, waits } from "../adapters/rig.ts"
import { begins, hangUpsIn, relayed } from "./relay-rig.ts"

describe("a call", () => {
  relayed("a call that is over is noticed within seconds, and its slot is freed once", ({ fake, pass }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const id = yield* begins(started)
      yield* pass(0.1)
      assert.strictEqual(fake.sidebands(), 1)
      const next = yield* waits(2)
      yield* waits(3)
      fake.hangUp(id)
      yield* pass(0.1)
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      assert.strictEqual(yield* stateOf(next.uniqueRequestId), "called")
      assert.isFalse(yield* Gatekeeper.use((gate) => gate.sessionEnded([id])))
      assert.strictEqual(fake.sidebands(), 0)
    }),
  )

  relayed("a call whose connection breaks goes on, and is watched again", ({ fake, pass }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const id = yield* begins(started)
      for (let n = 0; n < 3; n++) {
        yield* pass(0.6)
        fake.dropSidebands()
        fake.refuseSidebands(503)
        yield* pass(0.2)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        fake.refuseSidebands(undefined)
        yield* pass(0.6)
        assert.strictEqual(fake.sidebands(), 1)
      }
      assert.isTrue(fake.isRunning(id))
      assert.lengthOf(hangUpsIn(fake), 0)
    }),
  )

  relayed("a call that is unknown from its beginning on keeps its slot for now", ({ fake, pass }) =>
    Effect.gen(function* () {
      fake.refuseSidebands(404)
      const started = yield* ask(1)
      const id = yield* begins(started)
      yield* pass(1.5)
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      assert.isTrue(fake.isRunning(id))
      // what the audit takes for over is over
      yield* pass(4)
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      assert.isFalse(fake.isRunning(id))
    }),
  )

  relayed(
    "is hung up at the longest call, also when the first request to do so fails",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const id = yield* begins(started)
        yield* pass(4.4)
        assert.isTrue(fake.isRunning(id))
        // a read is tried twice
        fake.failNext({ status: 503 }, { status: 503 })
        yield* pass(0.6)
        assert.isFalse(fake.isRunning(id))
        assert.isAtLeast(hangUpsIn(fake).length, 3)
        assert.notStrictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
    {},
    { MaxCallMinutes: 5 },
  )

  relayed(
    "a call whose connections are refused is watched no longer than the longest call",
    ({ pass }) =>
      Effect.gen(function* () {
        let asked = 0
        const refusing: OpenSideband = () => {
          asked++
          return Effect.fail(403)
        }
        const started = yield* ask(1)
        yield* Effect.provideService(begins(started), Sideband, refusing)
        yield* pass(6)
        assert.isAbove(asked, 5)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
        const before = asked
        yield* pass(3)
        assert.strictEqual(asked, before)
      }),
    {},
    { MaxCallMinutes: 5 },
  )

  relayed("a call whose caller leaves is hung up, and the slot is free at once", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const id = yield* begins(started)
      yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
      assert.isFalse(fake.isRunning(id))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
    }),
  )
})
