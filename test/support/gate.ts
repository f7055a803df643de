/**
 * A gatekeeper in process, over the memory store and the test's clock: the platform and the IP provider answer by
 * script, and pushed events are recorded.
 */

import { expect, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { layerNoDeps } from "../../src/embedded/as-configured.ts"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { Gatekeeper, type RequestError } from "../../src/gatekeeper/Gatekeeper.ts"
import { type IpFacts, type IpIntelFailed, noFacts } from "../../src/ip-intel/facts.ts"
import { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { limitKey } from "../../src/lib/ip/address.ts"
import type { Operator } from "../../src/operator/Operator.ts"
import {
  AtCapacity,
  KeyRateLimited,
  PlatformError,
  RequestRefused,
  refused,
  unavailable,
} from "../../src/platform-api/errors.ts"
import type {
  Concurrency,
  Finding,
  LengthControl,
  RelayedSession,
  SessionState,
  WebSession,
} from "../../src/platform-api/model.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import { newOfferToken, sessionOfToken } from "../../src/platform-api/shared/offer-token.ts"
import type { UnreadVerdict, WebhookVerdict } from "../../src/platform-api/webhooks/read.ts"
import type { PushEvent } from "../../src/protocol/events.ts"
import type { SessionConfig } from "../../src/protocol/request.ts"
import type { Started } from "../../src/protocol/session-answers.ts"
import { PushChannel } from "../../src/push-channel/PushChannel.ts"
import { keysOf } from "../../src/rate-limiter/layer.ts"
import type { RateLimiter } from "../../src/rate-limiter/RateLimiter.ts"
import { HOUR, OPEN } from "../../src/rate-limiter/rules/units.ts"
import { settingsFrom } from "../../src/settings/given.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"

/** When every test begins (ms since 1970). */
export const BEGIN = 1_800_000_000_000

type Parts = Readonly<Record<string, unknown>>

/** Overrides of a settings file with one campaign with one slot. */
export interface Given {
  readonly VoiceAiPlatform?: Parts
  readonly IpIntel?: Parts
  readonly Security?: Parts
  readonly Queue?: Parts
  readonly Server?: Parts
  readonly Privacy?: Parts
  readonly Identity?: Parts
}

export const settingsLayer = ({
  Identity = {},
  IpIntel = {},
  Privacy = {},
  Queue = {},
  Security = {},
  Server = {},
  VoiceAiPlatform = {},
}: Given) =>
  Layer.effect(
    Settings,
    Effect.fromResult(
      settingsFrom({
        StoreConnectionString: "memory:",
        VoiceAiPlatform: {
          ApiSecretToken: "the-platform-key",
          BaseUrl: "https://platform.example/api/v1/",
          BusinessId: "business",
          WebCampaignId: "campaign",
          DefaultRegionId: "eu",
          AllowedRegionIds: ["eu", "us"],
          MaxConcurrency: 1,
          ...VoiceAiPlatform,
        },
        Identity,
        IpIntel,
        Privacy,
        Queue,
        // settings with a trusted proxy need a webhook secret
        Security: "TrustedProxies" in Security ? { WebhookApiToken: "token-behind-a-proxy", ...Security } : Security,
        // tests forge the Host header on purpose
        Server: { Host: "127.0.0.1", Port: 0, AllowedHosts: "*", ...Server },
      }),
    ).pipe(
      Effect.map(({ tree }) => tree),
      Effect.orDie,
    ),
  )

export const atCapacity = new PlatformError({ reason: new AtCapacity({ message: "all slots are taken" }) })
export const platformRefuses = refused(403, "RESTRICTED_API_KEY", "the key may not")
export const platformRefusesRequest = new PlatformError({
  reason: new RequestRefused({ status: 400, code: "INVALID_FORMAT", message: "not so" }),
})
export const keyIsLimited = (retryAfterMillis: number) =>
  new PlatformError({ reason: new KeyRateLimited({ retryAfterMillis, message: "too many requests" }) })
export const platformIsAway = unavailable("unreachable", false, "no answer")

/** The n-th session, with the platform's id. */
export const session = (n: number): WebSession & { readonly webSocketUrl: string } => ({
  sessionIds: [`web-${n}`, `conversation-${n}`],
  webSocketUrl: `wss://agent.example/${n}?token=secret-${n}`,
})

/** A session that begins with its page's offer, within a minute from now (ms since 1970). */
export const awaitedSession = (now: number): WebSession => {
  const token = newOfferToken(Math.floor(now / 1000) + 60)
  return {
    sessionIds: [sessionOfToken(token) ?? ""],
    credential: { shape: "sdp-relay", platform: "openai", url: "/", token },
    offerMillis: 60_000,
  }
}

/** The session that the n-th offer begins. */
export const relayedSession = (n: number): RelayedSession => ({
  sessionIds: [`call-${n}`, `other id of call-${n}`],
  answer: `v=0\r\ns=answer ${n}\r\n`,
  callId: `call-${n}`,
})

/** The scripted environment of a gate. Tests change the functions while it runs. */
export interface World {
  readonly initiated: Array<SessionConfig>
  /** the callers' groups of the starts */
  readonly groups: Array<string>
  /** answers the n-th start, counting from 1 */
  initiate: (n: number) => Effect.Effect<WebSession, PlatformError>
  /** the offers that pages made */
  readonly offers: Array<string>
  /** answers the n-th offer, counting from 1 */
  relay: (n: number) => Effect.Effect<RelayedSession, PlatformError>
  concurrency: (campaign: string) => Effect.Effect<Concurrency, PlatformError>
  sessionStatus: (session: string) => Effect.Effect<SessionState["status"], PlatformError>
  /** whether somebody has opened a session; undefined where the platform does not tell */
  opened: (session: string) => boolean | undefined
  /** the ids that the history names of a session */
  sessionIds: (session: string) => ReadonlyArray<string>
  /** what the history lists of a client; undefined if it cannot be queried */
  sessionsOf: (
    client: string,
    since: number,
    campaign: string,
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError>
  /** the platform is set up to report ends of calls by webhooks */
  reportsEnds: boolean
  /** ends a session for a caller who has left; undefined on a platform that cannot */
  end: ((session: WebSession) => Effect.Effect<boolean | "unsupported", PlatformError>) | undefined
  /** from when on a page's report that its call is over is trusted (ms since 1970); undefined where the platform can tell */
  pageEnds: number | undefined
  /** the platform itself ends calls at the longest length */
  limitsCalls: boolean
  /** how far the gate can limit a call's length */
  lengthControl: LengthControl
  /** what a vendor's webhook says */
  webhook: WebhookVerdict
  /** why a vendor's webhook is refused whatever its body is */
  webhookRefusal: UnreadVerdict | undefined
  /** the sessions that the platform was asked to end, by their first id */
  readonly endings: Array<string>
  /** what a check of the platform finds; nothing by default */
  verify: (campaign: string) => Effect.Effect<ReadonlyArray<Finding>>
  lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
  readonly lookedUp: Array<string>
  /** an additional effect of delivering an event */
  send: () => Effect.Effect<void>
  readonly pushed: Array<readonly [ticket: string, event: PushEvent]>
  /** tickets with an open connection */
  readonly connected: Set<string>
}

export const makeWorld = (): World => ({
  initiated: [],
  groups: [],
  initiate: (n) => Effect.succeed(session(n)),
  offers: [],
  relay: (n) => Effect.succeed(relayedSession(n)),
  concurrency: () => Effect.fail(platformRefuses),
  sessionStatus: () => Effect.succeed("running"),
  opened: () => undefined,
  sessionIds: () => [],
  sessionsOf: () => Effect.succeed([]),
  reportsEnds: false,
  end: undefined,
  endings: [],
  pageEnds: undefined,
  limitsCalls: false,
  lengthControl: "endable",
  webhook: { _tag: "unexpected" },
  webhookRefusal: undefined,
  verify: () => Effect.succeed([]),
  lookup: () => Effect.succeed(noFacts),
  lookedUp: [],
  send: () => Effect.void,
  pushed: [],
  connected: new Set(),
})

export const platformLayer = (world: World): Layer.Layer<PlatformApi> =>
  Layer.succeed(PlatformApi, {
    initiate: (config, group) =>
      Effect.suspend(() => {
        world.groups.push(group)
        return world.initiate(world.initiated.push(config))
      }),
    relay: (_config, offer) => Effect.suspend(() => world.relay(world.offers.push(offer))),
    concurrency: (campaign) => Effect.suspend(() => world.concurrency(campaign)),
    sessionStatus: (_campaign, id) =>
      Effect.suspend(() =>
        Effect.map(world.sessionStatus(id), (status) => ({
          status,
          sessionIds: world.sessionIds(id),
          opened: world.opened(id),
        })),
      ),
    sessionsOf: (campaign, client, since) => Effect.suspend(() => world.sessionsOf(client, since, campaign)),
    end: (_campaign, session) =>
      Effect.suspend(() => {
        world.endings.push(session.sessionIds[0] ?? "")
        return world.end?.(session) ?? Effect.succeed("unsupported" as const)
      }),
    pageEnds: () => Effect.sync(() => world.pageEnds),
    reportsEnds: () => world.reportsEnds,
    limitsCalls: () => world.limitsCalls,
    lengthControl: () => world.lengthControl,
    webhook: () => Effect.sync(() => world.webhook),
    webhookRefusal: () => Effect.sync(() => world.webhookRefusal),
    verify: (campaign) => Effect.suspend(() => world.verify(campaign)),
  })

export const intelLayer = (world: World): Layer.Layer<IpIntel> =>
  Layer.succeed(IpIntel, {
    provider: "script",
    lookup: (address) =>
      Effect.suspend(() => {
        world.lookedUp.push(address)
        return world.lookup(address)
      }),
    probe: Effect.void,
  })

export const recordingPush = (world: World): Layer.Layer<PushChannel> =>
  Layer.succeed(PushChannel, {
    address: "",
    send: (ticket, event) => {
      world.pushed.push([ticket, event])
      return world.send()
    },
    tickets: Effect.sync(() => [...world.connected]),
    open: () => Effect.die("the recording channel takes no connections"),
    drain: Effect.void,
  })

export type GateServices = Gatekeeper | Operator | PushChannel | FifoQueue | RateLimiter | Store | Settings

export interface Wiring {
  readonly store?: Layer.Layer<Store>
  readonly push?: Layer.Layer<PushChannel, never, Store>
}

export const gateLayer = (
  world: World,
  given: Given,
  { push = recordingPush(world), store = memory.layer }: Wiring = {},
): Layer.Layer<GateServices> =>
  layerNoDeps.pipe(
    Layer.provideMerge(Layer.mergeAll(intelLayer(world), platformLayer(world), push)),
    Layer.provideMerge(store),
    Layer.provideMerge(settingsLayer(given)),
  )

/** One test of a gate under the test's clock. */
export const gateTest = (
  name: string,
  given: Given,
  body: (world: World) => Effect.Effect<void, unknown, GateServices | Scope.Scope>,
): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      const world = makeWorld()
      yield* TestClock.setTime(BEGIN)
      yield* Effect.provide(body(world), gateLayer(world, given))
    }),
  )
}

export const CALLER = "203.0.113.7"
/** The address of the n-th caller. */
export const caller = (n: number): string => `203.0.${n >> 8}.${n & 255}`

type Outcome<A extends object, E> = (A & { readonly _tag: "Started" }) | E

/** The outcome of an effect, with the failure as a value. */
export const outcomeOf = <E extends { readonly _tag: string }, R>(effect: Effect.Effect<Started, E, R>) =>
  Effect.match(effect, {
    onFailure: (error): Outcome<Started, E> => error,
    onSuccess: (started): Outcome<Started, E> => ({ _tag: "Started", ...started }),
  })

/** The ticket of a caller who waits; empty for any other outcome. */
export const ticketIn = (outcome: object): string =>
  "uniqueRequestId" in outcome ? String(outcome.uniqueRequestId) : ""

/** Requests a session. */
export const ask = (
  address = CALLER,
  body: unknown = {},
): Effect.Effect<Outcome<Started, RequestError>, never, Gatekeeper> =>
  Gatekeeper.use((gate) => outcomeOf(gate.request(body, { address })))

export const start = (ticket: string) => Gatekeeper.use((gate) => outcomeOf(gate.start(ticket)))

/** Requests a session that must be queued, and returns its ticket. */
export const enqueue = (address = CALLER, body: unknown = {}): Effect.Effect<string, never, Gatekeeper> =>
  Effect.map(ask(address, body), (outcome) => {
    expect(outcome._tag).toBe("Queued")
    return "uniqueRequestId" in outcome ? outcome.uniqueRequestId : ""
  })

export const begin = (address = CALLER, body: unknown = {}): Effect.Effect<Started, never, Gatekeeper> =>
  Effect.flatMap(ask(address, body), (outcome) =>
    outcome._tag === "Started"
      ? Effect.map(Effect.succeed(outcome), ({ _tag, ...started }) => started)
      : Effect.die(outcome),
  )

export const hangUp = (...sessionIds: ReadonlyArray<string>) => Gatekeeper.use((gate) => gate.sessionEnded(sessionIds))

export const stateOf = (ticket: string) =>
  Gatekeeper.use((gate) => Effect.map(gate.status(ticket), ({ state }) => state))

export const eventsOf = (world: World, ticket: string): ReadonlyArray<PushEvent> =>
  world.pushed.filter(([to]) => to === ticket).map(([, event]) => event)

/** Counts a caller's units of the last hour. Keys: its log */
const unitsSince: Rule<object, { readonly ago: number }, number> = {
  name: "test.units",
  run: (db, [log = ""], _now, _context, calls) =>
    calls.map(({ ago }) => db.zcountFrom(log, ago + 1) - db.zcountFrom(log, OPEN) + db.zcountFrom(log, OPEN + ago + 1)),
  lua: "return '[0]'",
  decode: Number,
  batch: false,
}

/**
 * How many more requests the hourly budget of this caller allows; on the memory store only, and without changing it.
 */
export const remaining = (address = CALLER) =>
  Effect.gen(function* () {
    const store = yield* Store
    const { Security } = yield* Settings
    const now = yield* store.now
    const [log] = keysOf(limitKey(address))
    const used = yield* store.run(unitsSince, { keys: [log], now, context: NO_CONTEXT, call: { ago: now - HOUR } })
    return Math.max(0, Security.RateLimitHourly - used)
  })

/** Leases, waiting tickets and live sessions of the default campaign. */
export const figures = (slots = 1) =>
  FifoQueue.use((queue) =>
    Effect.map(queue.sweep({ campaign: "business/campaign", slots, instance: "" }), ({ result }) => ({
      leases: result.leases,
      waiting: result.waiting,
      live: result.live,
    })),
  )
