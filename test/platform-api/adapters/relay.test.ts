/** `sdp-relay` credentials: the page's offer at the gate, and the calls that begin with it, against the fake of OpenAI. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, type Result, Scope } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/Gatekeeper.ts"
import { PlatformApi } from "../../../src/PlatformApi.ts"
import { type OpenSideband, Sideband } from "../../../src/platform-api/sideband.ts"
import type { Started } from "../../../src/Session.ts"
import { Store } from "../../../src/Store.ts"
import * as memory from "../../../src/store/memory.ts"
import { FAKE_SDP_OFFER, makeFakeOpenAI } from "../../../src/testing/vendors/FakeOpenAI.ts"
import type { VendorTrouble } from "../../../src/testing/vendors/fake-vendor.ts"
import { sessionConfig } from "../../platform/support.ts"
import { BEGIN } from "../../support/gate.ts"
import { recorder } from "../../support/span-recorder.ts"
import { ask, layerOf, type Subject, settle, stateOf, vendorTest, type World, waits } from "./rig.ts"

type Fake = ReturnType<typeof makeFakeOpenAI>

const KEY = "key-of-the-fake-openai"

const relayed = (
  name: string,
  body: (world: World & { readonly fake: Fake }) => ReturnType<Parameters<typeof vendorTest>[2]>,
  settings: Readonly<Record<string, unknown>> = {},
  queue: Readonly<Record<string, unknown>> = {},
  api: "realtime" | "live" = "realtime",
): void => {
  let fake = makeFakeOpenAI()
  const openai: Subject = {
    platform: "openai",
    fake: () => {
      fake = makeFakeOpenAI(undefined, api)
      return fake
    },
    shape: "sdp-relay",
    asksToStart: false,
    atCapacity: [],
    secrets: [KEY],
    noticedAfterMinutes: 0.1,
    lists: false,
    ends: true,
  }
  vendorTest(name, openai, (world) => body({ ...world, fake }), settings, queue)
}

const tokenOf = ({ credential }: Started): string => (credential?.shape === "sdp-relay" ? credential.token : "")

/** The page makes its offer. */
const offer = (started: Started, token = tokenOf(started), ticket = started.uniqueRequestId) =>
  Gatekeeper.use((gate) => gate.relay(ticket, token, FAKE_SDP_OFFER))

/** The page makes its offer, which begins a call; its id. */
const begins = (started: Started) => Effect.map(offer(started), ({ callId = "" }) => callId)

/** The page's offer fails; how. */
const fails = (started: Started, token?: string) =>
  Effect.map(Effect.flip(offer(started, token)), (error) => ("code" in error ? error.code : error._tag))

const callsIn = ({ requests }: Fake) => requests.filter(({ path }) => path === "/v1/realtime/calls")
const hangUpsIn = ({ requests }: Fake) => requests.filter(({ path }) => path.endsWith("/hangup"))

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

  relayed("during which the end is reported: the call is ended", ({ fake, pass }) =>
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
    "with another token, of another ticket, or of nobody begins nothing and spends nothing",
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

  relayed("that comes after the start window begins nothing, and the next caller is called", ({ fake, pass }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const next = yield* waits(2)
      yield* pass(0.25)
      assert.strictEqual(yield* stateOf(next.uniqueRequestId), "waiting")
      yield* pass(0.25)
      assert.strictEqual(yield* fails(started), "TicketOver")
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "missed")
      assert.strictEqual(yield* stateOf(next.uniqueRequestId), "called")
      assert.lengthOf(fake.requests, 0)
    }),
  )

  relayed("of a ticket that waits, is called or has left begins nothing", ({ fake }) =>
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

describe("the Live API", () => {
  relayed(
    "gets the offer as JSON, and its session is watched and hung up",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const { answer, callId = "" } = yield* offer(started)
        assert.match(answer, /^v=0\r\n.*answer to rtc_1/s)
        assert.deepStrictEqual(fake.requests[0]?.path, "/v1/live/sessions")
        assert.deepStrictEqual(fake.requests[0]?.body, {
          session: { model: "gpt-live-1", instructions: "Help the caller." },
          transport: { type: "webrtc", sdp: FAKE_SDP_OFFER },
        })
        yield* pass(0.1)
        assert.strictEqual(fake.sidebands(), 1)
        yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
        assert.isFalse(fake.isRunning(callId))
        assert.strictEqual(hangUpsIn(fake)[0]?.path, "/v1/live/sessions/rtc_1/hangup")
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    {},
    {},
    "live",
  )

  relayed(
    "without a session in its answer has begun a call that has no name",
    ({ fake }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        fake.failNext({ status: 201, body: { transport: { type: "webrtc", sdp: FAKE_SDP_OFFER } } })
        assert.deepStrictEqual(yield* offer(started), { answer: FAKE_SDP_OFFER, callId: undefined })
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
    {},
    {},
    "live",
  )
})

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
      `${what}: its caller is back at the head of the queue, and begins with another credential`,
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

  for (const [what, status, code, kind] of [
    ["the key", 401, "invalid_api_key", "rejected"],
    ["the model", 404, "model_not_found", "rejected"],
    ["the account, which has no credit", 429, "insufficient_quota", "rejected"],
    ["the offer", 400, "invalid_offer", "refused"],
  ] as const) {
    relayed(`for ${what}: that ticket alone ends, and the slot is free`, ({ fake }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        fake.failNext({ status, body: { error: { code, message: `no: ${KEY}` } } })
        assert.deepInclude(yield* Effect.flip(offer(started)), { _tag: "PlatformUnavailable", kind })
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "failed")
        assert.strictEqual(yield* begins(yield* ask(2)), "rtc_1")
      }),
    )
  }

  for (const api of ["realtime", "live"] as const) {
    relayed(
      `and quotes it: no message has a line of it, nor a part (${api})`,
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

  relayed("while it is down: its caller keeps the place", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      fake.failNext({ status: 503, body: "<html>" })
      assert.strictEqual(yield* fails(started), "agent_unavailable")
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "waiting")
    }),
  )

  relayed("with the caller's own words: all others are served", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1, { dynamicVariables: { words: "concurrent" } })
      fake.failNext({ status: 400, body: { error: { message: "bad variable: concurrent" } } })
      assert.deepInclude(yield* Effect.flip(offer(started)), { _tag: "PlatformUnavailable", kind: "refused" })
      assert.strictEqual(yield* begins(yield* ask(2)), "rtc_1")
    }),
  )
})

describe("an offer that may have begun a call", () => {
  for (const [what, trouble] of [
    ["whose answer is lost", "lost"],
    ["whose answer is no SDP", { status: 201, body: "<html>", headers: { location: "/v1/realtime/calls/rtc_9" } }],
    ["that ends as 500", { status: 500, body: "<html>" }],
  ] as const) {
    relayed(`${what} is sent once, holds its slot for five minutes, and its caller keeps the place`, ({ fake, pass }) =>
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

  relayed("but is never answered is given up after its time limit", ({ fake, pass }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      fake.failNext("silent")
      const page = yield* Effect.forkChild(fails(started))
      yield* pass(0.5)
      assert.strictEqual(yield* Fiber.join(page), "agent_unavailable")
      assert.lengthOf(callsIn(fake), 1)
    }),
  )

  relayed("whose page left meanwhile: the call is ended", ({ fake, pass }) =>
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
    "but has no name holds its slot until no call can last longer",
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

describe("a call", () => {
  relayed("that is over is noticed within seconds, and its slot is freed once", ({ fake, pass }) =>
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

  relayed("whose connection breaks goes on, and is watched again", ({ fake, pass }) =>
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

  relayed("that is unknown from its beginning on keeps its slot for now", ({ fake, pass }) =>
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
    "whose connections are refused is watched no longer than the longest call",
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

  relayed("whose caller leaves is hung up, and the slot is free at once", ({ fake }) =>
    Effect.gen(function* () {
      const started = yield* ask(1)
      const id = yield* begins(started)
      yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
      assert.isFalse(fake.isRunning(id))
      assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
    }),
  )
})

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

  twoGates("that both watch a call free its slot once", ({ fake, first, pass, second }) =>
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
