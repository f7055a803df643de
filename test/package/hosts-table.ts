/** The tests of the table of hosts: every host × request, events over SSE and WebSocket, hub, webhook by token and by signature, base path, shutdown. */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { connect } from "node:net"
import { afterEach, assert, beforeEach, it } from "vitest"
import { WebSocket } from "ws"
import type { createGate, Gate } from "../../src/index.ts"
import { type FakePlatform, settingsFor, startPlatform, WEBHOOK_TOKEN } from "../embedded/support.ts"
import { hosts, PAGE } from "./hosts.ts"

const SECRET = Buffer.alloc(32, 7)

let platform: FakePlatform
let gate: Gate
let toClose: Array<() => unknown>
/** What the host answers at an origin. */
const client = (origin: string) => {
  const post = async (path: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    })
    const json: Readonly<Record<string, unknown>> = JSON.parse(await response.text())
    return { status: response.status, json }
  }
  const open = (path: string) => {
    const socket = new WebSocket(origin.replace("http", "ws") + path)
    toClose.push(() => socket.terminate())
    const messages: Array<string> = []
    socket.on("message", (data) => {
      messages.push(String(data))
      socket.emit("arrived")
    })
    return {
      opened: once(socket, "open"),
      send: (text: string) => socket.send(text),
      /** Waits for a message that contains this text. */
      sees: async (text: string): Promise<string> => {
        for (;;) {
          const found = messages.find((message) => message.includes(text))
          if (found !== undefined) return found
          await once(socket, "arrived")
        }
      },
    }
  }
  return {
    post,
    open,
    request: () => post("/voice/api/session/request", "{}"),
    /** A Server-Sent Events stream; `rest` is what follows its first event. */
    listen: async (path: string) => {
      const response = await fetch(origin + path)
      assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8")
      assert.isNotNull(response.body)
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      const first = await reader.read()
      return {
        first: first.value ?? "",
        close: () => reader.cancel(),
        rest: async (): Promise<string> => {
          let text = ""
          for (;;) {
            const { done, value } = await reader.read()
            if (done) return text
            text += value
          }
        },
      }
    },
  }
}

const signed = (body: string): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac("sha256", SECRET).update(`msg_1.${timestamp}.${body}`).digest("base64")
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` }
}

/** The status line of the answer to an upgrade. */
const upgrade = async (port: number, path: string): Promise<string> => {
  const socket = connect(port, "127.0.0.1")
  toClose.push(() => socket.destroy())
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  )
  const [data]: ReadonlyArray<unknown> = await once(socket, "data")
  return String(data).split("\r\n", 1)[0] ?? ""
}

const HOOK = "/voice/api/webhook/session-ended"

/** Tests a gate in every host; `create` is asked in each test, after the package was unpacked. */
export const testHosts = (create: () => typeof createGate): void => {
  beforeEach(async () => {
    platform = await startPlatform()
    const settings = settingsFor(platform, { WebhookSigningSecret: `whsec_${SECRET.toString("base64")}` })
    gate = await create()(settings, { basePath: "/voice", log: () => {} })
    toClose = [platform.close, gate.close]
  })
  afterEach(async () => {
    for (const close of toClose.reverse()) await close()
  })

  for (const [name, mount] of Object.entries(hosts)) {
    it(`${name}, the gate serves everything below its path`, async () => {
      const { close, server } = await mount(gate)
      toClose.push(close)
      server.on("upgrade", gate.upgrade)
      const address = server.address()
      if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
      const origin = `http://127.0.0.1:${address.port}`
      const { listen, open, post, request } = client(origin)

      // base path
      assert.equal(await (await fetch(`${origin}/`)).text(), PAGE)
      assert.equal((await fetch(`${origin}/voice/health/ready`)).status, 200)
      assert.equal(
        (await fetch(`${origin}/voice/nothing`)).headers.get("content-type"),
        "application/problem+json; charset=utf-8",
      )

      // request
      const first = await request()
      assert.deepInclude(first.json, { status: "started" })
      const waiting = await request()
      assert.equal(waiting.status, 202)
      const events = String(waiting.json.eventsUrl)
      assert.match(events, /^\/voice\/api\/session\//)

      // events
      const stream = await listen(events)
      assert.match(stream.first, /^event: position\n/)
      const socket = open(events)
      await socket.sees('"position"')

      // webhook by token
      const byToken = await post(HOOK, JSON.stringify({ ConversationSessionId: first.json.sessionId }), {
        "x-api-token": WEBHOOK_TOKEN,
      })
      assert.deepEqual(byToken, { status: 200, json: { released: true } })
      await socket.sees('"start_call"')
      socket.send('{"type":"start"}')
      // the number of the session depends on what the gate has asked the platform meanwhile
      const { sessionId } = JSON.parse(await socket.sees("wss://agent.example/"))

      // hub
      const next = await request()
      const negotiated = await post("/voice/sessionHub/negotiate?negotiateVersion=1", "")
      const hub = open(`/voice/sessionHub?id=${negotiated.json.connectionToken}`)
      await hub.opened
      hub.send('{"protocol":"json","version":1}\u001e')
      await hub.sees("{}\u001e")
      hub.send(`{"type":1,"invocationId":"1","target":"Register","arguments":["${next.json.uniqueRequestId}"]}\u001e`)
      await hub.sees('"invocationId":"1"')

      // signed webhook, with a body that changes when it is parsed and serialised again
      const body = `{ "ConversationSessionId" : "${sessionId}" }`
      assert.deepEqual(await post(HOOK, body, signed(body)), { status: 200, json: { released: true } })
      assert.include(await hub.sees("SessionReady"), "wss://agent.example/session-")

      // upgrades of nobody
      assert.equal(await upgrade(address.port, "/chat"), "HTTP/1.1 404 Refused")

      // shutdown
      const last = await listen(String((await request()).json.eventsUrl))
      const rest = last.rest()
      await gate.close()
      assert.match(await rest, /event: reconnect\n/)
      assert.deepInclude((await request()).json, { code: "gate_closed" })
    })
  }
}
