/** An offer of the page at the gate: forwarded with the key and the configuration, once, against the fake of OpenAI. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, type Result } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { FAKE_SDP_OFFER } from "../../../src/platform-api/openai/fake.ts"
import type { Started } from "../../../src/protocol/session-answers.ts"
import { BEGIN } from "../../support/gate.ts"
import { recorder } from "../../support/span-recorder.ts"
import { ask, settle, stateOf, waits } from "../adapters/rig.ts"
import { begins, callsIn, fails, hangUpsIn, KEY, offer, relayed, tokenOf } from "./relay-rig.ts"

describe("an offer", () => {
  relayed(
    "is forwarded with the key and the configuration, and the page gets the answer alone",
    ({ fake }) =>
      Effect.gen(function* () {
        const started = yield* ask(1, { dynamicVariables: { name: "Ada" } })
        assert.lengthOf(fake.requests, 0)
        assert.deepInclude(started.credential, {
          shape: "sdp-relay",
          platform: "openai",
          url: `https://gate.example/api/session/${started.uniqueRequestId}/relay`,
          expiresAt: new Date(BEGIN + 20_000).toISOString(),
        })
        // the SDK of OpenAI takes no other key in a browser
        assert.match(tokenOf(started), /^ek_/)
        const { answer, callId } = yield* offer(started)
        assert.match(answer, /^v=0\r\n.*answer to rtc_1/s)
        assert.strictEqual(callId, "rtc_1")
        const [call] = callsIn(fake)
        assert.deepStrictEqual(call?.body, {
          sdp: FAKE_SDP_OFFER,
          session: JSON.stringify({
            type: "realtime",
            model: "gpt-realtime",
            instructions: "Help.",
            audio: { output: { voice: "marin" } },
            prompt: { id: "pmpt_1", variables: { name: "Ada" } },
            tools: [],
          }),
        })
        assert.strictEqual(call?.headers.get("authorization"), `Bearer ${KEY}`)
        assert.notInclude(JSON.stringify([started, answer]), KEY)
        assert.notInclude(JSON.stringify(fake.requests), tokenOf(started))
      }),
    {
      OpenAI: {
        ApiKey: KEY,
        AgentId: "agent",
        Instructions: "Help.",
        Voice: "marin",
        PromptId: "pmpt_1",
        Session: '{"tools":[]}',
        GateUrl: "https://gate.example/",
      },
    },
  )

  relayed("names a path where the gate's address is not set", () =>
    Effect.gen(function* () {
      const { credential, uniqueRequestId } = yield* ask(1)
      assert.deepInclude(credential, { url: `/api/session/${uniqueRequestId}/relay` })
    }),
  )

  relayed("begins a call whose id is the session's from then on", ({ fake }) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const id = yield* begins(started)
      const { sessionId, state } = yield* gate.status(started.uniqueRequestId)
      assert.strictEqual(state, "live")
      assert.isTrue(sessionId?.startsWith(`${id}@`))
      assert.isTrue(yield* gate.sessionEnded([id]))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      assert.isTrue(fake.isRunning(id))
    }),
  )

  relayed("begins a call whose id is in no trace, also where a host records headers", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recorder()
      const id = yield* begins(yield* ask(1)).pipe(
        Effect.provideService(HttpClient.TracerHeaderFilter, () => true),
        Effect.withTracer(tracer),
      )
      const attributes = JSON.stringify(spans.map((span) => [...span.attributes]))
      assert.include(attributes, "http.response.header.location")
      assert.notInclude(attributes, id)
    }),
  )

  relayed("begins a call whose end may be reported by the first id too", () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const id = yield* begins(started)
      assert.isTrue(yield* gate.sessionEnded([started.sessionId]))
      assert.isFalse(yield* gate.sessionEnded([id]))
    }),
  )

  relayed("the call of an offer during which the end is reported is ended", ({ fake, pass }) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const held = Promise.withResolvers<void>()
      const slow: typeof globalThis.fetch = (...request) => held.promise.then(() => fake.fetch(...request))
      const page = yield* Effect.forkChild(
        Effect.provideService(Effect.flip(offer(started)), FetchHttpClient.Fetch, slow),
      )
      yield* settle
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "starting")
      assert.isFalse(yield* gate.sessionEnded([started.sessionId]))
      held.resolve()
      assert.deepInclude(yield* Fiber.join(page), { _tag: "PlatformUnavailable" })
      yield* pass(0.1)
      assert.lengthOf(callsIn(fake), 1)
      assert.lengthOf(hangUpsIn(fake), 1)
      assert.isFalse(fake.isRunning("rtc_1"))
    }),
  )

  relayed("the call of an offer whose caller leaves before the answer is hung up once it has begun", ({ fake, pass }) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const held = Promise.withResolvers<void>()
      const slow: typeof globalThis.fetch = (...request) => held.promise.then(() => fake.fetch(...request))
      const page = yield* Effect.forkChild(Effect.provideService(offer(started), FetchHttpClient.Fetch, slow))
      yield* settle
      yield* gate.leave(started.uniqueRequestId)
      held.resolve()
      yield* Fiber.join(page)
      assert.isTrue(fake.isRunning("rtc_1"))
      yield* pass(0.1)
      assert.isFalse(fake.isRunning("rtc_1"))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
    }),
  )

  relayed("is made once, however often and wherever it arrives at once", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const results: ReadonlyArray<Result.Result<unknown, { readonly _tag: string }>> = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.result(offer(started)),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        results.filter(({ _tag }) => _tag === "Success"),
        1,
      )
      assert.lengthOf(callsIn(fake), 1)
      assert.strictEqual(yield* fails(started), "credential_used")
      assert.lengthOf(callsIn(fake), 1)
    }),
  )

  relayed(
    "an offer with another token, of another ticket, or of nobody begins nothing and spends nothing",
    ({ fake }) =>
      Effect.gen(function* () {
        const [one, other] = [yield* ask(1), yield* ask(2)]
        const [a = "", b = "", time = ""] = tokenOf(one).split("_")
        for (const token of [
          "",
          "ek_",
          KEY,
          tokenOf(other),
          `${tokenOf(one)}x`,
          `${a}_${b}_${time}_${"A".repeat(32)}`,
        ]) {
          assert.strictEqual(yield* fails(one, token), "credential_refused", token)
        }
        // a token that says that it is valid for longer
        const longer = tokenOf(one).replace(time, String(Number(time) + 60))
        assert.strictEqual(yield* fails(one, longer), "credential_refused")
        assert.strictEqual((yield* Effect.flip(offer(one, tokenOf(one), "x".repeat(22))))._tag, "TicketUnknown")
        assert.lengthOf(fake.requests, 0)
        assert.strictEqual(yield* begins(one), "rtc_1")
        assert.strictEqual(yield* begins(other), "rtc_2")
      }),
    { MaxConcurrency: 2 },
  )

  relayed(
    "an offer that comes after the start window begins nothing, and the next caller is called",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const next = yield* waits(2)
        yield* pass(0.25)
        assert.strictEqual(yield* stateOf(next.uniqueRequestId), "waiting")
        yield* pass(0.25)
        assert.strictEqual(yield* fails(started), "TicketOver")
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "missed")
        assert.strictEqual(yield* stateOf(next.uniqueRequestId), "called")
        assert.lengthOf(callsIn(fake), 0)
      }),
  )

  relayed("an offer of a ticket that waits, is called or has left begins nothing", ({ fake }) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const { uniqueRequestId } = yield* waits(2)
      const waiting: Started = { ...started, uniqueRequestId }
      assert.strictEqual(yield* fails(waiting), "credential_used")
      yield* gate.leave(started.uniqueRequestId)
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      assert.strictEqual(yield* fails(started), "TicketOver")
      assert.strictEqual(yield* stateOf(uniqueRequestId), "called")
      assert.strictEqual(yield* fails(waiting), "credential_used")
      assert.lengthOf(fake.requests, 0)
    }),
  )
})
