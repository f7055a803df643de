import type { ContractFacts } from "../contract.ts"
import { makeFakeAssemblyAI } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
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
  },
]
