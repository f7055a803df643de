/** What the gate reads in a vendor's answers about its calls: whether somebody has opened one, how many run, and how many may run. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { makeFakeElevenLabs } from "../../../src/platform-api/elevenlabs/fake.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { ask, initiate, subjectOf, vendorTest, waits } from "./rig.ts"

const elevenlabs = subjectOf("elevenlabs", makeFakeElevenLabs)
const retell = subjectOf("retell", makeFakeRetell)
const ultravox = subjectOf("ultravox", makeFakeUltravox)
const vapi = subjectOf("vapi", makeFakeVapi)

/** Whether the vendor says that somebody has opened the session. */
const openedOf = (sessionId: string) =>
  Effect.map(
    PlatformApi.use((api) => api.sessionStatus("default", sessionId)),
    ({ opened, status }) => [status, opened],
  )

describe("whether somebody has opened a session", () => {
  vendorTest("is told by the state of Retell's call", retell, (world) =>
    Effect.gen(function* () {
      for (const [call_status, told] of [
        ["registered", ["running", false]],
        ["ongoing", ["running", true]],
        ["ended", ["over", true]],
        ["not_connected", ["over", false]],
      ] as const) {
        world.fake.failNext({ status: 200, body: { call_id: "call_1", call_status } })
        assert.deepStrictEqual(yield* openedOf("call_1"), [...told])
      }
    }),
  )

  vendorTest("is told by when Ultravox's call was joined", ultravox, (world) =>
    Effect.gen(function* () {
      for (const [fields, told] of [
        [{ joined: null, ended: null }, ["running", false]],
        [{ joined: "2026-11-26T12:00:00Z", ended: null }, ["running", true]],
        [{ joined: null, ended: "2026-11-26T12:00:00Z" }, ["over", false]],
        [{ ended: null }, ["running", undefined]],
      ] as const) {
        world.fake.failNext({ status: 200, body: { callId: "call_1", ...fields } })
        assert.deepStrictEqual(yield* openedOf("call_1"), [...told])
      }
    }),
  )
})

describe("a vendor's figures of its calls", () => {
  vendorTest(
    "a vendor's figures of its calls without a hard cap leave the limit to the vendor's refusals, and callers are called",
    ultravox,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext({ status: 200, body: { activeCalls: 3, allowedConcurrentCalls: null } })
        const { limit } = yield* PlatformApi.use((api) => api.concurrency("default"))
        assert.strictEqual(limit, Number.POSITIVE_INFINITY)
      }),
  )

  vendorTest(
    "Retell's figures of its calls are less those that are reserved for callers by telephone",
    retell,
    (world) =>
      Effect.gen(function* () {
        const figures = { current_concurrency: 1, concurrency_limit: 20, reserved_inbound_concurrency: 15 }
        world.fake.failNext({ status: 200, body: figures })
        assert.deepStrictEqual(yield* PlatformApi.use((api) => api.concurrency("default")), { limit: 5, inUse: 1 })
        // calls up to the burst limit cost more
        const burst = { concurrency_burst_enabled: true, concurrency_burst_limit: 60 }
        world.fake.failNext({ status: 200, body: { ...figures, ...burst } })
        assert.deepStrictEqual(yield* PlatformApi.use((api) => api.concurrency("default")), { limit: 5, inUse: 1 })
      }),
  )

  vendorTest("ElevenLabs' figures of its calls are the agent's own limit and its live count", elevenlabs, (world) =>
    Effect.gen(function* () {
      world.fake.setLimit(3)
      yield* ask(1)
      assert.deepStrictEqual(yield* PlatformApi.use((api) => api.concurrency("default")), { limit: 3, inUse: 1 })
      world.fake.setLimit(Number.POSITIVE_INFINITY)
      const { limit } = yield* PlatformApi.use((api) => api.concurrency("default"))
      assert.strictEqual(limit, Number.POSITIVE_INFINITY)
    }),
  )

  vendorTest("are in error_message where a vendor says there why a start was refused", retell, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 402, body: { status: "error", error_message: "Concurrency limit reached" } })
      const error = yield* Effect.flip(ask(1))
      assert.strictEqual(error._tag, "Queued")
    }),
  )

  vendorTest(
    "Vapi's figures of its calls are those of its answers to starts, and nobody needs to be refused after the first",
    vapi,
    (world) =>
      Effect.gen(function* () {
        world.fake.setLimit(2)
        yield* ask(1)
        yield* world.pass(0.5)
        yield* ask(2)
        const { length } = world.fake.requests
        yield* waits(3)
        assert.lengthOf(world.fake.requests, length, "Vapi is not asked for a call that it would refuse")
      }),
    { MaxConcurrency: undefined },
  )

  for (const told of ["10", null, -1, 0, 1e9, {}, [2]])
    vendorTest(
      `Vapi's figures of its calls that are ${JSON.stringify(told)} do not fail the start that has them`,
      vapi,
      (world) =>
        Effect.gen(function* () {
          const subscriptionLimits = { concurrencyBlocked: "no", concurrencyLimit: told }
          const call = { id: "call-1", webCallUrl: "https://vapi.daily.co/1", assistant: { voice: "clara" } }
          world.fake.failNext({ status: 201, body: { ...call, artifactPlan: [], subscriptionLimits } })
          const { credential, sessionIds } = yield* initiate()
          assert.deepStrictEqual(sessionIds, ["call-1"])
          assert.deepStrictEqual(credential?.details, { id: "call-1" })
          const { limit } = yield* PlatformApi.use((api) => api.concurrency("default"))
          assert.strictEqual(limit, told === 1e9 ? 1e9 : Number.POSITIVE_INFINITY)
        }),
      { MaxConcurrency: undefined },
    )

  vendorTest("a time in another shape at which Retell's token expires does not fail the start", retell, (world) =>
    Effect.gen(function* () {
      const call = { call_id: "call_1", access_token: "token-1", expires_at: "2026-11-27T02:00:00Z" }
      world.fake.failNext({ status: 201, body: call })
      assert.deepStrictEqual((yield* initiate()).sessionIds, ["call_1"])
    }),
  )

  vendorTest(
    "Vapi's figures of its calls are unknown until the first start, whose refusal keeps the place",
    vapi,
    (world) =>
      Effect.gen(function* () {
        world.fake.setLimit(0)
        yield* waits(1)
        assert.lengthOf(world.fake.requests, 1)
      }),
    { MaxConcurrency: undefined },
  )
})
