/**
 * The client of the voice-agent platform: starts sessions, reads concurrency and a session's status, ends sessions, with typed failures.
 * Each campaign is served by the adapter of its `Platform` (`platform-api/`).
 *
 * A start is never retried, because it may have been carried out. A read without a usable answer is repeated once. Campaigns with
 * the same address share a circuit breaker (`platform-api/requests/circuit.ts`). It opens when the platform gives no usable answer to
 * several callers in a row, for five seconds at first and longer each time. One caller alone cannot open it.
 */
import { Clock, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import * as SteadyCircuits from "../lib/steady-circuits.ts"
import { type Campaign, Settings } from "../settings/Settings.ts"
import { type Adapter, lengthControlOf } from "./adapter.ts"
import { makeAdapter } from "./adapters.ts"
import { type PlatformError, refused } from "./errors.ts"
import type { Finding, Hears, LengthControl, SessionState, WebSession } from "./model.ts"
import { PlatformApi } from "./PlatformApi.ts"
import { safeDetail } from "./requests/answer.ts"
import { makeCircuit } from "./requests/circuit.ts"
import { makeSend } from "./requests/send.ts"
import { DEFAULT_PLATFORM } from "./vendors.ts"
import { readWebhook, refuseUnread, type WebhookReader } from "./webhooks/read.ts"

/** How far the gate can limit the length of a campaign's calls, at the gate's own platforms and at a host's. */
export const lengthControl = (platform: PlatformApi["Service"], campaign: string): LengthControl =>
  platform.lengthControl?.(campaign) ?? (platform.end === undefined ? "unbounded" : "endable")

/** What `check` and the start say where `SilenceSeconds` is set and the gate cannot end a call. */
const silenceFindings = ({ SilenceSeconds }: Campaign, control: LengthControl): ReadonlyArray<Finding> =>
  SilenceSeconds === undefined || control === "endable"
    ? []
    : [
        {
          subject: "silent calls",
          state: "not_checked",
          detail:
            "the gate cannot ask this platform to end a call, so SilenceSeconds holds only where the page ends it, as the widget does",
        },
      ]

/** What `check` and the start say where `MaxCallSeconds` is set and the gate cannot end a call at its limit. */
const lengthFindings = (
  { MaxCallSeconds, VendorEndsAfterMinutes }: Campaign,
  control: LengthControl,
  shortestSeconds: number,
): ReadonlyArray<Finding> => {
  if (MaxCallSeconds === undefined || control === "endable") return []
  const found = (detail: string): ReadonlyArray<Finding> => [
    { subject: "length of calls", state: "not_checked", detail },
  ]
  if (control === "bounded") {
    return MaxCallSeconds >= shortestSeconds
      ? []
      : found(
          `MaxCallSeconds is ${MaxCallSeconds}, and this platform takes no limit below ${shortestSeconds} s: a call whose page does not end it lasts so long`,
        )
  }
  return found(
    "the gate can neither end a call of this platform nor set its longest length, so MaxCallSeconds holds only where the page ends the call, as the widget does; " +
      (VendorEndsAfterMinutes === undefined
        ? "set VendorEndsAfterMinutes to the length after which the vendor itself ends a call"
        : `any other ends after the vendor's ${VendorEndsAfterMinutes} minutes (VendorEndsAfterMinutes)`),
  )
}

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
      watch: using(({ watch }, sessionId: string, hears?: Hears) => watch?.(sessionId, hears) ?? Effect.succeed(false)),
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
      reportsEnds: (campaign) => {
        const { WebhookApiToken, WebhookSigningSecret } = settings.Security
        const isDefault = settings.Campaigns.some(
          ({ name, Platform }) => name === campaign && Platform === DEFAULT_PLATFORM,
        )
        // the default platform's webhook is the gate's own; without a secret it is for programs of this machine
        return isDefault
          ? WebhookApiToken.length + WebhookSigningSecret.length > 0
          : adapters.get(campaign)?.webhooks !== undefined
      },
      lengthControl: (campaign) => {
        const adapter = adapters.get(campaign)
        return adapter === undefined ? "unbounded" : lengthControlOf(adapter)
      },
      limitsCalls: (campaign) => adapters.get(campaign)?.limitsCalls === true,
      shortestCallSeconds: (campaign) => adapters.get(campaign)?.shortestCallSeconds,
      startMillis: (campaign) => adapters.get(campaign)?.startMillis,
      end: using(({ end }, session: WebSession) => end?.(session) ?? Effect.succeed("unsupported" as const)),
      pageEnds: using(({ pageEnds }, session: WebSession) => Effect.succeed(pageEnds?.(session))),
      webhook: (platform, webhook) =>
        Effect.map(Clock.currentTimeMillis, (now) => readWebhook(readersOf(platform), webhook, now)),
      webhookRefusal: (platform, headers) =>
        Effect.map(Clock.currentTimeMillis, (now) => refuseUnread(readersOf(platform), headers, now)),
      verify: (campaign) =>
        Effect.matchEffect(adapterOf(campaign), {
          onFailure: ({ message }) =>
            Effect.succeed<ReadonlyArray<Finding>>([{ subject: "platform", state: "failed", detail: message }]),
          onSuccess: (adapter) =>
            Effect.map(adapter.check, (found) => {
              const findings = found.map((each) => ({ ...each, detail: safeDetail(each.detail) }))
              const settingsOf = settings.Campaigns.find(({ name }) => name === campaign)
              return settingsOf === undefined
                ? findings
                : [
                    ...findings,
                    ...silenceFindings(settingsOf, lengthControlOf(adapter)),
                    ...lengthFindings(settingsOf, lengthControlOf(adapter), adapter.shortestCallSeconds ?? 0),
                  ]
            }),
        }),
    })
  }),
).pipe(Layer.provide(SteadyCircuits.layer))
