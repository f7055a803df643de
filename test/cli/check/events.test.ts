/** What `voicegate check` says of the receivers of events, without sending one. */
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { checkEvents } from "../../../src/cli/check/events.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { SIGNING_SECRET } from "../../harness/gate.ts"
import { freePort } from "../../harness/process.ts"
import { settingsLayer } from "../../support/gate.ts"

/** A server that answers so; the methods and the lengths of the bodies that it was sent. */
const server = (status: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<string> = []
      const listening = createServer((request, response) => {
        let bytes = 0
        request.on("data", (chunk: Buffer) => {
          bytes += chunk.length
        })
        request.on("end", () => {
          asked.push(`${request.method} ${bytes}`)
          response.writeHead(status, { location: "/elsewhere" }).end()
        })
      })
      await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve))
      const { port } = Object(listening.address())
      return { asked, url: `http://127.0.0.1:${port}/events`, listening }
    }),
    ({ listening }) =>
      Effect.sync(() => {
        listening.closeAllConnections()
        listening.close()
      }),
  )

const check = (VoiceAiPlatform: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    return yield* checkEvents(yield* Settings)
  }).pipe(Effect.provide(Layer.merge(settingsLayer({ VoiceAiPlatform }), FetchHttpClient.layer)))

describe("voicegate check of receivers of events", () => {
  it.live("asks each receiver once, without an event, and any answer will do", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* server(405)
      const Events = { Url: url, Secrets: [SIGNING_SECRET] }
      const found = yield* check({ Events, Campaigns: { sales: { WebCampaignId: "sales" } } })
      assert.deepStrictEqual(asked, ["HEAD 0"])
      assert.deepStrictEqual(
        found.map(({ campaign, status }) => `${campaign} ${status}`),
        ["default ok", "sales ok"],
      )
      assert.match(
        found[0]?.message ?? "",
        /^the receiver at VoiceAiPlatform.Events.Url can be reached: it .* with HTTP 405\. .* signed with 1 secret .*voicegate events test default$/,
      )
      assert.notInclude(JSON.stringify(found), SIGNING_SECRET)
    }).pipe(Effect.scoped),
  )

  it.live("does not know whether a redirect concerns events too, and says what cannot be reached", () =>
    Effect.gen(function* () {
      const { url } = yield* server(301)
      const [redirected] = yield* check({ Events: { Url: url, Secrets: [SIGNING_SECRET] } })
      assert.strictEqual(redirected?.status, "not_checked")
      const port = yield* Effect.promise(() => freePort())
      const [away] = yield* check({ Events: { Url: `http://127.0.0.1:${port}/`, Secrets: [SIGNING_SECRET] } })
      assert.strictEqual(away?.status, "failed")
      assert.include(away?.message, "cannot be reached (ECONNREFUSED); nothing listens there: check name and port.")
      assert.deepStrictEqual(yield* check({}), [])
    }).pipe(Effect.scoped),
  )
})
