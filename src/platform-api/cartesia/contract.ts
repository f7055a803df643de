import type { ContractFacts } from "../contract.ts"
import { makeFakeCartesia } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
  },
]
