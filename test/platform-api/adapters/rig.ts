/** A gatekeeper in memory whose platform is a vendor's fake, and what the contract suite needs to know of each vendor. */
import { it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { layerNoDeps } from "../../../src/gatekeeper/as-configured.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { layer as platformLayer } from "../../../src/platform-api/layer.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { type OpenSideband, Sideband } from "../../../src/platform-api/sideband.ts"
import type { Credential } from "../../../src/protocol/credential.ts"
import type { Started } from "../../../src/protocol/Session.ts"
import { layerLocal } from "../../../src/push-channel/layer.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import type { Store } from "../../../src/store/Store.ts"
import { layer as ipIntelLayer } from "../../../src/testing/FakeIpIntel.ts"
import { FAKE_SDP_OFFER } from "../../../src/testing/vendors/FakeOpenAI.ts"
import type { FakeVendor, VendorAnswer } from "../../../src/testing/vendors/fake-vendor.ts"
import { sessionConfig } from "../../platform/support.ts"
import { BEGIN } from "../../support/gate.ts"

/** What a vendor does, and in which of its own ways. */
export interface Subject {
  readonly platform: string
  /** in the names of tests; the platform if absent */
  readonly name?: string
  readonly fake: (now: () => number) => FakeVendor & { readonly sideband?: OpenSideband }
  /** undefined: the platform's sessions have a `webSocketUrl` */
  readonly shape: Credential["shape"] | undefined
  /** A start is a request to the vendor; else the gate makes the credential alone. */
  readonly asksToStart: boolean
  /** the vendor's refusals at capacity, each of its ways */
  readonly atCapacity: ReadonlyArray<VendorAnswer>
  /** the credential's lifetime is chosen at the vendor and not by the gate */
  readonly unboundedLifetime?: true
  /** secrets that no answer may contain */
  readonly secrets: ReadonlyArray<string>
  /** an authentic webhook about a running call that does not end it; absent where the vendor sends none */
  readonly otherEvent?: (id: string) => unknown
  /** an authentic webhook about the end of a call that another program has started */
  readonly foreignEnd?: unknown
  /** A start only makes a credential, so one whose answer was lost has started nothing. */
  readonly startsNothing?: true
  /** Every 429 says that all calls are taken. */
  readonly limitIsCapacity?: true
  /** The page's word is taken that a call is over, because nobody else can tell: at once, or when the credential opens nothing more. */
  readonly pageEnds?: "at once" | "after expiry"
  /** Webhooks have the secret itself in place of a signature, so a changed or old one cannot be told. */
  readonly unsigned?: true
  /**
   * how long after its webhook was lost an ended call is noticed (minutes): 0 where the vendor says so on a connection; absent where it is
   * when the longest call has passed
   */
  readonly noticedAfterMinutes?: number
  /** After so many minutes a credential that nobody has used holds no slot any more; absent where the vendor ends such calls itself. */
  readonly unusedForMinutes?: number
  /** the state of such a ticket; `ended` if absent */
  readonly unusedState?: "missed"
  /** The credential opens another call until it expires, so a call that was left before is not over. */
  readonly reusable?: true
  /** Such a call is over for good once the gate has ended it: its credential opens nothing any more. */
  readonly endIsFinal?: true
  /** The settings cannot be checked without a start. */
  readonly unchecked?: true
  /** The vendor lists its calls, so that one whose start was not confirmed is found. */
  readonly lists: boolean
  /** What of the start tells the vendor a longest call of ten minutes; absent where it takes none, and the gate ends such a call. */
  readonly limit?: string
  /** how long after its time a webhook is still accepted, with some margin (minutes); an hour if absent */
  readonly acceptedLateMinutes?: number
  /** headers of a webhook without which it may be authentic too, by the vendor's settings */
  readonly optionalHeaders?: ReadonlyArray<string>
  /** A message without a signature is accepted, by its body, so every webhook is read. */
  readonly readsEveryWebhook?: true
  /** The vendor ends a call for the gate. */
  readonly ends: boolean
}

/** A vendor of which a test needs no more than its fake. */
export const subjectOf = (platform: string, fake: Subject["fake"]): Subject => ({
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
  subject: Subject,
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
export const reportEnd = ({ fake, sessions }: World, { platform }: Subject, id: string) =>
  Gatekeeper.use((gate) => {
    const webhook = fake.hangUp(id)
    if (webhook === undefined) return gate.sessionEnded([sessions.get(id) ?? id])
    return Effect.map(
      gate.vendorWebhook(platform, webhook),
      (outcome) => outcome._tag === "accepted" && outcome.released,
    )
  })
