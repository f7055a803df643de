import type { ContractFacts } from "../contract.ts"
import { makeFakeIqra } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
  },
]
