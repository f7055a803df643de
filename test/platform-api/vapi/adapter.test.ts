/** What is Vapi's alone: what a start says of control and of waiting for the caller, and what the page's SDK gets. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { initiate, subjectOf, vendorTest } from "../adapters/rig.ts"

const vapi = subjectOf("vapi", makeFakeVapi)

describe("a call of Vapi", () => {
  vendorTest("is one that the gate can end, and waits for its caller as long as the start window", vapi, (world) =>
    Effect.gen(function* () {
      yield* initiate()
      assert.deepInclude(Object(world.fake.requests[0]?.body).assistantOverrides, {
        customerJoinTimeoutSeconds: 20,
        monitorPlan: { controlEnabled: true, controlAuthenticationEnabled: false },
      })
    }),
  )

  vendorTest(
    "waits a minute for its caller at most, which is Vapi's limit",
    vapi,
    (world) =>
      Effect.gen(function* () {
        yield* initiate()
        assert.deepInclude(Object(world.fake.requests[0]?.body).assistantOverrides, { customerJoinTimeoutSeconds: 60 })
      }),
    {},
    { StartWindowSeconds: 120 },
  )

  vendorTest("gives the page what its SDK reads to join, and nothing else of the assistant", vapi, () =>
    Effect.gen(function* () {
      const { credential } = yield* initiate()
      assert.deepStrictEqual(credential?.details, {
        id: "call-1",
        transport: { callToken: "token-call-1" },
        artifactPlan: { videoRecordingEnabled: true },
        assistant: { voice: { provider: "tavus" } },
      })
    }),
  )

  for (const status of ["ended", "not-found", "deletion-failed"]) {
    vendorTest(`a call of Vapi whose state is ${status} is over`, vapi, (world) =>
      Effect.gen(function* () {
        yield* initiate()
        world.fake.failNext({ status: 200, body: { id: "call-1", status } })
        const state = yield* PlatformApi.use((api) => api.sessionStatus("default", "call-1"))
        assert.strictEqual(state.status, "over")
      }),
    )
  }
})
