/** OpenAI's Live API, whose offers are JSON and whose calls are sessions. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { FAKE_SDP_OFFER } from "../../../src/platform-api/openai/fake.ts"
import { ask, stateOf } from "../adapters/rig.ts"
import { hangUpsIn, offer, relayed } from "./relay-rig.ts"

describe("the Live API", () => {
  relayed(
    "gets the offer as JSON, and its session is watched, and closed over its sideband connection",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const { answer, callId = "" } = yield* offer(started)
        assert.match(answer, /^v=0\r\n.*answer to rtc_1/s)
        assert.deepStrictEqual(fake.requests[0]?.path, "/v1/live/sessions")
        assert.deepStrictEqual(fake.requests[0]?.body, {
          session: {
            // the page may not append instructions or close the session over its data channel
            client: {
              data_channel: { allowed_client_events: ["session.input_audio.mute", "session.input_audio.unmute"] },
            },
            model: "gpt-live-1",
            instructions: "Help the caller.",
          },
          transport: { type: "webrtc", sdp: FAKE_SDP_OFFER },
        })
        yield* pass(0.1)
        assert.strictEqual(fake.sidebands(), 1)
        yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
        assert.isFalse(fake.isRunning(callId))
        // the request to hang up is for calls by telephone
        assert.lengthOf(hangUpsIn(fake), 0)
        assert.strictEqual(fake.sidebands(), 0)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    {},
    {},
    "live",
  )

  relayed(
    "says that a session is over, which frees its slot without asking again",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const { callId = "" } = yield* offer(started)
        yield* pass(0.1)
        fake.refuseSidebands(503)
        fake.hangUp(callId)
        yield* pass(0.1)
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    {},
    {},
    "live",
  )

  relayed(
    "the Live API that does not confirm the end of a session is asked again when the page leaves again, and the slot is kept",
    ({ fake, pass }) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        const { callId = "" } = yield* offer(started)
        fake.dropSidebands()
        fake.refuseSidebands(503)
        yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
        yield* pass(0.5)
        assert.isTrue(fake.isRunning(callId))
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        fake.refuseSidebands(undefined)
        yield* Gatekeeper.use((gate) => gate.leave(started.uniqueRequestId))
        assert.isFalse(fake.isRunning(callId))
        assert.strictEqual(yield* stateOf(started.uniqueRequestId), "ended")
      }),
    {},
    {},
    "live",
  )

  relayed(
    "an answer of the Live API without a session means that a call has begun that has no name",
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
