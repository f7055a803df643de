/** The gate's client of the platform, against a server with scripted answers. */
import { Effect, Layer, Redacted } from "effect"
import { layer } from "../../src/platform-api/layer.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import type { Campaign } from "../../src/settings/Settings.ts"
import {
  campaign,
  http,
  type Received,
  type Scripted,
  scriptedServer,
  sessionConfig,
  settings,
} from "../platform/support.ts"

export const SECRET = "vgp_topsecret"

export const json = (status: number, body: unknown) => ({ status, body: JSON.stringify(body) })
export const ok = (data: unknown): Scripted => json(200, { success: true, message: null, code: null, data })
export const no = (code: string, message: string | null, status = 200) =>
  json(status, { success: false, message, code, data: null })

/** Runs `use` against a server with scripted answers. */
export const against = <A, E>(
  script: (request: Received, index: number) => Scripted,
  use: (api: PlatformApi["Service"], received: ReadonlyArray<Received>) => Effect.Effect<A, E>,
  fields: Partial<Campaign> = {},
) =>
  Effect.gen(function* () {
    const server = yield* scriptedServer(script)
    const configured = campaign({ ApiSecretToken: Redacted.make(SECRET), BaseUrl: `${server.url}api/v1/`, ...fields })
    const live = layer.pipe(Layer.provide([settings(configured), http]))
    return yield* Effect.flatMap(PlatformApi, (api) => use(api, server.received)).pipe(Effect.provide(live))
  })

export const start = (script: (request: Received, index: number) => Scripted) =>
  against(script, (api) => api.initiate(sessionConfig(), "a"))

export const startData = {
  webSessionId: "w1",
  conversationSessionId: "s1",
  sessionWebSocketURL: "wss://p.example/x?token=t",
}
