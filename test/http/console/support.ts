/** A gate with a console over a real server: the embedded store, a platform in memory, no limits. */
import { createServer } from "node:http"
import { Effect, Layer, type Scope } from "effect"
import * as Gate from "../../../src/embedded/as-configured.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { PageRoot } from "../../../src/http/console/routes.ts"
import { Listeners } from "../../../src/http/Listeners.ts"
import * as ListenersLayer from "../../../src/http/server/listeners.ts"
import { type IpFacts, noFacts } from "../../../src/ip-intel/facts.ts"
import { IpIntel } from "../../../src/ip-intel/IpIntel.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { Reload, type ReloadOutcome } from "../../../src/operator/Reload.ts"
import type { PlatformError } from "../../../src/platform-api/errors.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import * as PushChannel from "../../../src/push-channel/layer.ts"
import { layerFrom } from "../../../src/settings/given.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"

export const TOKEN = "console-token-0123456789"

export interface Options {
  readonly token?: string | undefined
  readonly slots?: number
  readonly basePath?: string
  /** the folder that holds the built page in `console/` */
  readonly pageRoot?: string
  readonly security?: Readonly<Record<string, unknown>>
  /** what is known of every address; nothing is held against it when absent */
  readonly facts?: IpFacts
  /** how many may wait */
  readonly queueLength?: number
  /** what a reload of the settings does; without it, the host determines them */
  readonly reload?: ReloadOutcome
  /** names of campaigns beside the default one */
  readonly campaigns?: ReadonlyArray<string>
  /** `Events` of the campaigns; none when absent */
  readonly events?: Readonly<Record<string, unknown>>
  /** `Budgets` of the campaigns; none when absent */
  readonly budgets?: ReadonlyArray<object>
}

/** The store of the test: `away` makes it fail as Redis does when it cannot be reached. */
const makeStore = (state: { away: boolean }): Layer.Layer<Store> =>
  Layer.effect(
    Store,
    Effect.map(Store, (store) => ({
      ...store,
      run: (rule, ask) =>
        state.away
          ? Effect.fail(new StoreUnavailable({ message: "The shared store cannot be reached." }))
          : store.run(rule, ask),
    })),
  ).pipe(Layer.provide(memory.layer))

const intel = (facts: IpFacts): Layer.Layer<IpIntel> =>
  Layer.succeed(IpIntel, IpIntel.of({ provider: "none", lookup: () => Effect.succeed(facts), probe: Effect.void }))

interface PlatformState {
  starts: PlatformError | undefined
  ends: boolean | "unsupported"
}

const platform = (state: PlatformState) =>
  Layer.effect(
    PlatformApi,
    Effect.sync(() => {
      let sessions = 0
      return PlatformApi.of({
        initiate: () =>
          Effect.suspend(() => {
            if (state.starts !== undefined) return Effect.fail(state.starts)
            sessions++
            return Effect.succeed({ sessionIds: [`s${sessions}`], webSocketUrl: `wss://platform.example/${sessions}` })
          }),
        concurrency: () => Effect.succeed({ limit: 1, inUse: 0 }),
        sessionStatus: () => Effect.succeed({ status: "unknown", sessionIds: [] }),
        sessionsOf: () => Effect.undefined,
        end: () => Effect.sync(() => state.ends),
        verify: () =>
          Effect.succeed([
            { subject: "platform", state: "ok", detail: "reachable; the key may read business b" },
            { subject: "region", state: "not_checked", detail: "the key may not read regions" },
          ]),
      })
    }),
  )

export interface GateUnderTest {
  readonly url: string
  readonly gatekeeper: Gatekeeper["Service"]
  readonly operator: Operator["Service"]
  readonly store: Store["Service"]
  /** makes the store fail until it is false again */
  readonly setAway: (away: boolean) => void
  /** makes starts fail so until it is undefined again */
  readonly setStarts: (failure: PlatformError | undefined) => void
  /** what the platform answers when it is to end a session; at first it cannot be asked */
  readonly setEnds: (ends: PlatformState["ends"]) => void
}

/** Starts it for as long as the scope is open. */
export const startGate = ({
  basePath = "",
  budgets,
  campaigns = [],
  events,
  facts = noFacts,
  pageRoot,
  queueLength = 10_000,
  reload,
  security = {},
  slots = 1,
  ...options
}: Options = {}): Effect.Effect<GateUnderTest, unknown, Scope.Scope> => {
  const token = "token" in options ? options.token : TOKEN
  const state: PlatformState & { away: boolean } = { away: false, starts: undefined, ends: "unsupported" }
  const settings = layerFrom({
    VoiceAiPlatform: {
      ApiSecretToken: "key-of-the-platform",
      BaseUrl: "http://127.0.0.1:1/",
      BusinessId: "b",
      WebCampaignId: "c",
      DefaultRegionId: "r",
      MaxConcurrency: slots,
      ...(events === undefined ? {} : { Events: events }),
      ...(budgets === undefined ? {} : { Budgets: budgets }),
      ...(campaigns.length > 0 && {
        Campaigns: Object.fromEntries(campaigns.map((name) => [name, { WebCampaignId: `c-${name}` }])),
      }),
    },
    Security: {
      RateLimitHourly: 0,
      RateLimitDaily: 0,
      RateLimitConcurrency: 0,
      WebhookApiToken: "webhook-token-0123456789",
      ...(token === undefined ? {} : { ConsoleToken: token }),
      ...security,
    },
    Queue: { DisconnectGraceSeconds: 3600, MaxLength: queueLength },
    Server: { Host: "127.0.0.1" },
  })
  const gate = ListenersLayer.layer({ basePath }).pipe(
    Layer.provideMerge(Gate.layerNoDeps),
    Layer.provide([intel(facts), platform(state)]),
    Layer.provide(PushChannel.layerShared),
    Layer.provideMerge(makeStore(state)),
    Layer.provide(settings),
    Layer.provide(
      reload === undefined
        ? Layer.empty
        : Layer.succeed(Reload, { reload: () => Effect.succeed(reload), close: Effect.void }),
    ),
    Layer.provide(pageRoot === undefined ? Layer.empty : Layer.succeed(PageRoot, pageRoot)),
  )
  return Effect.gen(function* () {
    const context = yield* Layer.build(gate)
    return yield* Effect.provide(
      Effect.gen(function* () {
        const listeners = yield* Listeners
        const server = createServer(listeners.request)
        server.on("upgrade", listeners.upgrade)
        yield* Effect.acquireRelease(
          Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
          () =>
            Effect.sync(() => {
              server.close()
              server.closeAllConnections()
            }),
        )
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        return {
          url: `http://127.0.0.1:${port}${basePath}`,
          gatekeeper: yield* Gatekeeper,
          operator: yield* Operator,
          store: yield* Store,
          setAway: (away: boolean) => {
            state.away = away
          },
          setStarts: (failure: PlatformError | undefined) => {
            state.starts = failure
          },
          setEnds: (ends: PlatformState["ends"]) => {
            state.ends = ends
          },
        }
      }),
      context,
    )
  })
}
