import type { ContractFacts } from "../contract.ts"
import { makeFakeElevenLabs } from "./fake.ts"

export const contracts: ReadonlyArray<ContractFacts> = [
  {
    platform: "elevenlabs",
    fake: makeFakeElevenLabs,
    shape: "url",
    unboundedLifetime: true,
    asksToStart: true,
    startsNothing: true,
    atCapacity: [{ status: 429, body: { detail: "Too many concurrent requests" } }],
    secrets: ["key-of-the-fake-elevenlabs", "webhook-secret-of-the-fake-elevenlabs"],
    otherEvent: (id) => ({ type: "post_call_audio", data: { agent_id: "agent_fake", conversation_id: id } }),
    foreignEnd: { type: "post_call_transcription", data: { agent_id: "another", conversation_id: "conv_1" } },
    noticedAfterMinutes: 4,
    unusedForMinutes: 20,
    lists: false,
    ends: false,
  },
]
