/** A gatekeeper in memory whose platform is a vendor's fake, and what the contract suite needs to know of each vendor. */

import { it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { layerNoDeps } from "../../../src/embedded/as-configured.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { layer as platformLayer } from "../../../src/platform-api/layer.ts"
import { FAKE_SDP_OFFER } from "../../../src/platform-api/openai/fake.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { type OpenSideband, Sideband } from "../../../src/platform-api/shared/sideband.ts"
import type { Started } from "../../../src/protocol/session-answers.ts"
import { layerLocal } from "../../../src/push-channel/layer.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import type { Store } from "../../../src/store/Store.ts"
import { layer as ipIntelLayer } from "../../../src/testing/FakeIpIntel.ts"
import type { FakeVendor } from "../../../src/testing/FakeVendor.ts"
import { sessionConfig } from "../../platform/support.ts"
import { BEGIN } from "../../support/gate.ts"

/** A vendor of which a test needs no more than its fake. */
export const subjectOf = (platform: string, fake: ContractFacts["fake"]): ContractFacts => ({
  platform,
  fake,
  shape: undefined,
  asksToStart: true,
  atCapacity: [],
  secrets: [],
  noticedAfterMinutes: 4,
  lists: false,
  ends: true,
})

export interface World {
  readonly fake: FakeVendor
  /** the gate's ids of sessions, by the vendor's */
  readonly sessions: Map<string, string>
  /** moves the clock of gate and vendor */
  readonly pass: (minutes: number) => Effect.Effect<void>
  /** moves the vendor's clock alone */
  readonly shiftVendor: (minutes: number) => void
  /**
   * From now on requests of these paths are answered with this status and not carried out, or find no connection; none if undefined. 403 by
   * default. Returns how many were.
   */
  readonly refuse: (paths: RegExp | undefined, status?: number | "unreachable") => number
}

/** The paths of requests that end a call, at every vendor. */
export const END_PATHS =
  /\/(end|stop-call\/[^/]+|control|send_data_message|livekit\.RoomService\/DeleteRoom|agents\/[^/]+\/sessions\/[^/]+|[^/]+\/hangup)$/

type Services = Gatekeeper | PlatformApi | Settings

type Parts = Readonly<Record<string, unknown>>

/** A gate of one campaign; `more` overrides settings besides the campaign's. */
export const layerOf = (settings: Parts, more: Parts, store: Layer.Layer<Store> = memory.layer) =>
  layerNoDeps.pipe(
    Layer.provideMerge(Layer.mergeAll(platformLayer, ipIntelLayer, layerLocal)),
    Layer.provideMerge(store),
    Layer.provideMerge(
      Layer.effect(
        Settings,
        Effect.fromResult(
          settingsFrom({
            StoreConnectionString: "memory:",
            Server: { Host: "127.0.0.1", Port: 0 },
            ...more,
            Queue: { StartWindowSeconds: 20, ...Object(more.Queue) },
            VoiceAiPlatform: settings,
          }),
        ).pipe(
          Effect.map(({ tree }) => tree),
          Effect.orDie,
        ),
      ),
    ),
    Layer.provide(FetchHttpClient.layer),
  )

/** Gives requests, whose promises do not depend on the test's clock, the time to complete. */
export const settle = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))).pipe(
  Effect.repeat({ times: 5 }),
)

const noSideband: OpenSideband = () => Effect.die(new Error("this vendor has no connections to calls"))

/** One test of a gate on this vendor. `settings` override those of the campaign, `queue` those of the queue, `more` any other. */
export const vendorTest = (
  name: string,
  subject: ContractFacts,
  body: (world: World) => Effect.Effect<void, unknown, Services | Scope.Scope>,
  settings: Parts = {},
  queue: Parts = {},
  more: Parts = {},
): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      let time = BEGIN
      const fake = subject.fake(() => time)
      const pass = (minutes: number) =>
        Effect.gen(function* () {
          // in steps, so that requests to the vendor complete between the gate's background tasks
          for (let step = 0; step < minutes * 12; step++) {
            time += 5_000
            yield* TestClock.adjust("5 seconds")
            yield* settle
          }
        })
      const shiftVendor = (minutes: number): void => {
        time += minutes * 60_000
      }
      let refusedPaths: RegExp | undefined
      let refused = 0
      let refusal: number | "unreachable" = 403
      const refuse: World["refuse"] = (paths, status = 403) => {
        refusedPaths = paths
        refusal = status
        return refused
      }
      const fetch: typeof globalThis.fetch = async (input, init) => {
        if (refusedPaths?.test(new URL(new Request(input, init).url).pathname) !== true) return fake.fetch(input, init)
        refused++
        if (refusal === "unreachable") {
          throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) })
        }
        return Response.json({ message: "no" }, { status: refusal })
      }
      const openSideband = fake.sideband ?? noSideband
      /** A refused end is one on the connection to the call too. */
      const sideband: OpenSideband = (...request) =>
        Effect.map(openSideband(...request), (connection) => ({
          ...connection,
          send: (event) => (refusedPaths === END_PATHS ? Effect.sync(() => void refused++) : connection.send(event)),
        }))
      yield* body({ fake, sessions: new Map(), pass, refuse, shiftVendor }).pipe(
        Effect.provide(layerOf({ ...fake.settings, ...settings }, { ...more, Queue: queue })),
        Effect.provideService(FetchHttpClient.Fetch, fetch),
        Effect.provideService(Sideband, sideband),
      )
    }),
  )
}

/** Asks for a session from the n-th address. */
export const ask = (n: number, body: unknown = {}) =>
  Gatekeeper.use((gate) => gate.request(body, { address: `203.0.113.${n}` }))

/** Asks for a session that must be queued. */
export const waits = (n: number) =>
  Effect.flatMap(Effect.flip(ask(n)), (error) =>
    error._tag === "Queued" ? Effect.succeed(error) : Effect.die(new Error(`Expected a place, got ${error._tag}`)),
  )

/** Starts a session at the vendor, without the queue. */
export const initiate = (config: Parameters<typeof sessionConfig>[0] = {}) =>
  PlatformApi.use((api) => api.initiate(sessionConfig(config), "a"))

/** The page joins, through the gate where the credential says so. The vendor's id of its call; undefined if it is not let in. */
export const admitted = ({ fake }: World, { credential, uniqueRequestId }: Started) => {
  if (credential === undefined) return Effect.undefined
  if (credential.shape !== "sdp-relay") return Effect.sync(() => fake.join(credential))
  return Gatekeeper.use((gate) => gate.relay(uniqueRequestId, credential.token, FAKE_SDP_OFFER)).pipe(
    Effect.match({ onSuccess: ({ callId }) => callId, onFailure: () => undefined }),
  )
}

/** The page joins; the vendor's id of its call. */
export const joined = (world: World, started: Started) =>
  Effect.map(admitted(world, started), (admitted) => {
    const id = admitted ?? started.sessionId
    world.sessions.set(id, started.sessionId)
    return id
  })

export const stateOf = (ticket: string) =>
  Gatekeeper.use((gate) => Effect.map(gate.status(ticket), ({ state }) => state))

/** The end of a call reaches the gate: by the vendor's webhook, or by the owner's where the vendor has none. True if it freed a slot. */
export const reportEnd = ({ fake, sessions }: World, { platform }: ContractFacts, id: string) =>
  Gatekeeper.use((gate) => {
    const webhook = fake.hangUp(id)
    if (webhook === undefined) return gate.sessionEnded([sessions.get(id) ?? id])
    return Effect.map(
      gate.vendorWebhook(platform, webhook),
      (outcome) => outcome._tag === "accepted" && outcome.released,
    )
  })

/** Until the credential opens no other call. */
export const untilUsed = (world: World, { reusable }: ContractFacts) => world.pass(reusable === true ? 1.5 : 0)
