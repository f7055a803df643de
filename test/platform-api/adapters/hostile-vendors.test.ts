/** Hostile and broken vendors: what a late, wrong or missing answer of theirs can do to the gate and its callers. */
import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { FetchHttpClient } from "effect/http"
import { makeFakeDaily } from "../../../src/platform-api/daily/fake.ts"
import { makeFakeGeneric } from "../../../src/platform-api/generic/fake.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { makeFakePipecat } from "../../../src/platform-api/pipecat/fake.ts"
import { CIRCUIT_FAILURES } from "../../../src/platform-api/requests/circuit.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { END_PATHS, initiate, stateOf, subjectOf, vendorTest, waits } from "./rig.ts"

const generic = subjectOf("generic", makeFakeGeneric)
const retell = subjectOf("retell", makeFakeRetell)
const vapi = subjectOf("vapi", makeFakeVapi)
const pipecat = subjectOf("pipecat", makeFakePipecat)
const daily = subjectOf("daily", makeFakeDaily)

const GENERIC = makeFakeGeneric(() => 0).settings.Generic

describe("a Daily room", () => {
  vendorTest(
    "a Daily room that is made slowly, and its token even more so, has started nothing",
    daily,
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const answered = [10_000, 10_000]
        const slow: typeof globalThis.fetch = (...request) =>
          Effect.runPromise(
            Effect.andThen(
              Effect.provideService(Effect.sleep(answered.shift() ?? 0), Clock.Clock, clock),
              Effect.promise(() => fake.fetch(...request)),
            ),
          )
        const clock = yield* Clock.Clock
        const caller = yield* Effect.forkChild(Effect.provideService(waits(1), FetchHttpClient.Fetch, slow))
        yield* pass(0.4)
        const { uniqueRequestId } = yield* Fiber.join(caller)
        assert.strictEqual(yield* stateOf(uniqueRequestId), "called")
      }),
  )
})

describe("a vendor's other host", () => {
  vendorTest(
    "a vendor's other host that cannot be reached stops no starts, and is not asked for a while",
    vapi,
    (world) =>
      Effect.gen(function* () {
        const end = PlatformApi.use((api) => api.end?.("default", { sessionIds: ["call-1"] }) ?? Effect.void)
        yield* initiate()
        world.refuse(END_PATHS, "unreachable")
        const calls = 2 * CIRCUIT_FAILURES
        const errors = yield* Effect.forEach(Array.from({ length: calls }), () => Effect.flip(end), {
          concurrency: "unbounded",
        })
        assert.deepInclude(errors.at(-1)?.reason, { _tag: "Unavailable" })
        const asked = world.refuse(END_PATHS, "unreachable")
        assert.deepInclude((yield* Effect.flip(end)).reason, { reason: "circuit_open" })
        assert.strictEqual(world.refuse(undefined), asked)
        assert.deepStrictEqual((yield* initiate()).sessionIds, ["call-2"])
      }),
  )
})

describe("a hostile vendor", () => {
  vendorTest(
    "a hostile vendor that gives a session of Pipecat an id with a path has not confirmed its start",
    pipecat,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext({ status: 200, body: { sessionId: "..", dailyRoom: "https://x.example", dailyToken: "t" } })
        const { reason } = yield* Effect.flip(initiate())
        assert.deepInclude(reason, { _tag: "Unavailable", reason: "malformed", mayHaveHappened: true })
      }),
  )

  vendorTest(
    "a hostile vendor whose room cannot be joined, because its token was refused, has started nothing",
    daily,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext(
          { status: 200, body: { url: "https://fake.daily.example/x" } },
          { status: 500, body: "<html>" },
        )
        const { reason } = yield* Effect.flip(initiate())
        assert.deepInclude(reason, { _tag: "Unavailable", reason: "server_error", mayHaveHappened: false })
      }),
  )

  vendorTest("cannot send the gate to another host to end a call", vapi, (world) =>
    Effect.gen(function* () {
      for (const controlUrl of [
        "http://169.254.169.254/latest/meta-data",
        "https://127.0.0.1:9200/_shutdown",
        "http://phone.vapi.ai/control",
        "https://vapi.ai.evil.example/control",
        "https://user:password@phone.vapi.ai/control",
        "file:///etc/passwd",
      ]) {
        world.fake.failNext({ status: 200, body: { id: "call-1", status: "in-progress", monitor: { controlUrl } } })
        const before = world.fake.requests.length
        const isOver = yield* PlatformApi.use((api) => api.end?.("default", { sessionIds: ["call-1"] }) ?? Effect.void)
        assert.isFalse(isOver, controlUrl)
        assert.lengthOf(world.fake.requests, before + 1, controlUrl)
      }
    }),
  )

  vendorTest(
    "a hostile vendor that repeats a key of the start's body does not bring it into a message",
    generic,
    (world) =>
      Effect.gen(function* () {
        world.fake.failNext({ status: 401, body: { message: "no such key: body-key-of-the-vendor" } })
        const { message } = yield* Effect.flip(initiate())
        assert.include(message, "no such key")
        assert.notInclude(message, "body-key-of-the-vendor")
        assert.include(JSON.stringify(world.fake.requests[0]?.body), "body-key-of-the-vendor")
      }),
    { Generic: { ...Object(GENERIC), StartBody: '{"key":"body-key-of-the-vendor"}' } },
  )

  for (const expires_at of [1e300, -1e300, 0]) {
    vendorTest(
      `a hostile vendor that names no possible time of expiry (${expires_at}) fails no start`,
      retell,
      (world) =>
        Effect.gen(function* () {
          world.fake.failNext({ status: 201, body: { call_id: "call_1", access_token: "token", expires_at } })
          const { credential, sessionIds } = yield* initiate()
          assert.deepStrictEqual(sessionIds, ["call_1"])
          assert.strictEqual(credential?.shape, "token")
        }),
    )
  }

  for (const id of ["\ud800", "..", ".", "a b", "x".repeat(257), "\u0000"]) {
    vendorTest(
      `a hostile vendor that gives a session the id ${JSON.stringify(id).slice(0, 12)} has not confirmed its start`,
      retell,
      (world) =>
        Effect.gen(function* () {
          world.fake.failNext({ status: 201, body: { call_id: id, access_token: "token" } })
          const { reason } = yield* Effect.flip(initiate())
          assert.deepInclude(reason, { _tag: "Unavailable", reason: "malformed", mayHaveHappened: true })
        }),
    )
    vendorTest(
      `a hostile vendor without an adapter that gives the id ${JSON.stringify(id).slice(0, 12)} has not confirmed its start`,
      generic,
      (world) =>
        Effect.gen(function* () {
          world.fake.failNext({
            status: 200,
            body: { result: { id, address: "wss://vendor.example", token: "token" } },
          })
          const { reason } = yield* Effect.flip(initiate())
          assert.deepInclude(reason, { _tag: "Unavailable", reason: "malformed", mayHaveHappened: true })
        }),
    )
  }
})
