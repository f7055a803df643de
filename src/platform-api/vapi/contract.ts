import type { ContractFacts } from "../contract.ts"
import { makeFakeVapi } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
    foreignEnd: {
      message: {
        type: "end-of-call-report",
        call: { id: "call-1", assistantOverrides: { metadata: { program: "another" } } },
      },
    },
    noticedAfterMinutes: 4,
    lists: true,
    ends: true,
  },
]
