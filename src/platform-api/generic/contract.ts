import type { ContractFacts } from "../contract.ts"
import { makeFakeGeneric } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
  },
]
