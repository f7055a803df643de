/** What a vendor's own settings and figures mean for the gate: what `check` says of them, and how many slots they give. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { PlatformApi } from "../../../src/PlatformApi.ts"
import { makeFakeDaily } from "../../../src/testing/vendors/FakeDaily.ts"
import { makeFakeElevenLabs } from "../../../src/testing/vendors/FakeElevenLabs.ts"
import { makeFakeRetell } from "../../../src/testing/vendors/FakeRetell.ts"
import { makeFakeUltravox } from "../../../src/testing/vendors/FakeUltravox.ts"
import { ask, subjectOf, vendorTest } from "./rig.ts"

const elevenlabs = subjectOf("elevenlabs", makeFakeElevenLabs)
const daily = subjectOf("daily", makeFakeDaily)
const retell = subjectOf("retell", makeFakeRetell)
const ultravox = subjectOf("ultravox", makeFakeUltravox)

/** What `check` finds in the vendor's settings. */
const broken = Effect.map(
  PlatformApi.use((api) => api.verify("default")),
  (findings) => findings.filter(({ subject }) => subject === "vendor's settings"),
)

describe("the check of a vendor's own settings", () => {
  vendorTest("finds nothing in settings that break no promise", elevenlabs, (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* broken, [])
      const platform_settings = { queueing_config: { enabled: false }, call_limits: { agent_concurrency_limit: -1 } }
      world.fake.failNext({ status: 200, body: { agent_id: "agent_fake", platform_settings } })
      assert.deepStrictEqual(yield* broken, [])
    }),
  )

  vendorTest(
    "says that ElevenLabs queues callers itself, and takes fewer than the campaign has slots",
    elevenlabs,
    (world) =>
      Effect.gen(function* () {
        const platform_settings = { queueing_config: { enabled: true }, call_limits: { agent_concurrency_limit: 2 } }
        world.fake.failNext({ status: 200, body: { agent_id: "agent_fake", platform_settings } })
        const [queue, limit, ...others] = yield* broken
        assert.deepInclude(queue, { state: "failed" })
        assert.include(queue?.detail, "queueing_config.enabled")
        assert.include(limit?.detail, "MaxConcurrency: The agent takes 2 conversations at once")
        assert.lengthOf(others, 0)
      }),
    { MaxConcurrency: 5 },
  )

  vendorTest("says that Daily has switched the webhook off, or has none", daily, (world) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* broken, [])
      const url = "https://gate.example/api/webhook/daily"
      for (const [webhooks, said] of [
        [[{ url, state: "FAILED", eventTypes: ["meeting.started", "meeting.ended"] }], "has switched the webhook"],
        [[{ url, state: "ACTIVE", eventTypes: ["meeting.started"] }], "does not report meeting.ended"],
        [[{ url: "https://other.example/hook", state: "ACTIVE" }], "has no webhook that goes to"],
        [[], "has no webhook that goes to"],
      ] as const) {
        world.fake.failNext({ status: 200, body: {} }, { status: 200, body: webhooks })
        const [found] = yield* broken
        assert.include(found?.detail, said)
      }
    }),
  )

  vendorTest("says what it could not read", daily, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 200, body: {} }, { status: 403, body: { info: "no" } })
      assert.deepInclude((yield* broken)[0], { state: "not_checked" })
    }),
  )
})

describe("a vendor's figures of its calls", () => {
  vendorTest("without a hard cap leave the limit to the vendor's refusals, and callers are called", ultravox, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 200, body: { activeCalls: 3, allowedConcurrentCalls: null } })
      const { limit } = yield* PlatformApi.use((api) => api.concurrency("default"))
      assert.strictEqual(limit, Number.POSITIVE_INFINITY)
    }),
  )

  vendorTest("of Retell are less those that are reserved for callers by telephone", retell, (world) =>
    Effect.gen(function* () {
      const figures = { current_concurrency: 1, concurrency_limit: 20, reserved_inbound_concurrency: 15 }
      world.fake.failNext({ status: 200, body: figures })
      assert.deepStrictEqual(yield* PlatformApi.use((api) => api.concurrency("default")), { limit: 5, inUse: 1 })
    }),
  )

  vendorTest("are in error_message where a vendor says there why a start was refused", retell, (world) =>
    Effect.gen(function* () {
      world.fake.failNext({ status: 402, body: { status: "error", error_message: "Concurrency limit reached" } })
      const error = yield* Effect.flip(ask(1))
      assert.strictEqual(error._tag, "Queued")
    }),
  )
})
