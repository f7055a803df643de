/** The gate for hosts with web-standard requests, without any server. */
import { assert, describe, it } from "vitest"
import type { FetchInfo, Gate } from "../../src/index.ts"
import { rejection, useGates, WEBHOOK_TOKEN } from "./support.ts"

const gates = useGates()
const here: FetchInfo = { address: "127.0.0.1" }
const ORIGIN = "http://gate.example"

const post = (path: string, body: string, init: RequestInit = {}): Request =>
  new Request(ORIGIN + path, { method: "POST", headers: { "content-type": "application/json" }, body, ...init })

const json = async (response: Response): Promise<Readonly<Record<string, unknown>>> => JSON.parse(await response.text())

const REQUEST = "/voice/api/session/request"
const request = async (gate: Gate, info: FetchInfo = here) => json(await gate.fetch(post(REQUEST, "{}"), info))

describe("gate.fetch", () => {
  it("answers requests below its path, whether the host has stripped it or not", async () => {
    const gate = await gates.create({}, { basePath: "/voice" })
    for (const path of ["/voice/health/live", "/health/live"]) {
      const response = await gate.fetch(new Request(ORIGIN + path), here)
      assert.deepEqual([response.status, await response.text()], [200, '{"status":"ok"}'])
    }
    const unknown = await gate.fetch(new Request(`${ORIGIN}/voice/nothing`), here)
    assert.equal(unknown.status, 404)
    assert.equal(unknown.headers.get("content-type"), "application/problem+json; charset=utf-8")
    assert.equal(unknown.headers.get("connection"), null)
  })

  it("leaves compression to the host, which may drop the header that names it", async () => {
    const gate = await gates.create({}, { basePath: "/voice" })
    const request = new Request(`${ORIGIN}/voice/openapi.json`, { headers: { "accept-encoding": "gzip, br" } })
    const response = await gate.fetch(request, here)
    assert.equal(response.headers.get("content-encoding"), null)
    assert.property(await json(response), "openapi")
  })

  it("starts a session, queues the next caller, and takes the webhook", async () => {
    const gate = await gates.create({}, { basePath: "/voice" })
    assert.deepInclude(await request(gate), { status: "started", sessionId: "session-1" })
    const { uniqueRequestId, status } = await request(gate)
    assert.equal(status, "queued")
    const headers = { "x-api-token": WEBHOOK_TOKEN }
    const hook = post("/voice/api/webhook/session-ended", '{"ConversationSessionId":"session-1"}', { headers })
    assert.deepEqual(await json(await gate.fetch(hook, here)), { released: true })
    const left = await gate.fetch(
      new Request(`${ORIGIN}/voice/api/session/${uniqueRequestId}`, { method: "DELETE" }),
      here,
    )
    assert.deepEqual([left.status, left.body], [204, null])
  })

  it("streams a ticket's events, and closes them when the reader leaves", async () => {
    const gate = await gates.create({}, { basePath: "/voice" })
    await request(gate)
    const { eventsUrl } = await request(gate)
    const open = async () => {
      const response = await gate.fetch(new Request(ORIGIN + eventsUrl), here)
      assert.equal(response.headers.get("cache-control"), "no-store, no-transform")
      assert.isNotNull(response.body)
      return response.body.pipeThrough(new TextDecoderStream()).getReader()
    }
    const left = await open()
    assert.match((await left.read()).value ?? "", /^event: position\n/)
    await left.cancel()
    const reader = await open()
    await reader.read()
    await gate.sessionEnded("session-1")
    assert.match((await reader.read()).value ?? "", /^event: start_call\n/)
    // `close` waits for requests in flight, and the stream that was left is none
    const began = performance.now()
    await gate.close()
    assert.isBelow(performance.now() - began, 5_000)
    assert.match((await reader.read()).value ?? "", /^event: reconnect\n/)
    assert.isTrue((await reader.read()).done)
    assert.deepInclude(await request(gate), { code: "gate_closed" })
  })

  it("limits the address that the host tells, and believes X-Forwarded-For from trusted proxies only", async () => {
    const gate = await gates.create({ RateLimitHourly: 1, TrustedProxies: ["10.0.0.1"] }, { basePath: "/voice" })
    const from = async (address: string, forwardedFor: string) => {
      const headers = { "content-type": "application/json", "x-forwarded-for": forwardedFor }
      return (await gate.fetch(post(REQUEST, "{}", { headers }), { address })).status
    }
    assert.equal(await from("192.0.2.1", "198.51.100.1"), 200)
    assert.equal(await from("192.0.2.1", "198.51.100.2"), 429)
    assert.equal(await from("10.0.0.1", "198.51.100.2"), 202)
    assert.equal(await from("10.0.0.1", "198.51.100.2"), 429)
  })

  it("rejects a request without the caller's address, and says what to pass", async () => {
    const gate = await gates.create()
    for (const info of ["{}", '{"address":"unknown"}', "null"]) {
      const error = await rejection(gate.fetch(post("/api/session/request", "{}"), JSON.parse(info)))
      assert.instanceOf(error, TypeError)
      assert.match(
        error.message,
        /^info\.address: expected the caller's IPv4 or IPv6 address, found .*A Request has no/,
      )
    }
    const error = await rejection(gate.fetch(post("/", "{}"), JSON.parse('{"adress":"127.0.0.1"}')))
    assert.equal(error.message, "info.adress: Expected one of address, rawBody; did you mean address?")
  })

  it("refuses a body that the host has read, unless the host passes it", async () => {
    const log: Array<string> = []
    const gate = await gates.create({}, { log: ({ message }) => log.push(message) })
    const read = async () => {
      const given = post("/api/session/request", "{}")
      await given.text()
      return given
    }
    assert.deepInclude(await json(await gate.fetch(await read(), here)), { code: "body_already_read" })
    assert.isTrue(log.some((line) => /body_already_read.*Mount the gate before body parsers/.test(line)))
    const passed = await gate.fetch(await read(), { ...here, rawBody: "{}" })
    assert.deepInclude(await json(passed), { status: "started" })
    const beingRead = post("/api/session/request", "{}")
    beingRead.body?.getReader()
    assert.deepInclude(await json(await gate.fetch(beingRead, here)), { code: "body_already_read" })
  })

  it("says which function takes a request of node", async () => {
    const gate = await gates.create()
    const node: Request = JSON.parse('{ "url": "/api/session/request", "method": "POST", "headers": {} }')
    assert.match(
      (await rejection(gate.fetch(node, here))).message,
      /^request: expected a web-standard Request\. gate\.handler/,
    )
  })

  it("refuses a body that is too large, and a WebSocket", async () => {
    const gate = await gates.create()
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(16 * 1024)),
    })
    const large = post("/api/session/request", "", { body, duplex: "half" })
    assert.equal((await gate.fetch(large, here)).status, 413)
    const headers = { upgrade: "websocket" }
    const upgrade = await gate.fetch(new Request(`${ORIGIN}/api/session/nobody/events`, { headers }), here)
    assert.deepInclude(await json(upgrade), { detail: "There is no WebSocket at this path." })
  })

  it("rejects when the client disconnects before the answer", async () => {
    const gate = await gates.create()
    const client = new AbortController()
    let asked = (): void => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    let release = (): void => {}
    gates.platform.next = async (sessionId) => {
      asked()
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return {
        status: 200,
        body: { success: true, data: { sessionId, sessionWebSocketURL: "wss://agent.example/late" } },
      }
    }
    const answer = rejection(gate.fetch(post("/api/session/request", "{}", { signal: client.signal }), here))
    await isAsked
    client.abort()
    assert.equal((await answer).message, "The connection ended before the response.")
    release()
  })
})
