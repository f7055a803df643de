import type { ContractFacts } from "../contract.ts"
import { makeFakeLiveKit } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
  },
]
