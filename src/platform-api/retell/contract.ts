import type { ContractFacts } from "../contract.ts"
import { makeFakeRetell } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
    foreignEnd: { event: "call_ended", call: { call_id: "call_1", metadata: { program: "another" } } },
    noticedAfterMinutes: 4,
    lists: true,
    ends: true,
  },
]
