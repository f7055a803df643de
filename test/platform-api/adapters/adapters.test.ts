/** Every platform keeps the contract. */
import { makeFakeIqra } from "../../../src/testing/vendors/FakeIqra.ts"
import { makeFakeLiveKit } from "../../../src/testing/vendors/FakeLiveKit.ts"
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
  otherEvent: { event: "participant_left", room: { name: `voicegate-1800000020-${"a".repeat(22)}` } },
  foreignEnd: { event: "room_finished", room: { name: "a-room-of-another-program" } },
  noticedAfterMinutes: 4,
  lists: false,
  ends: true,
})
