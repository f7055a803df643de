/** A gate over a store in memory, whose settings a test changes while it runs. */
import { Effect, Layer, Ref } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import type { Operator } from "../../src/operator/Operator.ts"
import { Reload } from "../../src/operator/Reload.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import * as PushChannels from "../../src/push-channel/layer.ts"
import type { PushChannel } from "../../src/push-channel/PushChannel.ts"
import * as ReloadLayer from "../../src/reload/layer.ts"
import type { LoadedSettings } from "../../src/settings/reading/resolve.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { type Json, platform, TOKEN, valid } from "../settings/support.ts"
import { BEGIN } from "../support/gate.ts"

export const load = (more: Json = {}, slots = 1, security: Json = {}, addresses: Json = {}): LoadedSettings =>
  valid({
    VoiceAiPlatform: { ...platform, MaxConcurrency: slots, ...more },
    Security: { WebhookApiToken: TOKEN, ...security },
    IpIntel: addresses,
  })
export const SALES = { Campaigns: { sales: { WebCampaignId: "sales-1", MaxConcurrency: 1 } } }

/** Where lookups of addresses go. */
export const PROVIDER = "https://ip.example/"

interface Starts {
  millis: number
  status?: number
}

/** The starts that a heartbeat of the console reports. */
const startedIn = (call: unknown): number => {
  const counts: unknown = Reflect.get(Object(call), "counts")
  return Number(Reflect.get(Object(counts), "started") ?? 0)
}

/** Every session starts and every address is a VPN's, after as much time as the test says. Counts the platform's other requests. */
const http = (
  starts: Starts,
  lookups: { readonly millis: number },
  checks: { count: number },
): Layer.Layer<HttpClient.HttpClient> => {
  let sessions = 0
  return Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.suspend(() => {
        if (request.url.startsWith(PROVIDER)) {
          const facts = { is_vpn: true, is_proxy: false, is_tor: false, is_datacenter: false }
          return Effect.delay(Effect.succeed(HttpClientResponse.fromWeb(request, Response.json(facts))), lookups.millis)
        }
        if (!request.url.endsWith("/initiate")) {
          checks.count++
          return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("{}", { status: 404 })))
        }
        const id = `session-${++sessions}`
        const data = {
          webSessionId: id,
          conversationSessionId: `c-${id}`,
          sessionWebSocketURL: "wss://platform.example/",
        }
        const { status = 200 } = starts
        const body = status === 200 ? { success: true, data } : { success: false, code: "INVALID" }
        const answer = HttpClientResponse.fromWeb(request, Response.json(body, { status }))
        return Effect.delay(Effect.succeed(answer), starts.millis)
      }),
    ),
  )
}

/** What listeners serve. */
export type Served = Gatekeeper | Operator | PushChannel | Reload | Settings | Store

/** A gate over a store that notes the rules that it runs. */
export const withGate = (
  first: LoadedSettings,
  test: (given: {
    readonly rules: Array<string>
    readonly state: { away: boolean }
    readonly starts: Starts
    readonly lookups: { millis: number }
    /** how many requests the platform got that start no session */
    readonly checks: { count: number }
    /** how long reading the settings takes, and how often they were read */
    readonly reading: { millis: number; count: number }
    /** heartbeats of the console: how long each takes, and how many starts they have reported */
    readonly heartbeats: { millis: number; started: number }
    readonly next: (settings: LoadedSettings) => Effect.Effect<void>
  }) => Effect.Effect<void, unknown, Served>,
) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(BEGIN)
    const rules: Array<string> = []
    const state = { away: false }
    const starts: Starts = { millis: 0 }
    const lookups = { millis: 0 }
    const checks = { count: 0 }
    const reading = { millis: 0, count: 0 }
    const heartbeats = { millis: 0, started: 0 }
    const file = yield* Ref.make(first)
    const away = Effect.fail(new StoreUnavailable({ message: "away" }))
    const store = Layer.effect(
      Store,
      Effect.map(Store, (inner) => ({
        ...inner,
        ping: Effect.suspend(() => (state.away ? away : inner.ping)),
        run: (rule, asked) => {
          rules.push(rule.name)
          if (rule.name !== "operator.heartbeat") return inner.run(rule, asked)
          heartbeats.started += startedIn(asked.call)
          return Effect.delay(inner.run(rule, asked), heartbeats.millis)
        },
      })),
    ).pipe(Layer.provide(Layer.fresh(memory.layer)))
    const read = Effect.suspend(() => {
      reading.count++
      return Effect.delay(Ref.get(file), reading.millis)
    })
    const layer = ReloadLayer.layer(read).pipe(
      Layer.provideMerge(PushChannels.layerShared),
      Layer.provideMerge(store),
      Layer.provideMerge(Layer.succeed(Settings, first.tree)),
      Layer.provide(http(starts, lookups, checks)),
    )
    const next = (settings: LoadedSettings) => Ref.set(file, settings)
    yield* test({ rules, state, starts, lookups, checks, reading, heartbeats, next }).pipe(Effect.provide(layer))
  })

export const reload = Effect.flatMap(Reload, ({ reload }) => reload("SIGHUP"))
export const request = (n: number) =>
  Gatekeeper.use((gatekeeper) => gatekeeper.request({}, { address: `192.0.2.${n}` }))
