/**
 * Everything on one machine, offline: a local platform with two slots, the gate with the embedded store, and a page to call from.
 * The gate's key is restricted to its business and may only start calls, as in production.
 */
import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { Effect, Layer, Redacted } from "effect"
import { GateServer } from "../../http/Listeners.ts"
import * as Platform from "../../platform/Platform.ts"
import { makeStarterAccount } from "../../platform/starter.ts"
import { layerFrom } from "../../settings/given.ts"
import { server } from "../serve/serve.ts"
import { allowing, pages } from "./pages.ts"

export const SLOTS = 2
const REGION = "local"
const EMAIL = "demo@example.com"

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
        Layer.provide(server({ routes: pages(allowing(allowedOrigins)) })),
        Layer.provide(settings),
        Layer.provide(platform),
      ),
    )
  })
