import type { ContractFacts } from "../contract.ts"
import { makeFakeDeepgram } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
    platform: "deepgram",
    fake: makeFakeDeepgram,
    shape: "url+token",
    asksToStart: true,
    startsNothing: true,
    atCapacity: [],
    secrets: ["key-of-the-fake-deepgram"],
    pageEnds: "after expiry",
    lists: false,
    ends: false,
  },
]
