/** Calls that began with an offer, of two gates on one store. */

import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { FAKE_SDP_OFFER, makeFakeOpenAI } from "../../../src/platform-api/openai/fake.ts"
import { Sideband } from "../../../src/platform-api/shared/sideband.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { BEGIN } from "../../support/gate.ts"
import { layerOf, settle } from "../adapters/rig.ts"
import { callsIn, type Fake, tokenOf } from "./relay-rig.ts"

describe("two gates on one store", () => {
  interface Two {
    readonly fake: Fake
    readonly first: Gatekeeper["Service"]
    readonly second: Gatekeeper["Service"]
    readonly stopFirst: Effect.Effect<void>
    readonly pass: (minutes: number) => Effect.Effect<void>
  }
  const twoGates = (
    name: string,
    body: (two: Two) => Effect.Effect<void, unknown>,
    Queue: Readonly<Record<string, unknown>> = {},
  ): void => {
    it.effect(name, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const fake = makeFakeOpenAI()
        const step = Effect.andThen(TestClock.adjust("5 seconds"), settle)
        const store = Layer.succeed(Store, Context.get(yield* Layer.build(memory.layer), Store))
        const gate = Layer.fresh(layerOf(fake.settings, { Queue }, store))
        const scope = Scope.makeUnsafe()
        const built = Effect.map(
          Effect.all([Layer.buildWithScope(gate, scope), Layer.build(gate)]),
          (gates): Two => ({
            fake,
            first: Context.get(gates[0], Gatekeeper),
            second: Context.get(gates[1], Gatekeeper),
            stopFirst: Scope.close(scope, Exit.void),
            pass: (minutes) => Effect.asVoid(Effect.repeat(step, { times: Math.round(minutes * 12) - 1 })),
          }),
        )
        yield* Effect.flatMap(built, body).pipe(
          Effect.provideService(FetchHttpClient.Fetch, fake.fetch),
          Effect.provideService(Sideband, fake.sideband),
        )
        yield* Scope.close(scope, Exit.void)
      }).pipe(Effect.scoped),
    )
  }
  const from = { address: "203.0.113.1" }

  twoGates("let an offer be made once, at either", ({ fake, first, second }) =>
    Effect.gen(function* () {
      const started = yield* first.request({}, from)
      const results = yield* Effect.forEach(
        [first, second, first, second],
        (gate) => Effect.result(gate.relay(started.uniqueRequestId, tokenOf(started), FAKE_SDP_OFFER)),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        results.filter(({ _tag }) => _tag === "Success"),
        1,
      )
      assert.lengthOf(callsIn(fake), 1)
      assert.strictEqual((yield* first.status(started.uniqueRequestId)).state, "live")
    }),
  )

  twoGates("take a call over from each other: its end is noticed", ({ fake, first, pass, second, stopFirst }) =>
    Effect.gen(function* () {
      const started = yield* first.request({}, from)
      const { callId = "" } = yield* first.relay(started.uniqueRequestId, tokenOf(started), FAKE_SDP_OFFER)
      yield* pass(0.2)
      assert.strictEqual(fake.sidebands(), 1)
      yield* stopFirst
      yield* settle
      assert.strictEqual(fake.sidebands(), 0)
      yield* pass(5)
      assert.strictEqual(fake.sidebands(), 1)
      assert.strictEqual((yield* second.status(started.uniqueRequestId)).state, "live")
      fake.hangUp(callId)
      yield* pass(0.2)
      assert.strictEqual((yield* second.status(started.uniqueRequestId)).state, "ended")
    }),
  )

  twoGates(
    "take a call over from each other: it is hung up at the longest call",
    ({ fake, first, pass, stopFirst }) =>
      Effect.gen(function* () {
        const started = yield* first.request({}, from)
        const { callId = "" } = yield* first.relay(started.uniqueRequestId, tokenOf(started), FAKE_SDP_OFFER)
        yield* stopFirst
        yield* pass(8.9)
        assert.isTrue(fake.isRunning(callId))
        yield* pass(0.3)
        assert.isFalse(fake.isRunning(callId))
      }),
    { MaxCallMinutes: 10 },
  )

  twoGates("two gates on one store that both watch a call free its slot once", ({ fake, first, pass, second }) =>
    Effect.gen(function* () {
      const started = yield* first.request({}, from)
      const { callId = "" } = yield* first.relay(started.uniqueRequestId, tokenOf(started), FAKE_SDP_OFFER)
      for (const address of ["203.0.113.2", "203.0.113.3"]) yield* Effect.flip(second.request({}, { address }))
      yield* pass(8)
      fake.hangUp(callId)
      yield* pass(0.2)
      assert.strictEqual((yield* second.status(started.uniqueRequestId)).state, "ended")
      assert.isAtMost(fake.sidebands(), 2)
    }),
  )
})
