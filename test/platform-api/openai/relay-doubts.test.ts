/** Offers that may have begun a call: their slots, and what becomes of them. */
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { FAKE_SDP_OFFER } from "../../../src/platform-api/openai/fake.ts"
import { ask, stateOf, waits } from "../adapters/rig.ts"
import { begins, callsIn, fails, hangUpsIn, offer, relayed } from "./relay-rig.ts"

describe("an offer that may have begun a call", () => {
  for (const [what, trouble] of [
    ["whose answer is lost", "lost"],
    ["whose answer is no SDP and names no call", { status: 201, body: "<html>" }],
    ["that ends as 500", { status: 500, body: "<html>" }],
  ] as const) {
    relayed(
      `an offer ${what} is sent once, holds its slot for five minutes, and its caller keeps the place`,
      ({ fake, pass }) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          const behind = yield* waits(2)
          fake.failNext(trouble)
          assert.strictEqual(yield* fails(started), "agent_unavailable")
          assert.strictEqual(yield* fails(started), "credential_used")
          // both pages ask for their state, so that they keep their places
          for (let asked = 0; asked < 19; asked++) {
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "waiting", `${asked}`)
            assert.strictEqual(yield* stateOf(behind.uniqueRequestId), "waiting", `${asked}`)
            yield* pass(0.25)
          }
          assert.lengthOf(callsIn(fake), 1)
          for (let asked = 0; asked < 2; asked++) {
            yield* stateOf(started.uniqueRequestId)
            yield* stateOf(behind.uniqueRequestId)
            yield* pass(0.25)
          }
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "called")
        }),
    )
  }

  /** OpenAI's own error, as its API documents it. */
  const failed = { error: { message: "The server had an error", type: "server_error", param: null, code: null } }
  for (const [what, trouble] of [
    ["which OpenAI itself says has failed", { status: 500, body: failed }],
    ["whose answer is no SDP", { status: 201, body: "<html>", headers: { location: "/v1/realtime/calls/rtc_9" } }],
    ["that ends as 502", { status: 502, body: "<html>", headers: { location: "/v1/realtime/calls/rtc_9" } }],
  ] as const) {
    relayed(
      `an offer ${what} holds no slot: its caller is called again, and a call that was named is hung up`,
      ({ fake, pass }) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          fake.failNext(trouble)
          assert.strictEqual(yield* fails(started), "agent_unavailable")
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "waiting")
          assert.deepStrictEqual(
            hangUpsIn(fake).map(({ path }) => path),
            "headers" in trouble ? ["/v1/realtime/calls/rtc_9/hangup"] : [],
          )
          assert.lengthOf(callsIn(fake), 1)
          yield* pass(0.05)
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "called")
        }),
    )
  }

  relayed(
    "an offer that may have begun a call and whose call is named, but cannot be hung up, holds its slot",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const down = { status: 502, body: "<html>" }
        fake.failNext({ ...down, headers: { location: "/v1/realtime/calls/rtc_9" } }, down, down)
        assert.strictEqual(yield* fails(started), "agent_unavailable")
        assert.lengthOf(hangUpsIn(fake), 2)
        yield* pass(0.25)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "waiting")
      }),
  )

  relayed(
    "counts as an open call of its sender, also of one that leaves: with a limit of three an address holds three such slots at once, and twenty an hour",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const hold = Effect.gen(function* () {
          const started = yield* ask(1)
          fake.failNext({ status: 500, body: "<html>" })
          assert.strictEqual(yield* fails(started), "agent_unavailable")
          yield* gate.leave(started.uniqueRequestId)
        })
        for (const many of [3, 3, 3, 3, 3, 3, 2]) {
          for (let n = 0; n < many; n++) yield* hold
          assert.strictEqual((yield* Effect.flip(ask(1)))._tag, "RateLimited")
          // others are served meanwhile, and nothing is given back when the slots are free again
          fake.hangUp(yield* begins(yield* ask(2)))
          yield* pass(5.5)
        }
        assert.strictEqual((yield* Effect.flip(ask(1)))._tag, "RateLimited")
      }),
    { MaxConcurrency: 4 },
    {},
    "realtime",
    { Security: { RateLimitConcurrency: 3 } },
  )

  relayed(
    "an offer that may have begun a call but is never answered is given up after its time limit",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        fake.failNext("silent")
        const page = yield* Effect.forkChild(fails(started))
        yield* pass(0.5)
        assert.strictEqual(yield* Fiber.join(page), "agent_unavailable")
        assert.lengthOf(callsIn(fake), 1)
      }),
  )

  relayed("the call of an offer whose page left meanwhile is ended", ({ fake, pass }) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      // the end is reported by the session that had not begun
      yield* gate.sessionEnded([started.sessionId])
      assert.strictEqual(yield* fails(started), "TicketOver")
      const other = yield* ask(2)
      fake.failNext({ status: 201, body: FAKE_SDP_OFFER, headers: { location: "/v1/realtime/calls/rtc_5" } })
      yield* gate.sessionEnded(["rtc_5"])
      assert.deepInclude(yield* Effect.flip(offer(other)), { _tag: "PlatformUnavailable" })
      yield* pass(0.1)
      assert.deepStrictEqual(
        hangUpsIn(fake).map(({ path }) => path),
        ["/v1/realtime/calls/rtc_5/hangup"],
      )
    }),
  )

  relayed(
    "an offer that may have begun a call without a name holds its slot until no call can last longer",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        fake.failNext({ status: 201, body: FAKE_SDP_OFFER })
        assert.isUndefined((yield* offer(started)).callId)
        yield* gate.leave(started.uniqueRequestId)
        yield* pass(59)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        yield* pass(3)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    {},
    { MaxCallMinutes: 90 },
  )
})
