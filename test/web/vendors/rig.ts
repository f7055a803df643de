/** A gate whose campaign is of a vendor's fake, and a site whose pages call through it. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import { pathToFileURL } from "node:url"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Gate from "../../../src/embedded/as-configured.ts"
import { WidgetFiles } from "../../../src/http/documents/widget-files.ts"
import { Listeners } from "../../../src/http/Listeners.ts"
import * as ListenersLayer from "../../../src/http/server/listeners.ts"
import type { FakeOpenAI } from "../../../src/platform-api/openai/fake.ts"
import { Sideband } from "../../../src/platform-api/shared/sideband.ts"
import { layerFrom } from "../../../src/settings/given.ts"
import type { FakeVendor } from "../../../src/testing/FakeVendor.ts"
import type { Built } from "../rig.ts"
import { startSite } from "../site.ts"

/** What the site answers, by path; a text is a script, or a page where it begins with `<`. */
export type Files = Record<string, string | Buffer>

export interface VendorRig {
  /** where the gate is reached; ends in a slash */
  readonly url: string
  /** the origin of the pages, where the gate answers too */
  readonly site: string
  readonly files: Files
  /** the page's requests for sessions and of tickets so far, as method and path; a ticket is `:id` */
  readonly asked: Array<string>
  readonly stop: () => Promise<void>
}

const CALLS = /\/session\/(?!request)[^/]+/

/** @param settings what differs from the fake's own settings, at `VoiceAiPlatform` */
export const startVendorRig = async (
  built: Built,
  fake: FakeVendor | FakeOpenAI,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<VendorRig> => {
  const files: Files = {}
  const asked: Array<string> = []
  const note = ({ method = "", url = "" }: IncomingMessage): void => {
    if (method !== "OPTIONS" && url.startsWith("/api/") && !url.startsWith("/api/availability"))
      asked.push(`${method} ${url.replace(CALLS, "/session/:id")}`)
  }
  let gateOf: RequestListener | undefined
  const site = await startSite((request, response) => {
    const content = files[request.url?.split("?")[0] ?? ""]
    if (content === undefined && gateOf !== undefined) {
      note(request)
      gateOf(request, response)
      return
    }
    const type = String(content).startsWith("<") ? "text/html" : "text/javascript"
    response.writeHead(content === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` }).end(content)
  })
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")

  const scope = await Effect.runPromise(Scope.make())
  const gate = ListenersLayer.layer().pipe(
    Layer.provide(Gate.layer),
    Layer.provide(
      layerFrom({
        StoreConnectionString: "memory:",
        VoiceAiPlatform: { ...fake.settings, ...settings },
        Security: {
          WebhookApiToken: "webhook-token-of-the-tests",
          AllowedOrigins: [site.origin],
          RateLimitHourly: 0,
          RateLimitDaily: 0,
          RateLimitConcurrency: 0,
        },
        Server: { Host: "127.0.0.1" },
      }),
    ),
    Layer.provide(Layer.succeed(WidgetFiles, [pathToFileURL(`${built.widget}/`)])),
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fake.fetch)),
    Layer.provide("sideband" in fake ? Layer.succeed(Sideband, fake.sideband) : Layer.empty),
    Layer.provide(Logger.layer([])),
  )
  const context = await Effect.runPromise(Layer.buildWithScope(gate, scope))
  const listeners = await Effect.runPromise(Effect.provide(Listeners, context))
  gateOf = listeners.request
  server.on("request", note)
  server.on("request", listeners.request)
  server.on("upgrade", listeners.upgrade)
  return {
    url: `http://127.0.0.1:${address.port}/`,
    site: site.origin,
    files,
    asked,
    stop: async () => {
      await site.stop()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      server.close()
      server.closeAllConnections()
    },
  }
}
