import type { ContractFacts } from "../contract.ts"
import { makeFakeDaily } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
  },
]
