/**
 * The client of the voice-agent platform: starts sessions, reads concurrency and a session's status, ends sessions, with typed failures.
 * Each campaign is served by the adapter of its `Platform` (`platform-api/`).
 *
 * A start is never retried, because it may have been carried out. A read is tried twice. Campaigns with the same address share a
 * circuit breaker (`platform-api/circuit.ts`). It opens when the platform gives no usable answer to several callers in a row, for
 * five seconds at first and longer each time. One caller alone cannot open it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import type { Adapter, VendorWebhook } from "./platform-api/adapter.ts"
import { makeAdapter } from "./platform-api/adapters.ts"
import { makeCircuit } from "./platform-api/circuit.ts"
import { type PlatformError, refused } from "./platform-api/errors.ts"
import type { Concurrency, Finding, RelayedSession, SessionState, WebSession } from "./platform-api/model.ts"
import { makeSend } from "./platform-api/requests.ts"
import {
  readWebhook,
  refuseUnread,
  type UnreadVerdict,
  type WebhookReader,
  type WebhookVerdict,
} from "./platform-api/webhooks.ts"
import type { StartConfig } from "./Session.ts"
import { Settings } from "./Settings.ts"

export type { VendorWebhook } from "./platform-api/adapter.ts"
export { CIRCUIT_FAILURES, CIRCUIT_OPEN_MILLIS } from "./platform-api/circuit.ts"
export {
  AtCapacity,
  KeyRateLimited,
  PlatformError,
  Refused,
  RequestRefused,
  Unavailable,
} from "./platform-api/errors.ts"
export type { Concurrency, Finding, RelayedSession, SessionState, WebSession } from "./platform-api/model.ts"
export { READ_TIMEOUT_MILLIS, START_TIMEOUT_MILLIS } from "./platform-api/transport.ts"
export type { UnreadVerdict, WebhookVerdict } from "./platform-api/webhooks.ts"
export type { StartConfig } from "./Session.ts"

export class PlatformApi extends Context.Service<
  PlatformApi,
  {
    /**
     * Starts a web session of a configured campaign (`config.campaign` is its name in the settings). `group` is the caller's
     * coarse group (`gatekeeper/caller-group.ts`): failures of one group alone do not open the circuit. It is not sent.
     */
    readonly initiate: (config: StartConfig, group: string) => Effect.Effect<WebSession, PlatformError>
    /**
     * Begins the session of an `sdp-relay` credential with its page's SDP offer. Never repeated. Absent of a platform without such
     * credentials.
     */
    readonly relay?:
      | ((config: StartConfig, offer: string, group: string) => Effect.Effect<RelayedSession, PlatformError>)
      | undefined
    /**
     * Watches a running session: true when it is over, false when it cannot be watched. It may take as long as the session. A platform without it reports ends otherwise.
     */
    readonly watch?: ((campaign: string, sessionId: string) => Effect.Effect<boolean, PlatformError>) | undefined
    /**
     * The account's concurrency. Fails with `Refused` when the key has no user management or the platform has no such endpoint.
     */
    readonly concurrency: (campaign: string) => Effect.Effect<Concurrency, PlatformError>
    /** Whether a session still runs, and its ids in the platform's history. */
    readonly sessionStatus: (campaign: string, sessionId: string) => Effect.Effect<SessionState, PlatformError>
    /**
     * The ids of each session of one client identifier in the web campaign that began after `since` (ms since 1970, by this
     * machine's clock), running or ended; undefined when the platform has no usable history.
     */
    readonly sessionsOf: (
      campaign: string,
      clientIdentifier: string,
      since: number,
    ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError>
    /** Whether the platform ends a call at `Queue.MaxCallMinutes` by itself. Without it, the gate ends such calls. */
    readonly limitsCalls?: ((campaign: string) => boolean) | undefined
    /**
     * Ends a session whose caller has left, one that nobody can open, or one that reaches `Queue.MaxCallMinutes`. True if it is over now; false if the platform cannot end it.
     * Idempotent. A platform without it reports the ends of its sessions alone.
     */
    readonly end?: ((campaign: string, session: WebSession) => Effect.Effect<boolean, PlatformError>) | undefined
    /**
     * From when on (ms since 1970) the caller's word is taken that a session is over, where nobody else can tell; undefined or absent
     * where the platform can.
     */
    readonly pageEnds?:
      | ((campaign: string, sessionId: string) => Effect.Effect<number | undefined, PlatformError>)
      | undefined
    /**
     * Authenticates and reads a webhook of a vendor, by the keys of all campaigns with this `Platform`. A host's own platform without it
     * calls `Gatekeeper.sessionEnded` itself.
     */
    readonly webhook?: ((platform: string, webhook: VendorWebhook) => Effect.Effect<WebhookVerdict>) | undefined
    /** Why `webhook` refuses a webhook with these headers whatever its body is; undefined if it needs the body. */
    readonly webhookRefusal?:
      | ((platform: string, headers: VendorWebhook["headers"]) => Effect.Effect<UnreadVerdict | undefined>)
      | undefined
    /**
     * Checks the campaign's settings with harmless reads, for `check`, the start and the console. What the platform does not
     * reveal is reported as not checked.
     */
    readonly verify: (campaign: string) => Effect.Effect<ReadonlyArray<Finding>>
  }
>()("voicegate/PlatformApi") {}

/** The platforms over HTTP. The host chooses the client, with its proxy, certificates and tracing. */
export const layer: Layer.Layer<PlatformApi, never, Settings | HttpClient.HttpClient> = Layer.effect(
  PlatformApi,
  Effect.gen(function* () {
    const settings = yield* Settings
    const send = makeSend(yield* HttpClient.HttpClient, yield* makeCircuit)
    const adapters = new Map(
      settings.Campaigns.map((campaign) => [campaign.name, makeAdapter(campaign, settings.Queue, send)]),
    )

    /** A waiting ticket may outlive its campaign in the settings, so an unknown name is a failure and not a defect. */
    const adapterOf = (name: string): Effect.Effect<Adapter, PlatformError> => {
      const adapter = adapters.get(name)
      return adapter === undefined
        ? Effect.fail(refused(404, "UNKNOWN_CAMPAIGN", "the settings have no such campaign"))
        : Effect.succeed(adapter)
    }
    const using =
      <Args extends ReadonlyArray<unknown>, A>(
        use: (adapter: Adapter, ...args: Args) => Effect.Effect<A, PlatformError>,
      ) =>
      (campaign: string, ...args: Args): Effect.Effect<A, PlatformError> =>
        Effect.flatMap(adapterOf(campaign), (adapter) => use(adapter, ...args))

    const readersOf = (platform: string): ReadonlyArray<WebhookReader> =>
      settings.Campaigns.filter(({ Platform }) => Platform === platform).flatMap(({ name: campaign }) => {
        const webhooks = adapters.get(campaign)?.webhooks
        return webhooks === undefined ? [] : [{ campaign, ...webhooks }]
      })

    return PlatformApi.of({
      initiate: (config, group) => Effect.flatMap(adapterOf(config.campaign), ({ mint }) => mint(config, group)),
      relay: (config, offer, group) =>
        Effect.flatMap(
          adapterOf(config.campaign),
          ({ relay }) =>
            relay?.(config, offer, group) ??
            Effect.fail(refused(501, "NO_RELAY", "the platform's sessions do not begin with an offer")),
        ),
      watch: using(({ watch }, sessionId: string) => watch?.(sessionId) ?? Effect.succeed(false)),
      concurrency: using(
        ({ capacity }) =>
          capacity ?? Effect.fail(refused(501, "NOT_TOLD", "the platform does not report how many calls may run")),
      ),
      sessionStatus: using(
        ({ status }, sessionId: string) =>
          status?.(sessionId) ?? Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] }),
      ),
      sessionsOf: using(
        ({ list }, clientIdentifier: string, since: number) => list?.(clientIdentifier, since) ?? Effect.undefined,
      ),
      limitsCalls: (campaign) => adapters.get(campaign)?.limitsCalls === true,
      end: using(({ end }, session: WebSession) => end?.(session) ?? Effect.succeed(false)),
      pageEnds: using(({ pageEnds }, sessionId: string) => Effect.succeed(pageEnds?.(sessionId))),
      webhook: (platform, webhook) =>
        Effect.map(Clock.currentTimeMillis, (now) => readWebhook(readersOf(platform), webhook, now)),
      webhookRefusal: (platform, headers) =>
        Effect.map(Clock.currentTimeMillis, (now) => refuseUnread(readersOf(platform), headers, now)),
      verify: (campaign) =>
        Effect.matchEffect(adapterOf(campaign), {
          onFailure: ({ message }) =>
            Effect.succeed<ReadonlyArray<Finding>>([{ subject: "platform", state: "failed", detail: message }]),
          onSuccess: ({ check }) => check,
        }),
    })
  }),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
