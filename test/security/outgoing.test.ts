/**
 * Outgoing requests, to the platform and to the provider of IP intelligence, and hostile answers: redirects are not followed,
 * an endless answer is not read to its end, and nothing in an answer becomes more than text.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { loadList } from "../../src/ip-intel/list-source.ts"
import { layer as platformApi } from "../../src/platform-api/layer.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import { layerFrom } from "../../src/settings/given.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { campaign, sessionConfig, settings } from "../platform/support.ts"

type Script = (request: IncomingMessage, response: ServerResponse) => void

/** A server for this test, and the requests that reached it. */
const serving = (script: Script) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const reached: Array<IncomingMessage> = []
      const server = createServer((request, response) => {
        reached.push(request)
        response.on("error", () => {})
        script(request, response)
      }).listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
      return { reached, server, url: `http://127.0.0.1:${address.port}/` }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  )

/** A valid start, then spaces as fast as they are read; reports how much was read. */
const endless =
  (beginning: string, taken: { bytes: number }): Script =>
  (_request, response) => {
    const chunk = Buffer.alloc(64 * 1024, " ")
    response.writeHead(200, { "content-type": "application/json" })
    response.write(beginning)
    const more = (): void => {
      // far beyond any limit, so that the test also ends when no limit works
      while (taken.bytes < 256 * 2 ** 20) {
        taken.bytes += chunk.length
        if (!response.write(chunk)) return
      }
      response.end()
    }
    response.on("drain", more)
    more()
  }

/** The same in a few kilobytes that decompress to 80 MiB. */
const bomb = (beginning: string): Script => {
  const packed = gzipSync(beginning + " ".repeat(80 * 2 ** 20))
  return (_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(packed)
  }
}

const SESSION = JSON.stringify({
  success: true,
  data: { sessionId: "s", sessionWebSocketURL: "wss://agent.example/s" },
})
const FACTS = JSON.stringify({ is_vpn: true })
/** More than any limit. */
const MOST = 16 * 2 ** 20
const MOST_OF_A_LIST = 128 * 2 ** 20

const startAt = (baseUrl: string) =>
  PlatformApi.use((api) => Effect.result(api.initiate(sessionConfig(), "a"))).pipe(
    Effect.provide(platformApi.pipe(Layer.provide([settings(campaign({ BaseUrl: baseUrl })), FetchHttpClient.layer]))),
  )

const lookUpAt = (BaseUrl: string, Provider = "ipapi.is", TimeoutMillis = 20_000) =>
  IpIntel.use((intel) => Effect.result(intel.lookup("93.184.216.34"))).pipe(
    Effect.provide(
      IpIntel.layer.pipe(
        Layer.provide([
          layerFrom({
            StoreConnectionString: "memory:",
            VoiceAiPlatform: {
              ApiSecretToken: "k",
              BaseUrl: "http://127.0.0.1:9",
              BusinessId: "b",
              WebCampaignId: "c",
              DefaultRegionId: "r",
              MaxConcurrency: 1,
            },
            Security: { WebhookApiToken: "webhook-token-0123456789" },
            IpIntel: { Provider, ApiKey: "provider-key", BaseUrl, TimeoutMillis },
          }),
          memory.layer,
          FetchHttpClient.layer,
        ]),
      ),
    ),
  )

describe("a redirect", { timeout: 60_000 }, () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it.live(`a redirect of the platform with ${status} is not followed, to this host or another`, () =>
      Effect.gen(function* () {
        const elsewhere = yield* serving((_request, response) => response.end("{}"))
        const platform = yield* serving((request, response) => {
          const location = request.url === "/here" ? "/" : status === 307 ? "/here" : elsewhere.url
          response.writeHead(status, { location }).end()
        })
        const result = yield* startAt(`${platform.url}api/v1/`)
        assert.strictEqual(result._tag, "Failure")
        assert.lengthOf(platform.reached, 1)
        assert.lengthOf(elsewhere.reached, 0)
      }),
    )
  }

  for (const provider of ["ipapi.is", "proxycheck.io", "vpnapi.io", "ip2location.io", "ipinfo.io"]) {
    it.live(`a redirect of ${provider} is not followed`, () =>
      Effect.gen(function* () {
        const elsewhere = yield* serving((_request, response) => response.end("{}"))
        const asked = yield* serving((_request, response) => response.writeHead(302, { location: elsewhere.url }).end())
        const result = yield* lookUpAt(asked.url, provider)
        assert.strictEqual(result._tag, "Failure")
        assert.lengthOf(asked.reached, 1)
        assert.lengthOf(elsewhere.reached, 0)
      }),
    )
  }
})

/** These tests compress, send and decompress a lot of data. */
const options = { timeout: 60_000 }

describe("an endless answer", options, () => {
  for (const [what, script] of [
    ["uncompressed", endless],
    ["compressed into a few kilobytes", bomb],
  ] as const) {
    it.live(`an endless answer from the platform is not read to its end, ${what}`, () =>
      Effect.gen(function* () {
        const taken = { bytes: 0 }
        const platform = yield* serving(script(SESSION, taken))
        const result = yield* startAt(platform.url)
        assert.strictEqual(result._tag === "Failure" ? result.failure.reason._tag : "", "Unavailable")
        assert.isBelow(taken.bytes, MOST)
      }),
    )

    it.live(`an endless answer from a provider is not read to its end, ${what}`, () =>
      Effect.gen(function* () {
        const taken = { bytes: 0 }
        const provider = yield* serving(script(FACTS, taken))
        assert.strictEqual((yield* lookUpAt(provider.url))._tag, "Failure")
        assert.isBelow(taken.bytes, MOST)
      }),
    )

    it.live(`an endless answer in place of a list of addresses is not read to its end, ${what}`, () =>
      Effect.gen(function* () {
        const taken = { bytes: 0 }
        const { url } = yield* serving(script("192.0.2.0/24\n", taken))
        const list = HttpClient.HttpClient.pipe(Effect.flatMap((client) => loadList(client, url)))
        const result = yield* Effect.result(Effect.provide(list, FetchHttpClient.layer))
        assert.include(result._tag === "Failure" ? result.failure.message : "", "too long")
        assert.isBelow(taken.bytes, MOST_OF_A_LIST)
      }),
    )
  }

  it.live("an answer that never starts is timed out", () =>
    Effect.gen(function* () {
      const provider = yield* serving(() => {})
      const result = yield* lookUpAt(provider.url, "ipapi.is", 100)
      assert.strictEqual(result._tag === "Failure" ? result.failure.reason : "", "timeout")
    }),
  )

  it.live("does not affect one of ordinary length, which is read in chunks and compressed", () =>
    Effect.gen(function* () {
      const text = JSON.stringify({ is_vpn: true, filler: "é".repeat(200_000) })
      const packed = gzipSync(text)
      const provider = yield* serving((_request, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        for (let at = 0; at < packed.length; at += 100) response.write(packed.subarray(at, at + 100))
        response.end()
      })
      const result = yield* lookUpAt(provider.url)
      assert.isTrue(result._tag === "Success" && result.success.vpn)
    }),
  )
})
