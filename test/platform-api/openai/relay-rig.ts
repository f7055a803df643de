/** What the tests of `sdp-relay` credentials share: a gate in front of the fake of OpenAI, and its pages, which make offers. */

import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { FAKE_SDP_OFFER, makeFakeOpenAI } from "../../../src/platform-api/openai/fake.ts"
import type { Started } from "../../../src/protocol/session-answers.ts"
import { vendorTest, type World } from "../adapters/rig.ts"

export type Fake = ReturnType<typeof makeFakeOpenAI>

export const KEY = "key-of-the-fake-openai"

export const relayed = (
  name: string,
  body: (world: World & { readonly fake: Fake }) => ReturnType<Parameters<typeof vendorTest>[2]>,
  settings: Readonly<Record<string, unknown>> = {},
  queue: Readonly<Record<string, unknown>> = {},
  api: "realtime" | "live" = "realtime",
  more: Readonly<Record<string, unknown>> = {},
): void => {
  let fake = makeFakeOpenAI()
  const openai: ContractFacts = {
    platform: "openai",
    fake: () => {
      fake = makeFakeOpenAI(undefined, api)
      return fake
    },
    shape: "sdp-relay",
    asksToStart: false,
    atCapacity: [],
    secrets: [KEY],
    noticedAfterMinutes: 0.1,
    lists: false,
    ends: true,
  }
  vendorTest(name, openai, (world) => body({ ...world, fake }), settings, queue, more)
}

export const tokenOf = ({ credential }: Started): string => (credential?.shape === "sdp-relay" ? credential.token : "")

/** The page makes its offer. */
export const offer = (started: Started, token = tokenOf(started), ticket = started.uniqueRequestId) =>
  Gatekeeper.use((gate) => gate.relay(ticket, token, FAKE_SDP_OFFER))

/** The page makes its offer, which begins a call; its id. */
export const begins = (started: Started) => Effect.map(offer(started), ({ callId = "" }) => callId)

/** The page's offer fails; how. */
export const fails = (started: Started, token?: string) =>
  Effect.map(Effect.flip(offer(started, token)), (error) => ("code" in error ? error.code : error._tag))

export const callsIn = ({ requests }: Fake) => requests.filter(({ path }) => path === "/v1/realtime/calls")
export const hangUpsIn = ({ requests }: Fake) => requests.filter(({ path }) => path.endsWith("/hangup"))
