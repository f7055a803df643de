/** Providers over real HTTP. */
import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { ipapiIs } from "../../src/ip-intel/providers/ipapi-is.ts"
import { vpnapi } from "../../src/ip-intel/providers/vpnapi.ts"
import { apiKey, IP, security, vpn } from "./provider-cases.ts"
import { KEY, printed } from "./support.ts"

describe("over real HTTP", () => {
  /** A server on a free port that records paths and answers 200 with a body. */
  const server = (body: string) =>
    Effect.acquireRelease(
      Effect.callback<{ readonly baseUrl: string; readonly paths: Array<string>; readonly close: () => void }>(
        (resume) => {
          const paths: Array<string> = []
          const listening = createServer((request, response) => {
            paths.push(`${request.url} ${request.headers.authorization ?? ""} ${request.headers.traceparent ?? ""}`)
            response.end(body)
          }).listen(0, "127.0.0.1", () => {
            const address = listening.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            const close = () => {
              listening.closeAllConnections()
              listening.close()
            }
            resume(Effect.succeed({ baseUrl: `http://127.0.0.1:${port}`, paths, close }))
          })
        },
      ),
      ({ close }) => Effect.sync(close),
    )

  it.live("requests an IPv6 address with the key and without a trace id", () =>
    Effect.gen(function* () {
      const { baseUrl, paths } = yield* server(JSON.stringify({ security: { ...security, vpn: true } }))
      const client = yield* HttpClient.HttpClient
      const facts = yield* vpnapi({ client, apiKey, baseUrl }).lookup("2606:4700::1111").pipe(Effect.withSpan("test"))
      expect(facts).toEqual(vpn)
      expect(paths).toEqual([`/api/2606:4700::1111?key=${KEY}  `])
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("fails as unreachable when nothing listens", () =>
    Effect.gen(function* () {
      const closed = yield* server("")
      closed.close()
      const client = yield* HttpClient.HttpClient
      const error = yield* Effect.flip(vpnapi({ client, apiKey, baseUrl: closed.baseUrl }).lookup(IP))
      expect(error.reason).toBe("unreachable")
      expect(printed(error)).not.toContain(KEY)
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("fails as unreachable when the URL is invalid", () =>
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const error = yield* Effect.flip(ipapiIs({ client, apiKey, baseUrl: "not a url" }).lookup(IP))
      expect(error.reason).toBe("unreachable")
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )
})
