/** Every platform keeps the contract. */
import { makeFakeAssemblyAI } from "../../../src/testing/vendors/FakeAssemblyAI.ts"
import { makeFakeCartesia } from "../../../src/testing/vendors/FakeCartesia.ts"
import { makeFakeDaily } from "../../../src/testing/vendors/FakeDaily.ts"
import { makeFakeDeepgram } from "../../../src/testing/vendors/FakeDeepgram.ts"
import { makeFakeElevenLabs } from "../../../src/testing/vendors/FakeElevenLabs.ts"
import { makeFakeGeneric } from "../../../src/testing/vendors/FakeGeneric.ts"
import { makeFakeIqra } from "../../../src/testing/vendors/FakeIqra.ts"
import { makeFakeLiveKit } from "../../../src/testing/vendors/FakeLiveKit.ts"
import { makeFakeOpenAI } from "../../../src/testing/vendors/FakeOpenAI.ts"
import { makeFakePipecat } from "../../../src/testing/vendors/FakePipecat.ts"
import { makeFakeRetell } from "../../../src/testing/vendors/FakeRetell.ts"
import { makeFakeUltravox } from "../../../src/testing/vendors/FakeUltravox.ts"
import { makeFakeVapi } from "../../../src/testing/vendors/FakeVapi.ts"
import { adapterContract } from "./contract.ts"

adapterContract({
  platform: "iqra",
  fake: makeFakeIqra,
  shape: undefined,
  asksToStart: true,
  atCapacity: [
    { status: 200, body: { success: false, code: "Start:CONCURRENCY_LIMIT_REACHED", message: null } },
    { status: 429, body: { success: false, code: null, message: "Too many calls: concurrency reached" } },
  ],
  secrets: ["key-of-the-fake-iqra"],
  noticedAfterMinutes: 4,
  lists: true,
  ends: true,
})

adapterContract({
  platform: "livekit",
  fake: makeFakeLiveKit,
  shape: "url+token",
  asksToStart: false,
  atCapacity: [],
  secrets: ["secret-of-the-fake-livekit-server"],
  otherEvent: (id) => ({ event: "participant_left", room: { name: id } }),
  foreignEnd: { event: "room_finished", room: { name: "a-room-of-another-program" } },
  noticedAfterMinutes: 4,
  unusedForMinutes: 5,
  reusable: true,
  lists: false,
  ends: true,
})

const anothersMetadata = { metadata: { program: "another" } }

adapterContract({
  platform: "retell",
  limit: '"max_call_duration_ms":600000',
  fake: makeFakeRetell,
  shape: "token",
  unboundedLifetime: true,
  asksToStart: true,
  atCapacity: [
    { status: 429, body: { status: "error", message: "Concurrency limit reached" } },
    { status: 402, body: { status: "error", message: "concurrency_limit_reached" } },
  ],
  secrets: ["key_of_the_fake_retell"],
  otherEvent: (id) => ({ event: "call_started", call: { call_id: id, metadata: { voicegate: "x" } } }),
  foreignEnd: { event: "call_ended", call: { call_id: "call_1", ...anothersMetadata } },
  noticedAfterMinutes: 4,
  lists: true,
  ends: true,
})

adapterContract({
  platform: "ultravox",
  limit: '"maxDuration":"600s"',
  fake: makeFakeUltravox,
  shape: "url",
  asksToStart: true,
  atCapacity: [
    { status: 429, body: { detail: "Concurrent call limit reached" } },
    { status: 429, body: { detail: "Too many calls." } },
  ],
  limitIsCapacity: true,
  secrets: ["key-of-the-fake-ultravox", "webhook-secret-of-the-fake-ultravox"],
  acceptedLateMinutes: 24 * 60,
  otherEvent: (id) => ({ event: "call.joined", call: { callId: id, metadata: { voicegate: "x" } } }),
  foreignEnd: { event: "call.ended", call: { callId: "call-1", ended: "now", ...anothersMetadata } },
  noticedAfterMinutes: 4,
  lists: true,
  ends: true,
})

adapterContract({
  platform: "vapi",
  limit: '"maxDurationSeconds":600',
  fake: makeFakeVapi,
  shape: "url",
  unboundedLifetime: true,
  asksToStart: true,
  atCapacity: [
    { status: 400, body: { statusCode: 400, message: "Over Concurrency Limit." } },
    { status: 201, body: { id: "call-9", webCallUrl: "x", subscriptionLimits: { concurrencyBlocked: true } } },
  ],
  secrets: ["private-key-of-the-fake-vapi", "webhook-secret-of-the-fake-vapi"],
  optionalHeaders: ["x-timestamp"],
  otherEvent: (id) => ({
    message: {
      type: "status-update",
      status: "in-progress",
      call: { id, assistantOverrides: { metadata: { voicegate: "x" } } },
    },
  }),
  foreignEnd: { message: { type: "end-of-call-report", call: { id: "call-1", assistantOverrides: anothersMetadata } } },
  noticedAfterMinutes: 4,
  lists: true,
  ends: true,
})

adapterContract({
  platform: "elevenlabs",
  fake: makeFakeElevenLabs,
  shape: "url",
  unboundedLifetime: true,
  asksToStart: true,
  startsNothing: true,
  atCapacity: [{ status: 429, body: { detail: "Too many concurrent requests" } }],
  secrets: ["key-of-the-fake-elevenlabs", "webhook-secret-of-the-fake-elevenlabs"],
  otherEvent: (id) => ({ type: "post_call_audio", data: { agent_id: "agent_fake", conversation_id: id } }),
  foreignEnd: { type: "post_call_transcription", data: { agent_id: "another", conversation_id: "conv_1" } },
  noticedAfterMinutes: 4,
  unusedForMinutes: 20,
  lists: false,
  ends: false,
})

for (const api of ["realtime", "live"] as const) {
  adapterContract({
    platform: "openai",
    name: `openai (${api})`,
    fake: (now) => makeFakeOpenAI(now, api),
    shape: "sdp-relay",
    // the page's offer asks OpenAI: `relay-offers.test.ts`
    asksToStart: false,
    atCapacity: [],
    secrets: ["key-of-the-fake-openai"],
    noticedAfterMinutes: api === "live" ? 0 : 0.1,
    unusedForMinutes: 0.5,
    unusedState: "missed",
    lists: false,
    ends: true,
  })
}

adapterContract({
  platform: "pipecat",
  fake: makeFakePipecat,
  shape: "url+token",
  asksToStart: true,
  limitIsCapacity: true,
  atCapacity: [
    { status: 429, body: { status: 429, code: "429", message: "Rate limit exceeded. Please try again later" } },
    { status: 503, body: { error: "all agents are in use", code: "PCC-AGENT-AT-CAPACITY" } },
  ],
  secrets: ["public-key-of-the-fake-pipecat", "private-key-of-the-fake-pipecat"],
  noticedAfterMinutes: 4,
  lists: false,
  ends: true,
})

adapterContract({
  platform: "daily",
  limit: '"eject_at_room_exp":true',
  readsEveryWebhook: true,
  fake: makeFakeDaily,
  shape: "url+token",
  asksToStart: true,
  startsNothing: true,
  atCapacity: [{ status: 429, body: { error: "rate-limit-error", info: "concurrent participants limit reached" } }],
  secrets: ["key-of-the-fake-daily", Buffer.from("webhook secret of the fake Daily").toString("base64")],
  otherEvent: (id) => ({ type: "participant.left", payload: { room: id } }),
  foreignEnd: { type: "meeting.ended", payload: { room: "a-room-of-another-program" } },
  noticedAfterMinutes: 4,
  unusedForMinutes: 5,
  reusable: true,
  endIsFinal: true,
  lists: false,
  ends: true,
})

adapterContract({
  platform: "deepgram",
  fake: makeFakeDeepgram,
  shape: "url+token",
  asksToStart: true,
  startsNothing: true,
  atCapacity: [],
  secrets: ["key-of-the-fake-deepgram"],
  pageEnds: "after expiry",
  lists: false,
  ends: false,
})

adapterContract({
  platform: "assemblyai",
  limit: "max_session_duration_seconds=600",
  fake: makeFakeAssemblyAI,
  shape: "single-use-token",
  asksToStart: true,
  startsNothing: true,
  atCapacity: [],
  secrets: ["key-of-the-fake-assemblyai"],
  noticedAfterMinutes: 4,
  unusedForMinutes: 5,
  pageEnds: "after expiry",
  lists: false,
  ends: false,
})

adapterContract({
  platform: "cartesia",
  fake: makeFakeCartesia,
  shape: "url+token",
  asksToStart: true,
  startsNothing: true,
  unsigned: true,
  atCapacity: [],
  secrets: ["key-of-the-fake-cartesia", "webhook-secret-of-the-fake-cartesia"],
  otherEvent: (id) => ({ type: "call_started", call: { id, agent_id: "agent_fake", status: "active" } }),
  foreignEnd: { type: "call_completed", call: { id: "MZ01", agent_id: "agent_fake", status: "completed" } },
  noticedAfterMinutes: 4,
  unusedForMinutes: 5,
  pageEnds: "after expiry",
  lists: false,
  ends: false,
})

adapterContract({
  platform: "generic",
  fake: makeFakeGeneric,
  shape: "url+token",
  asksToStart: true,
  atCapacity: [{ status: 503, body: { message: "all lines are busy" } }],
  secrets: ["key-of-the-fake-vendor", "webhook-secret-of-the-fake-vendor"],
  otherEvent: (id) => ({ event: "session.opened", session: { id } }),
  foreignEnd: { event: "session.closed", session: { id: "session-of-another" } },
  noticedAfterMinutes: 4,
  unchecked: true,
  lists: false,
  ends: true,
})
