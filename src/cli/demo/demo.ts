/**
 * Everything on one machine, offline: a local platform with two slots, the gate with the embedded store, and a page to call from.
 * The gate's key is restricted to its business and may only start calls, as in production.
 */
import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Redacted, Struct } from "effect"
import { HttpRouter, HttpServerResponse, HttpStaticServer } from "effect/http"
import { GateServer } from "../../http/Listeners.ts"
import * as Platform from "../../platform/Platform.ts"
import { makeStarterAccount } from "../../platform/starter.ts"
import { packageFile } from "../../serving/package-files.ts"
import { layerFrom } from "../../settings/given.ts"
import { server } from "../serve/serve.ts"

export const SLOTS = 2
const REGION = "local"
const EMAIL = "demo@example.com"

/** The pages may load only their own files, and open WebSockets to the gate and the platform. */
export const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "permissions-policy": "microphone=(self)",
}

/** For what a page of another origin may read. */
export const ANY_ORIGIN = { "access-control-allow-origin": "*" }

/** The demo's pages: one with the widget, and one in plain JavaScript with the headless client. */
export const PAGES = { "/": "index.html", "/headless.html": "headless.html" } as const

/** The built demo pages with their files; the files alone if `html` is false. */
export const pages = (
  directory = packageFile("web/demo"),
  { html = true }: { readonly html?: boolean } = {},
): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const files = yield* HttpStaticServer.make({ root: fileURLToPath(directory) })
      const answer = files.pipe(
        Effect.catch(() => Effect.succeed(HttpServerResponse.empty({ status: 404 }))),
        Effect.map(HttpServerResponse.setHeaders(PAGE_HEADERS)),
      )
      const paths = ["/headless.js", "/headless.css", "/assets/*"] as const
      for (const path of paths) yield* router.add("GET", path, answer)
      if (html) for (const path of Struct.keys(PAGES)) yield* router.add("GET", path, answer)
      yield* router.add("GET", "/demo-agent.js", Effect.map(answer, HttpServerResponse.setHeaders(ANY_ORIGIN)))
    }),
  ).pipe(Layer.orDie, Layer.provide(NodeHttpServer.layerHttpServices))

/** The preferred port, or any free one when it is in use. */
export const freePort = (wanted: number): Effect.Effect<number> => {
  const probe = (port: number) =>
    Effect.callback<number | undefined>((resume) => {
      const server = createServer()
      server.once("error", () => resume(Effect.succeed(undefined)))
      server.listen({ host: "127.0.0.1", port }, () => {
        const address = server.address()
        const bound = typeof address === "object" && address !== null ? address.port : port
        server.close(() => resume(Effect.succeed(bound)))
      })
    })
  return Effect.flatMap(probe(wanted), (port) =>
    port === undefined ? Effect.map(probe(0), (free) => free ?? 0) : Effect.succeed(port),
  )
}

const announce = (password: Redacted.Redacted<string>, consoleToken: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { url } = yield* GateServer
      const { origin } = yield* Platform.Platform
      yield* Effect.sync(() =>
        process.stdout.write(
          [
            "",
            `  voicegate demo   ${url}/`,
            "",
            `  ${SLOTS} callers can talk at once: open the page in more tabs to see the queue.`,
            `  Documentation    ${url}/docs`,
            `  Console          ${url}/console   with the token ${consoleToken}`,
            `  Local platform   ${origin}/   sign in as ${EMAIL} with ${Redacted.value(password)}`,
            "  Stop with Ctrl-C.",
            "",
            "",
          ].join("\n"),
        ),
      )
    }),
  )

/** The settings of a demo's gate. `platform` is its `VoiceAiPlatform`. */
export const demoSettings = ({
  allowedOrigins,
  consoleToken,
  platform,
  port,
  webhookToken,
}: {
  readonly allowedOrigins: ReadonlyArray<string>
  readonly consoleToken: string
  readonly platform: Readonly<Record<string, unknown>>
  readonly port: number
  readonly webhookToken: string
}) => ({
  StoreConnectionString: "memory:",
  VoiceAiPlatform: platform,
  Security: {
    WebhookApiToken: webhookToken,
    ConsoleToken: consoleToken,
    AllowedOrigins: allowedOrigins,
    // no provider is asked offline
    BlockVpn: false,
    BlockProxy: false,
    BlockTor: false,
    RateLimitHourly: 500,
    RateLimitDaily: 1000,
    // all tabs share one address
    RateLimitConcurrency: 20,
  },
  Server: { Host: "127.0.0.1", Port: port },
})

/**
 * Runs the demo until it is stopped.
 * @param wanted the preferred port of its page
 * @param allowedOrigins origins of other pages that may call
 */
export const demo = (wanted: number, allowedOrigins: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const port = yield* freePort(wanted)
    const password = Redacted.make(randomBytes(9).toString("base64url"))
    const consoleToken = randomBytes(12).toString("base64url")
    const webhookToken = Redacted.make(randomBytes(24).toString("base64url"))
    const platform = Platform.layer({ privateWebhooks: true })
    const settings = Layer.unwrap(
      Effect.gen(function* () {
        const { baseUrl, origin } = yield* Platform.Platform
        const account = yield* makeStarterAccount({
          name: "Demo",
          regionId: REGION,
          callConcurrency: SLOTS,
          signIn: { email: EMAIL, password },
          sessionEnded: {
            url: `http://127.0.0.1:${port}/api/webhook/session-ended`,
            headers: { "X-Api-Token": webhookToken },
          },
        })
        return layerFrom(
          demoSettings({
            platform: {
              ApiSecretToken: account.secret,
              BaseUrl: baseUrl,
              BusinessId: account.businessId,
              WebCampaignId: account.webCampaignId,
              DefaultRegionId: account.regionId,
              MaxConcurrency: SLOTS,
            },
            port,
            consoleToken,
            webhookToken: Redacted.value(webhookToken),
            // the platform's dashboard previews the widget
            allowedOrigins: [origin, ...allowedOrigins],
          }),
        )
      }),
    )
    return yield* Layer.launch(
      announce(password, consoleToken).pipe(
        Layer.provide(server({ routes: pages() })),
        Layer.provide(settings),
        Layer.provide(platform),
      ),
    )
  })
