/** Hostile callers and owners of campaigns: what they can do to another's call by a key, a room, the word of a page or their own words. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import type { VendorWebhook } from "../../../src/platform-api/adapter.ts"
import { makeFakeCartesia } from "../../../src/platform-api/cartesia/fake.ts"
import { makeFakeDaily } from "../../../src/platform-api/daily/fake.ts"
import { makeFakeDeepgram } from "../../../src/platform-api/deepgram/fake.ts"
import { makeFakeElevenLabs } from "../../../src/platform-api/elevenlabs/fake.ts"
import { makeFakeGeneric } from "../../../src/platform-api/generic/fake.ts"
import { makeFakeLiveKit } from "../../../src/platform-api/livekit/fake.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { hmacSha256 } from "../../../src/platform-api/shared/digests.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { ask, initiate, joined, stateOf, subjectOf, vendorTest, waits } from "./rig.ts"

const generic = subjectOf("generic", makeFakeGeneric)
const livekit = subjectOf("livekit", makeFakeLiveKit)
const retell = subjectOf("retell", makeFakeRetell)
const vapi = subjectOf("vapi", makeFakeVapi)
const daily = subjectOf("daily", makeFakeDaily)
const deepgram = subjectOf("deepgram", makeFakeDeepgram)
const cartesia = subjectOf("cartesia", makeFakeCartesia)
const elevenlabs = subjectOf("elevenlabs", makeFakeElevenLabs)

const OTHER_SECRET = "secret-of-another-vendor-01"
const GENERIC = makeFakeGeneric(() => 0).settings.Generic

describe("the key of one campaign", () => {
  const other = {
    Campaigns: {
      other: {
        Platform: "generic",
        MaxConcurrency: 1,
        Generic: { AgentId: "agent-2", BaseUrl: "https://other.example", WebhookSecret: OTHER_SECRET },
      },
    },
  }
  const endOf = (id: string, time: number) => {
    const rawBody = JSON.stringify({ event: "session.closed", session: { id } })
    const signature = hmacSha256(OTHER_SECRET, `${Math.floor(time / 1000)}.${rawBody}`, "hex")
    return { rawBody, headers: { "x-time": String(Math.floor(time / 1000)), "x-signature": signature } }
  }

  vendorTest(
    "ends no session of another campaign, neither now nor when it begins later",
    generic,
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const time = Number(world.fake.webhook({}).headers["x-time"]) * 1000
        const receive = (id: string) => gate.vendorWebhook("generic", endOf(id, time))
        assert.deepStrictEqual(yield* receive("session-1"), {
          _tag: "accepted",
          released: false,
          because: "unknown_session",
        })
        const started = yield* ask(1)
        assert.strictEqual(started.sessionId, "session-1")
        assert.deepStrictEqual(yield* receive("session-1"), { _tag: "accepted", released: false, because: "repeat" })
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
    other,
  )

  vendorTest(
    "a key that several campaigns share ends a session of any of them",
    elevenlabs,
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1, { campaignId: "named" })
        const webhook = world.fake.hangUp(yield* joined(world, started))
        assert.isDefined(webhook)
        if (webhook === undefined) return
        assert.deepStrictEqual(yield* Gatekeeper.use((gate) => gate.vendorWebhook("elevenlabs", webhook)), {
          _tag: "accepted",
          released: true,
        })
      }),
    {
      ElevenLabs: { ...Object(makeFakeElevenLabs(() => 0).settings.ElevenLabs), AgentId: "agent_before" },
      Campaigns: { named: { Platform: "elevenlabs", MaxConcurrency: 1, ElevenLabs: { AgentId: "agent_fake" } } },
    },
  )
})

describe("a LiveKit room", () => {
  vendorTest(
    "a LiveKit room that closes while its token opens it again keeps its slot until the token has expired",
    livekit,
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        const webhook = world.fake.hangUp(id)
        assert.isDefined(webhook)
        if (webhook === undefined) return
        for (let n = 0; n < 2; n++) {
          assert.deepStrictEqual(yield* gate.vendorWebhook("livekit", webhook), {
            _tag: "accepted",
            released: false,
            because: "not_yet",
          })
        }
        // the caller comes back with the same token
        assert.strictEqual(started.credential && world.fake.join(started.credential), id)
        yield* world.pass(2)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        const last = world.fake.hangUp(id)
        assert.isDefined(last)
        if (last === undefined) return
        assert.deepStrictEqual(yield* gate.vendorWebhook("livekit", last), { _tag: "accepted", released: true })
      }),
  )

  vendorTest(
    "a LiveKit room that closes early and stays closed gives its slot back when its token has expired",
    livekit,
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const webhook = world.fake.hangUp(yield* joined(world, started))
        assert.isDefined(webhook)
        if (webhook === undefined) return
        yield* Gatekeeper.use((gate) => gate.vendorWebhook("livekit", webhook))
        // 20 s of the token, and the minute that LiveKit's server adds
        yield* world.pass(1)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        yield* world.pass(0.5)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
  )
})

describe("a LiveKit room that opens", () => {
  const begun = (name: string) => ({ event: "room_started", room: { name } })
  const receive = (webhook: VendorWebhook | undefined) =>
    webhook === undefined
      ? Effect.die(new Error("there is no webhook"))
      : Gatekeeper.use((gate) => gate.vendorWebhook("livekit", webhook))

  vendorTest(
    "a LiveKit room that opens again after its end, with a token that the server has renewed, is closed",
    livekit,
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        assert.deepStrictEqual(yield* receive(world.fake.webhook(begun(id))), {
          _tag: "accepted",
          released: false,
          because: "began",
        })
        assert.isTrue(world.fake.isRunning(id))
        yield* world.pass(2)
        assert.deepStrictEqual(yield* receive(world.fake.hangUp(id)), { _tag: "accepted", released: true })
        const other = yield* ask(2)
        const othersRoom = yield* joined(world, other)
        yield* Effect.sync(() => world.fake.open?.(id))
        assert.isTrue(world.fake.isRunning(id))
        assert.deepStrictEqual(yield* receive(world.fake.webhook(begun(id))), {
          _tag: "accepted",
          released: false,
          because: "began",
        })
        assert.isFalse(world.fake.isRunning(id))
        yield* receive(world.fake.webhook(begun(othersRoom)))
        assert.isTrue(world.fake.isRunning(othersRoom))
        assert.strictEqual(yield* stateOf(other.uniqueRequestId), "live")
      }),
  )

  vendorTest(
    "a LiveKit room that opens for a gate with another store stays open, however often the webhook is delivered",
    livekit,
    (world) =>
      Effect.gen(function* () {
        const id = `voicegate-1700000000-${"b".repeat(22)}`
        world.fake.open?.(id)
        for (let delivery = 0; delivery < 3; delivery++) {
          yield* receive(world.fake.webhook(begun(id)))
          assert.isTrue(world.fake.isRunning(id))
        }
      }),
  )
})

describe("a Daily room", () => {
  vendorTest("a Daily room that is opened again after its end, whoever has a token of it, is closed", daily, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const id = yield* joined(world, started)
      yield* world.pass(1)
      const ended = world.fake.hangUp(id)
      assert.isDefined(ended)
      if (ended === undefined) return
      assert.deepStrictEqual(yield* gate.vendorWebhook("daily", ended), { _tag: "accepted", released: true })
      const begun = { type: "meeting.started", payload: { room: id } }
      yield* gate.vendorWebhook("daily", world.fake.webhook(begun))
      const deleted = world.fake.requests.filter(({ method, path }) => method === "DELETE" && path.endsWith(id))
      assert.lengthOf(deleted, 1)
    }),
  )

  vendorTest(
    "a Daily room of another campaign's agent is nobody's to end, although the key is the same",
    daily,
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const started = yield* ask(1)
        const id = yield* joined(world, started)
        yield* world.pass(1)
        const room = id.replace(/agent-fake$/, "agent-2")
        const webhook = world.fake.webhook({ type: "meeting.ended", payload: { room } })
        assert.deepStrictEqual(yield* gate.vendorWebhook("daily", webhook), {
          _tag: "accepted",
          released: false,
          because: "unknown_session",
        })
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
      }),
    { Campaigns: { other: { Platform: "daily", MaxConcurrency: 1, Daily: { AgentId: "agent-2" } } } },
  )
})

describe("the word of a page", () => {
  vendorTest("the word of a page that repeats it gives one slot back, not that of the next call", deepgram, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const first = yield* ask(1)
      yield* joined(world, first)
      yield* world.pass(1)
      yield* gate.leave(first.uniqueRequestId)
      const next = yield* ask(2)
      for (let n = 0; n < 3; n++) {
        yield* gate.leave(first.uniqueRequestId)
        yield* world.pass(0.5)
      }
      assert.strictEqual(yield* stateOf(next.uniqueRequestId), "live")
      assert.strictEqual((yield* waits(3)).queuePosition, 1)
    }),
  )

  vendorTest("is not needed where the vendor has reported the end before", cartesia, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const started = yield* ask(1)
      const id = yield* joined(world, started)
      yield* gate.leave(started.uniqueRequestId)
      const webhook = world.fake.hangUp(id)
      assert.isDefined(webhook)
      if (webhook === undefined) return
      assert.deepStrictEqual(yield* gate.vendorWebhook("cartesia", webhook), { _tag: "accepted", released: true })
      const next = yield* ask(2)
      yield* world.pass(0.5)
      assert.strictEqual(yield* stateOf(next.uniqueRequestId), "live")
      assert.deepStrictEqual(yield* gate.vendorWebhook("cartesia", webhook), {
        _tag: "accepted",
        released: false,
        because: "repeat",
      })
    }),
  )
})

describe("a hostile caller", () => {
  for (const clientIdentifier of [".", ".."]) {
    vendorTest(
      `a hostile caller whose identifier is ${clientIdentifier} does not change the path of the start`,
      generic,
      (world) =>
        Effect.gen(function* () {
          const { reason } = yield* Effect.flip(initiate({ clientIdentifier }))
          assert.strictEqual(reason._tag, "RequestRefused")
          assert.lengthOf(world.fake.requests, 0)
          yield* Effect.flip(initiate({ clientIdentifier: "..%2f..?#" }))
          assert.strictEqual(world.fake.requests[0]?.path, "/v1/agents/..%252f..%3F%23/sessions")
        }),
      { Generic: { ...Object(GENERIC), StartPath: "agents/{{clientIdentifier}}/sessions" } },
    )
  }

  for (const [subject, status] of [
    [vapi, 400],
    [retell, 400],
    [generic, 422],
  ] as const) {
    vendorTest(
      `a hostile caller whose words a refusal of ${subject.platform} quotes does not make all others wait`,
      subject,
      (world) =>
        Effect.gen(function* () {
          const words = "all lines are busy: concurrency"
          const refusal = { status, body: { message: `bad variable ${words}` } }
          world.fake.failNext(refusal)
          assert.strictEqual(
            (yield* Effect.flip(initiate({ metadata: { [words]: "" } }))).reason._tag,
            "RequestRefused",
          )
          world.fake.failNext(refusal)
          assert.strictEqual((yield* Effect.flip(initiate())).reason._tag, "AtCapacity")
        }),
    )
  }
})
