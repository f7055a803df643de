/** An agent of Pipecat Cloud that starts cold needs longer than another vendor's start. */
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { makeFakePipecat } from "../../../src/platform-api/pipecat/fake.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { ask, subjectOf, vendorTest } from "../adapters/rig.ts"

const SECOND = 1 / 60

describe("a start that is not answered", () => {
  vendorTest(
    "is waited for 25 s at Pipecat Cloud, and keeps its place afterwards",
    subjectOf("pipecat", makeFakePipecat),
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext("silent")
        const start = yield* Effect.forkScoped(Effect.flip(ask(1)))
        yield* world.pass(20 * SECOND)
        assert.isUndefined(start.pollUnsafe(), "a start may take 25 s")
        yield* world.pass(10 * SECOND)
        const refused = yield* Fiber.join(start)
        if (refused._tag !== "Queued") throw new Error(`Expected a place, got ${refused._tag}`)
        const { state } = yield* Gatekeeper.use((gate) => gate.status(refused.uniqueRequestId))
        assert.include(["waiting", "called"], state)
      }),
  )

  vendorTest("is waited for 15 s elsewhere", subjectOf("ultravox", makeFakeUltravox), (world) =>
    Effect.gen(function* () {
      world.fake.failNext("silent")
      const start = yield* Effect.forkScoped(Effect.flip(ask(1)))
      yield* world.pass(20 * SECOND)
      assert.isDefined(start.pollUnsafe())
    }),
  )
})
