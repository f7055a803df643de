/** What the caller gets when OpenAI refuses an offer. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import type { VendorTrouble } from "../../../src/testing/FakeVendor.ts"
import { sessionConfig } from "../../platform/support.ts"
import { ask, stateOf, waits } from "../adapters/rig.ts"
import { begins, callsIn, fails, KEY, offer, relayed, tokenOf } from "./relay-rig.ts"

describe("OpenAI refuses an offer", () => {
  const concurrency: VendorTrouble = {
    status: 429,
    body: { error: { code: "rate_limit_exceeded", message: "Too many concurrent sessions" } },
  }
  const slowDown: VendorTrouble = {
    status: 429,
    body: { error: { code: "rate_limit_exceeded", message: "Rate limit reached" } },
    headers: { "retry-after": "3" },
  }

  for (const [what, trouble] of [
    ["at capacity", concurrency],
    ["because of the rate of requests", slowDown],
  ] as const) {
    relayed(
      `OpenAI refuses an offer ${what}: its caller is back at the head of the queue, and begins with another credential`,
      ({ fake, pass }) =>
        Effect.gen(function* () {
          const gate = yield* Gatekeeper
          const talking = yield* ask(1)
          const id = yield* begins(talking)
          const head = yield* ask(2)
          const behind = yield* waits(3)
          fake.failNext(trouble)
          assert.strictEqual(yield* fails(head), "agent_busy")
          assert.deepInclude(yield* gate.status(head.uniqueRequestId), { state: "waiting", queuePosition: 1 })
          assert.deepInclude(yield* gate.status(behind.uniqueRequestId), { state: "waiting", queuePosition: 2 })
          assert.strictEqual(yield* fails(head), "credential_used")
          assert.lengthOf(callsIn(fake), 2)
          fake.hangUp(id)
          yield* pass(0.2)
          assert.strictEqual(yield* stateOf(head.uniqueRequestId), "called")
          const again = yield* gate.start(head.uniqueRequestId)
          assert.notStrictEqual(tokenOf(again), tokenOf(head))
          assert.strictEqual(yield* fails(head), "credential_refused")
          assert.strictEqual(yield* begins(again), "rtc_2")
        }),
      { MaxConcurrency: 2 },
    )
  }

  for (const [what, status, code] of [
    ["the key", 401, "invalid_api_key"],
    ["the model", 404, "model_not_found"],
    ["the account, which has no credit", 429, "insufficient_quota"],
  ] as const) {
    relayed(
      `OpenAI refuses an offer because of ${what}, which the operator must mend: its caller keeps the place`,
      ({ fake }) =>
        Effect.gen(function* () {
          const gate = yield* Gatekeeper
          const started = yield* ask(1)
          fake.failNext({ status, body: { error: { code, message: `no: ${KEY}` } } })
          assert.strictEqual(yield* fails(started), "agent_unavailable")
          assert.deepInclude(yield* gate.status(started.uniqueRequestId), {
            state: "waiting",
            queuePosition: 1,
            disrupted: true,
          })
        }),
    )
  }

  relayed("OpenAI refuses an offer that is invalid: that ticket alone ends, and the slot is free", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      fake.failNext({ status: 400, body: { error: { code: "invalid_offer", message: `no: ${KEY}` } } })
      assert.deepInclude(yield* Effect.flip(offer(started)), { _tag: "PlatformUnavailable", kind: "refused" })
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "failed")
      assert.strictEqual(yield* begins(yield* ask(2)), "rtc_1")
    }),
  )

  for (const api of ["realtime", "live"] as const) {
    relayed(
      `OpenAI refuses an offer and quotes it: no message has a line of it, nor a part (${api})`,
      ({ fake }) =>
        Effect.gen(function* () {
          const lines = [
            "v=0",
            "a=ice-ufrag:Zx4q",
            "a=ice-pwd:qkJdpZWUqnLVvXzrZcaWzDMi",
            "a=candidate:1 1 udp 2122260223 192.168.17.42 51234 typ host",
            "a=fingerprint:sha-256 7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35",
          ]
          const sdp = lines.join("\r\n")
          for (const quoted of [
            sdp,
            sdp.slice(0, -9),
            JSON.stringify(sdp),
            `'192.168.17.42'.`,
            lines.slice(1).join(";"),
          ]) {
            for (const status of [400, 404, 422, 500]) {
              fake.failNext({
                status,
                body: { error: { code: "invalid_offer", message: `cannot parse line: ${quoted}` } },
              })
              const error = yield* Effect.flip(
                PlatformApi.use((platform) => platform.relay?.(sessionConfig(), sdp, "a") ?? Effect.die("no relay")),
              )
              assert.include(error.message, "cannot parse line: ")
              for (const part of ["qkJdpZWU", "192.168", "2122260223", "7B:8B:F0"])
                assert.notInclude(error.message, part)
            }
          }
        }),
      {},
      {},
      api,
    )
  }

  relayed("OpenAI refuses an offer while it is down: its caller keeps the place", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      fake.failNext({ status: 503, body: "<html>" })
      assert.strictEqual(yield* fails(started), "agent_unavailable")
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "waiting")
    }),
  )

  relayed("OpenAI refuses an offer in the caller's own words: all others are served", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1, { dynamicVariables: { words: "concurrent" } })
      fake.failNext({ status: 400, body: { error: { message: "bad variable: concurrent" } } })
      assert.deepInclude(yield* Effect.flip(offer(started)), { _tag: "PlatformUnavailable", kind: "refused" })
      assert.strictEqual(yield* begins(yield* ask(2)), "rtc_1")
    }),
  )
})
