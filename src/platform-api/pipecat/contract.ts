import type { ContractFacts } from "../contract.ts"
import { makeFakePipecat } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
    platform: "pipecat",
    fake: makeFakePipecat,
    shape: "url+token",
    asksToStart: true,
    limitIsCapacity: true,
    atCapacity: [
      { status: 429, body: { status: 429, code: "429", message: "Rate limit exceeded. Please try again later" } },
      { status: 503, body: { error: "all agents are in use", code: "PCC-AGENT-AT-CAPACITY" } },
    ],
    secrets: ["public-key-of-the-fake-pipecat", "private-key-of-the-fake-pipecat"],
    noticedAfterMinutes: 4,
    lists: false,
    ends: true,
  },
]
