import type { ContractFacts } from "../contract.ts"
import { makeFakeOpenAI } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = (["realtime", "live"] as const).map((api) => ({
  platform: "openai",
  name: `openai (${api})`,
  fake: (now) => makeFakeOpenAI(now, api),
  shape: "sdp-relay",
  // the page's offer asks OpenAI: `relay-offers.test.ts`
  asksToStart: false,
  atCapacity: [],
  secrets: ["key-of-the-fake-openai"],
  noticedAfterMinutes: api === "live" ? 0 : 0.1,
  unusedForMinutes: 0.5,
  unusedState: "missed",
  lists: false,
  ends: true,
}))
