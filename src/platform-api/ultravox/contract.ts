import type { ContractFacts } from "../contract.ts"
import { makeFakeUltravox } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
    foreignEnd: { event: "call.ended", call: { callId: "call-1", ended: "now", metadata: { program: "another" } } },
    noticedAfterMinutes: 4,
    lists: true,
    ends: true,
  },
]
