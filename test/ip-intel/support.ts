/** Shared by the tests of IpIntel: settings, a fake store and a fake HTTP client. */
import { Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import { Settings, type SettingsTree } from "../../src/settings/Settings.ts"
import { Store } from "../../src/store/Store.ts"
import { DEFAULTS } from "../harness/settings.ts"

export const KEY = "k3y-that-must-not-leak"

export type IpSettings = SettingsTree["IpIntel"]

export const ipSettings = (overrides: Partial<IpSettings> = {}): IpSettings => ({
  ...DEFAULTS.IpIntel,
  Provider: "ipapi.is",
  ApiKey: Redacted.make(KEY),
  ...overrides,
})

/** The settings service with these settings for IpIntel, which does not read the rest. */
export const settingsLayer = (overrides: Partial<IpSettings> = {}): Layer.Layer<Settings> =>
  Layer.succeed(Settings, { ...DEFAULTS, IpIntel: ipSettings(overrides) })

/** A store of values only; `isDown` makes every call fail. */
export class FakeStore {
  readonly values = new Map<string, { readonly value: string; readonly ttlMillis: number }>()
  isDown = false
  gets = 0
  readonly #subscribers: Array<readonly [channel: string, onMessage: (message: string) => void]> = []

  #up<A>(step: () => A): Effect.Effect<A, StoreUnavailable> {
    return Effect.suspend(() =>
      this.isDown ? Effect.fail(new StoreUnavailable({ message: "down" })) : Effect.sync(step),
    )
  }

  readonly service: Store["Service"] = Store.of({
    run: () => Effect.die("not used"),
    crossSlot: true,
    get: (key) =>
      this.#up(() => {
        this.gets += 1
        return this.values.get(key)?.value
      }),
    set: (key, value, ttlMillis) => this.#up(() => void this.values.set(key, { value, ttlMillis })),
    publish: (channel, message) =>
      this.#up(() => {
        for (const [subscribed, onMessage] of this.#subscribers) if (subscribed === channel) onMessage(message)
      }),
    subscribe: (channel, onMessage) => Effect.sync(() => void this.#subscribers.push([channel, onMessage])),
    ping: Effect.void,
    now: Effect.succeed(0),
  })

  readonly layer: Layer.Layer<Store> = Layer.succeed(Store, this.service)
}

/** A fake server's answer: a status with a body, `refused`, or `never`. */
export type Answer = { readonly status?: number; readonly body: unknown } | "refused" | "never"

/** An HTTP client that records the requests and answers from a function. */
export class FakeHttp {
  readonly requests: Array<{ readonly url: string; readonly authorization: string | undefined }> = []
  answer: (url: URL) => Answer

  constructor(answer: (url: URL) => Answer) {
    this.answer = answer
  }

  readonly client: HttpClient.HttpClient = HttpClient.make((request: HttpClientRequest.HttpClientRequest, url) =>
    Effect.suspend(() => {
      this.requests.push({ url: url.href, authorization: request.headers.authorization })
      const answer = this.answer(url)
      if (answer === "never") return Effect.never
      if (answer === "refused") {
        return Effect.fail(
          new HttpClientError.HttpClientError({
            reason: new HttpClientError.TransportError({ request, description: `connect ECONNREFUSED ${url.href}` }),
          }),
        )
      }
      const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body)
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response(body, { status: answer.status ?? 200 })))
    }),
  )

  readonly layer: Layer.Layer<HttpClient.HttpClient> = Layer.succeed(HttpClient.HttpClient, this.client)
}

/** Everything that a careless log line could show of a value. */
export const printed = (value: unknown): string =>
  `${String(value)} ${JSON.stringify(value)} ${value instanceof Error ? `${value.stack} ${JSON.stringify(value.cause)}` : ""}`

export const cleanBody = { is_vpn: false, is_proxy: false, is_tor: false, is_datacenter: false }
export const clean: Answer = { body: cleanBody }
export const vpnBody: Answer = { body: { ...cleanBody, is_vpn: true } }
export const vpn = { ...noFacts, vpn: true }

/** The service as an application gets it, on a fake network and a fake store. */
export const start = (options: {
  readonly settings?: Partial<IpSettings>
  readonly store?: FakeStore
  readonly answer?: (url: URL) => Answer
}) =>
  Effect.gen(function* () {
    const http = new FakeHttp(options.answer ?? (() => clean))
    const store = options.store ?? new FakeStore()
    const context = yield* Layer.build(
      IpIntel.layer.pipe(Layer.provide([settingsLayer(options.settings), store.layer, http.layer])),
    )
    const service = yield* IpIntel.pipe(Effect.provide(context))
    return { ...service, http, store }
  })

/** Runs forked fibers. */
export const settle = TestClock.adjust(0)
