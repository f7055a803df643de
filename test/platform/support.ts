/** Shared by the tests of the platform and of its client: settings, users and keys, and a scripted server. */

import { createServer, type IncomingHttpHeaders } from "node:http"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { Businesses } from "../../src/platform/businesses/Businesses.ts"
import { WebCampaigns } from "../../src/platform/businesses/WebCampaigns.ts"
import { type NewApiKey, PERMISSIONS } from "../../src/platform/keys/ApiKey.ts"
import { ApiKeys } from "../../src/platform/keys/ApiKeys.ts"
import type { WebhookTarget } from "../../src/platform/model.ts"
import { Users } from "../../src/platform/users/Users.ts"
import type { StartConfig } from "../../src/protocol/request.ts"
import { type Campaign, Settings } from "../../src/settings/Settings.ts"
import { DEFAULTS } from "../harness/settings.ts"

export const campaign = (fields: Partial<Campaign>): Campaign => ({
  name: "default",
  ApiSecretToken: Redacted.make("vgp_test"),
  BaseUrl: "http://127.0.0.1:9/api/v1/",
  BusinessId: "b1",
  WebCampaignId: "c1",
  DefaultRegionId: "eu",
  AllowedRegionIds: ["eu"],
  AllowedTransportTypes: ["websocket"],
  MaxConcurrency: undefined,
  Platform: "iqra",
  ...fields,
})

export const settings = (...campaigns: [Campaign, ...ReadonlyArray<Campaign>]): Layer.Layer<Settings> =>
  Layer.succeed(Settings, { ...DEFAULTS, Campaigns: campaigns })

export const sessionConfig = (fields: Partial<StartConfig> = {}): StartConfig => ({
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  clientIdentifier: "somebody",
  dynamicVariables: {},
  metadata: {},
  audio: {},
  ...fields,
})

/** A region, a user with two calls and two businesses, another user, and a key of every kind, created through the services. */
export const prepare = Effect.fnUntraced(function* (sessionEnded?: WebhookTarget) {
  const users = yield* Users
  const businesses = yield* Businesses
  const apiKeys = yield* ApiKeys
  yield* businesses.putRegion({ id: "eu", name: "Europe" })
  const ada = yield* users.create({ id: "u1", name: "Ada", callConcurrency: 2 })
  yield* users.create({ id: "u2", name: "Bob", callConcurrency: 1 })
  const shop = yield* businesses.create("u1", { id: "b1", name: "Shop" })
  yield* businesses.create("u1", { id: "b2", name: "Cafe" })
  yield* businesses.create("u1", { id: "gone", name: "Gone" })
  yield* businesses.create("u2", { id: "b3", name: "Bar" })
  const webCampaign = yield* (yield* WebCampaigns).create(shop, {
    id: "c1",
    name: "Web",
    ...(sessionEnded && { sessionEnded }),
  })
  const create = (userId: string, key: Omit<NewApiKey, "permissions"> & Partial<Pick<NewApiKey, "permissions">>) =>
    apiKeys.create(userId, { permissions: PERMISSIONS, ...key })
  const make = (...wanted: Parameters<typeof create>) => Effect.map(create(...wanted), ({ secret }) => secret)
  const restricted = (...businessIds: Array<string>) => ({ type: "Restricted" as const, businessIds })
  const unrestricted = { type: "Unrestricted" as const }
  const gate = yield* create("u1", { name: "gate", scope: restricted("b1"), permissions: ["start"] })
  const keys = {
    /** only what a gate needs */
    gate: gate.secret,
    all: yield* make("u1", { name: "all", scope: unrestricted }),
    users: yield* make("u1", { name: "users", scope: unrestricted, userManagement: true }),
    restricted: yield* make("u1", { name: "restricted", scope: restricted("b2") }),
    none: yield* make("u1", { name: "none", scope: restricted("gone") }),
    other: yield* make("u2", { name: "other", scope: unrestricted }),
  }
  // The deletion removes it from the key that lists it.
  yield* businesses.remove("u1", "gone")
  return { ada, shop, webCampaign, keys, gateKeyId: gate.key.id }
})

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** How the scripted server reacts to a request: with an answer, or by breaking the connection. */
export type Scripted = { readonly status: number; readonly body: string; readonly retryAfter?: string } | "reset"

/** A server on 127.0.0.1, on a free port unless one is given, stopped with the scope; it answers by `script` and records the requests. */
export const scriptedServer = (script: (request: Received, index: number) => Scripted, port = 0) =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const entry = {
          method: request.method ?? "",
          url: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        }
        received.push(entry)
        const answer = script(entry, received.length - 1)
        if (answer === "reset") {
          request.socket.destroy()
          return
        }
        const { body, retryAfter, status } = answer
        const headers = { "content-type": "application/json", ...(retryAfter && { "retry-after": retryAfter }) }
        response.writeHead(status, headers).end(body)
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(port, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        }),
    )
    const address = server.address()
    if (address === null || typeof address === "string") return yield* Effect.die("the server has no port")
    return { received, url: `http://127.0.0.1:${address.port}/` }
  })

/** Waits, in real time, until a condition holds. */
export const until = (condition: () => boolean) =>
  Effect.callback<void>((resume) => {
    const timer = setInterval(() => {
      if (!condition()) return
      clearInterval(timer)
      resume(Effect.void)
    }, 5)
    return Effect.sync(() => clearInterval(timer))
  })

export const http = FetchHttpClient.layer
