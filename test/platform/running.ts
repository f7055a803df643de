/** A running local platform for tests, with a gate's client for each of its keys. */
import { Context, Effect, Layer, type Redacted } from "effect"
import type { WebhookTarget } from "../../src/platform/model.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { layer as clientLayer } from "../../src/platform-api/layer.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import { campaign, http, prepare, settings } from "./support.ts"

/** A platform on a free port, its keys, and a gate's client for each of them. Stopped with the scope. */
export const running = Effect.fnUntraced(function* (sessionEnded?: WebhookTarget, options: Platform.Options = {}) {
  const context = yield* Layer.build(Platform.layer({ privateWebhooks: true, ...options }))
  const { keys } = yield* Effect.provideContext(prepare(sessionEnded), context)
  const platform = Context.get(context, Platform.Platform)
  const client = Effect.fnUntraced(function* (secret: Redacted.Redacted<string>, businessId = "b1") {
    const configured = campaign({ ApiSecretToken: secret, BaseUrl: platform.baseUrl, BusinessId: businessId })
    const layer = clientLayer.pipe(Layer.provide([settings(configured), http]))
    const api = Context.get(yield* Layer.build(layer), PlatformApi)
    const initiate = (...given: Parameters<typeof api.initiate>) =>
      Effect.map(api.initiate(...given), ({ webSocketUrl = "", ...session }) => ({ ...session, webSocketUrl }))
    return { ...api, initiate }
  })
  const request = (path: string, init: RequestInit) =>
    Effect.promise(async () => {
      const response = await fetch(platform.origin + path, init)
      const body: unknown = await response.json()
      return { status: response.status, body, headers: response.headers }
    })
  return { platform, keys, client, request }
})
