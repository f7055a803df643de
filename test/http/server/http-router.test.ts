/** A host that serves with Effect, with the gate on its own `HttpRouter`. */
import { once } from "node:events"
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, ManagedRuntime } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { WebSocket } from "ws"
import { Listeners, layerGate, layerHttpRouter, layerListeners, layerSettingsFrom } from "../../../src/index.ts"
import { type FakePlatform, settingsFor, startPlatform, WEBHOOK_TOKEN } from "../../embedded/support.ts"

let platform: FakePlatform
beforeEach(async () => {
  platform = await startPlatform()
})
afterEach(() => platform.close())

const start = async () => {
  const Gate = layerListeners({ basePath: "/voice" }).pipe(
    Layer.provideMerge(layerGate),
    Layer.provideMerge(layerSettingsFrom({ ...settingsFor(platform) })),
  )
  const Page = HttpRouter.add("GET", "/", HttpServerResponse.text("the host's page"))
  const Host = HttpRouter.serve(Layer.mergeAll(Page, layerHttpRouter({ basePath: "/voice" })), {
    disableLogger: true,
  }).pipe(
    Layer.provideMerge(Gate),
    Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  )
  const runtime = ManagedRuntime.make(Host)
  const address = await runtime.runPromise(Effect.map(HttpServer.HttpServer, (server) => server.address))
  return { runtime, address }
}

describe("the gate on a host's own HttpRouter", () => {
  it("serves requests, events over both transports, webhooks and upgrades of nobody, and the host goes on", async () => {
    const { address, runtime } = await start()
    const origin = `http://127.0.0.1:${"port" in address ? address.port : 0}`
    const post = async (path: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
      const all = { "content-type": "application/json", ...headers }
      const response = await fetch(origin + path, { method: "POST", headers: all, body })
      const json: Readonly<Record<string, unknown>> = JSON.parse(await response.text())
      return { status: response.status, json }
    }
    const request = () => post("/voice/api/session/request", "{}")
    const open = (path: string) => new WebSocket(origin.replace("http", "ws") + path)

    assert.deepInclude((await request()).json, { status: "started" })
    const { eventsUrl } = (await request()).json
    assert.equal((await fetch(`${origin}/voice/health/ready`)).status, 200)
    assert.equal((await fetch(`${origin}/voice/nothing`)).status, 404)

    const left = new AbortController()
    const stream = await fetch(origin + eventsUrl, { signal: left.signal })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    assert.match((await reader?.read())?.value ?? "", /^event: position\n/)
    left.abort()

    const socket = open(String(eventsUrl))
    assert.match(String(await once(socket, "message")), /"position"/)
    const called = once(socket, "message")
    const hook = '{"ConversationSessionId":"session-1"}'
    const answer = await post("/voice/api/webhook/session-ended", hook, { "x-api-token": WEBHOOK_TOKEN })
    assert.deepEqual(answer.json, { released: true })
    assert.match(String(await called), /"start_call"/)
    const closed = once(socket, "close")
    socket.close()
    await closed

    for (const path of ["/voice/chat", "/chat"]) {
      const [error]: ReadonlyArray<unknown> = await once(open(path), "error")
      assert.match(String(error), /404/)
    }
    // nothing of the above crashed the host
    assert.equal(await (await fetch(`${origin}/`)).text(), "the host's page")

    await runtime.runPromise(Listeners.use(({ drain }) => drain))
    const events = await fetch(origin + eventsUrl)
    assert.match(await events.text(), /event: reconnect\n/)
    await runtime.dispose()
  })
})
