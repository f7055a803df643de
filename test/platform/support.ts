/** What the tests of the platform and of its client share: settings, a seed, and a server that answers by script. */
import { createServer, type IncomingHttpHeaders } from "node:http"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import type { Seed, WebhookTarget } from "../../src/platform/Accounts.ts"
import { mintSecret } from "../../src/platform/ApiKeys.ts"
import type { SessionConfig } from "../../src/Session.ts"
import { type Campaign, Settings, type SettingsTree } from "../../src/Settings.ts"

export const campaign = (fields: Partial<Campaign>): Campaign => ({
  name: "default",
  ApiSecretToken: Redacted.make("vgp_test"),
  BaseUrl: "http://127.0.0.1:9/api/v1/",
  BusinessId: "b1",
  WebCampaignId: "c1",
  DefaultRegionId: "eu",
  AllowedRegionIds: ["eu"],
  MaxConcurrency: undefined,
  ...fields,
})

export const settings = (...campaigns: [Campaign, ...ReadonlyArray<Campaign>]): Layer.Layer<Settings> => {
  const tree: SettingsTree = {
    StoreConnectionString: Redacted.make("memory:"),
    Campaigns: campaigns,
    IpIntel: {
      Provider: "none",
      ApiKey: undefined,
      BaseUrl: undefined,
      OnError: "allow",
      CacheDays: 14,
      LookupsPerMinute: 600,
      TimeoutMillis: 1000,
      Lists: { Vpn: [], Datacenter: [], Tor: [], Relay: [], RefreshHours: 24 },
    },
    Security: {
      RateLimitHourly: 20,
      RateLimitDaily: 100,
      RateLimitConcurrency: 0,
      BlockVpn: true,
      BlockProxy: true,
      BlockTor: true,
      BlockDatacenter: false,
      WebhookApiToken: [],
      WebhookSigningSecret: [],
      ConsoleToken: undefined,
      AllowedOrigins: [],
      TrustedProxies: [],
    },
    Queue: { MaxLength: 10, DisconnectGraceSeconds: 30, StartWindowSeconds: 30, MaxCallMinutes: 120 },
    Server: { Host: "127.0.0.1", Port: 0 },
  }
  return Layer.succeed(Settings, tree)
}

export const sessionConfig = (fields: Partial<SessionConfig> = {}): SessionConfig => ({
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  dynamicVariables: {},
  metadata: {},
  audio: {},
  ...fields,
})

/** A user with two calls, two businesses, and a key of every kind. */
export const makeSeed = (sessionEnded?: WebhookTarget) => {
  const keys = {
    all: mintSecret(),
    users: mintSecret(),
    restricted: mintSecret(),
    none: mintSecret(),
    other: mintSecret(),
  }
  const seed: Seed = {
    regions: ["eu"],
    users: [
      { id: "u1", name: "Ada", callConcurrency: 2 },
      { id: "u2", name: "Bob", callConcurrency: 1 },
    ],
    businesses: [
      {
        id: "b1",
        userId: "u1",
        name: "Shop",
        webCampaigns: [{ id: "c1", name: "Web", ...(sessionEnded && { sessionEnded }) }],
      },
      { id: "b2", userId: "u1", name: "Cafe", webCampaigns: [] },
      { id: "b3", userId: "u2", name: "Bar", webCampaigns: [] },
    ],
    keys: [
      { name: "all", userId: "u1", secret: keys.all, scope: { type: "Unrestricted" }, userManagement: false },
      { name: "users", userId: "u1", secret: keys.users, scope: { type: "Unrestricted" }, userManagement: true },
      {
        name: "restricted",
        userId: "u1",
        secret: keys.restricted,
        scope: { type: "Restricted", businessIds: ["b2"] },
        userManagement: false,
      },
      {
        name: "none",
        userId: "u1",
        secret: keys.none,
        scope: { type: "Restricted", businessIds: [] },
        userManagement: false,
      },
      { name: "other", userId: "u2", secret: keys.other, scope: { type: "Unrestricted" }, userManagement: false },
    ],
  }
  return { seed, keys }
}

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What the scripted server does with a request: answers, or breaks the connection. */
export type Scripted = { readonly status: number; readonly body: string } | "reset"

/** A server on a free port of 127.0.0.1, stopped with the scope; it answers by `script` and remembers what it received. */
export const scriptedServer = (script: (request: Received, index: number) => Scripted) =>
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
        response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body)
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
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
