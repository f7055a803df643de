import { createHmac } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { connect } from "node:net"
import express, { type Express, type NextFunction, type Request, type Response } from "express"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import type { Gate, GateSettings } from "../../src/index.ts"
import { eventually } from "../harness/process.ts"
import { type FakePlatform, gateOn, type Running, serve, startPlatform, WEBHOOK_TOKEN } from "./support.ts"

let platform: FakePlatform
let toClose: Array<() => unknown>
beforeEach(async () => {
  platform = await startPlatform()
  toClose = [platform.close]
})
afterEach(async () => {
  for (const close of toClose.reverse()) await close()
})

const gateAt = async (basePath: string, security?: GateSettings["Security"]): Promise<Gate> => {
  const gate = await gateOn(platform, security, { basePath })
  toClose.push(gate.close)
  return gate
}
/** An Express host; `mount` adds the gate to it. */
const host = async (mount: (app: Express) => void): Promise<Running> => {
  const app = express()
  mount(app)
  app.get("/", (_request, response) => {
    response.send("the host's page")
  })
  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(500).send(error.message)
  })
  const running = await serve(app)
  toClose.push(running.close)
  return running
}

const post = async (url: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  })
  const json: Readonly<Record<string, unknown>> = JSON.parse(await response.text())
  return { status: response.status, json }
}
const waiting = async (origin: string): Promise<string> => {
  await post(`${origin}/voice/api/session/request`, "{}")
  const { json, status } = await post(`${origin}/voice/api/session/request`, "{}")
  assert.equal(status, 202)
  return String(json.eventsUrl)
}

/** The status line of the answer to an upgrade. */
const upgrade = async (origin: string, path: string): Promise<string> => {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  toClose.push(() => socket.destroy())
  socket.write(
    [
      `GET ${path} HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "\r\n",
    ].join("\r\n"),
  )
  const [data]: ReadonlyArray<unknown> = await once(socket, "data")
  return String(data).split("\r\n", 1)[0] ?? ""
}

describe("mounted in Express", () => {
  it("serves the gate under its path, beside the host's own routes", async () => {
    const gate = await gateAt("/voice")
    const { origin } = await host((app) => app.use("/voice", gate.handler))
    const first = await post(`${origin}/voice/api/session/request`, '{"regionId":"us"}')
    assert.deepInclude(first, { status: 200 })
    assert.deepInclude(first.json, { status: "started", sessionId: "session-1" })
    const second = await post(`${origin}/voice/api/session/request`, "{}")
    assert.equal(second.status, 202)
    assert.equal(second.json.eventsUrl, `/voice/api/session/${second.json.uniqueRequestId}/events`)
    const left = await fetch(`${origin}/voice/api/session/${second.json.uniqueRequestId}`, { method: "DELETE" })
    assert.equal(left.status, 204)
    assert.equal((await fetch(`${origin}/voice/health/ready`)).status, 200)
    assert.equal(await (await fetch(`${origin}/`)).text(), "the host's page")
    const nothing = await fetch(`${origin}/voice/nothing`)
    assert.equal(nothing.status, 404)
    assert.equal(nothing.headers.get("content-type"), "application/problem+json; charset=utf-8")
  })

  it("passes on requests that are not below its path when it is mounted at the root of the application", async () => {
    const gate = await gateAt("/voice")
    const { origin } = await host((app) => app.use(gate.handler))
    assert.equal(await (await fetch(`${origin}/`)).text(), "the host's page")
    assert.equal((await fetch(`${origin}/health/live`)).status, 404)
    assert.equal((await fetch(`${origin}/voice/health/live`)).status, 200)
    assert.equal((await fetch(`${origin}/voices/health/live`)).status, 404)
  })

  it("reports a mount path that differs from basePath", async () => {
    const gate = await gateAt("")
    const { origin } = await host((app) => app.use("/voice", gate.handler))
    const response = await fetch(`${origin}/voice/health/live`)
    assert.equal(response.status, 500)
    assert.match(await response.text(), /mounted at \/voice, but was created with basePath ""/)
  })

  it("pushes events over Server-Sent Events and WebSockets, and tells clients to reconnect when it closes", async () => {
    const gate = await gateAt("/voice")
    const { origin, server } = await host((app) => app.use("/voice", gate.handler))
    server.on("upgrade", gate.upgrade)
    const eventsUrl = await waiting(origin)

    const stream = await fetch(origin + eventsUrl)
    const socket = new WebSocket(origin.replace("http", "ws") + eventsUrl)
    const messages: Array<string> = []
    socket.on("message", (data) => messages.push(String(data)))
    await once(socket, "message")
    const closed = once(socket, "close")
    await gate.close()
    const [code]: ReadonlyArray<unknown> = await closed
    assert.equal(code, 1001)
    assert.deepEqual(
      messages.map((message) => {
        const event: { readonly type: string } = JSON.parse(message)
        return event.type
      }),
      ["position", "reconnect"],
    )
    const events = await stream.text()
    assert.match(events, /^event: position\ndata: .*\n\nevent: reconnect\n/)

    assert.deepInclude(await post(`${origin}/voice/api/session/request`, "{}"), { status: 503 })
    assert.equal(await upgrade(origin, eventsUrl), "HTTP/1.1 503 Refused")
    assert.equal(await (await fetch(`${origin}/`)).text(), "the host's page")
  })

  /** A WebSocket of a called ticket that has requested its start, which the platform does not answer before `release`. */
  const starting = async () => {
    const gate = await gateAt("/voice")
    const { origin, server } = await host((app) => app.use("/voice", gate.handler))
    server.on("upgrade", gate.upgrade)
    const eventsUrl = await waiting(origin)
    const socket = new WebSocket(origin.replace("http", "ws") + eventsUrl)
    toClose.push(() => socket.terminate())
    const events: Array<{ readonly type: string; readonly webSocketUrl?: string }> = []
    socket.on("message", (data) => events.push(JSON.parse(String(data))))
    const socketClosed = once(socket, "close")
    const sees = (type: string) => eventually(type, () => events.some((event) => event.type === type))
    await sees("position")
    let release = (): void => {}
    platform.next = async (id) => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return {
        status: 200,
        body: { success: true, data: { sessionId: id, sessionWebSocketURL: `wss://agent.example/${id}` } },
      }
    }
    await gate.sessionEnded("session-1")
    await sees("start_call")
    socket.send('{"type":"start"}')
    await eventually("the platform is asked", () => platform.starts.length === 2)
    toClose.push(() => release())
    return { gate, events, socketClosed, release: () => release() }
  }

  it("answers a start over a WebSocket that is in flight when it closes", async () => {
    const { events, gate, socketClosed, release } = await starting()
    const closed = gate.close()
    release()
    await closed
    const [code]: ReadonlyArray<unknown> = await socketClosed
    assert.equal(code, 1001)
    assert.deepEqual(
      events.slice(-2).map(({ type, webSocketUrl }) => [type, webSocketUrl]),
      [
        ["session", "wss://agent.example/session-2"],
        ["reconnect", undefined],
      ],
    )
  })

  it("closes in time although the platform hangs, and reports it to a caller who waits for a start", {
    timeout: 15_000,
  }, async () => {
    const { events, gate, socketClosed } = await starting()
    await gate.close()
    await socketClosed
    assert.deepEqual(
      events.slice(-2).map(({ type }) => type),
      ["error", "reconnect"],
    )
  })
})

describe("upgrades", () => {
  /** A host with its own WebSocket at /chat, whose listener ignores other paths. */
  const withChat = async (gate: Gate): Promise<Running> => {
    const running = await host((app) => app.use(gate.handler))
    const chat = new WebSocketServer({ noServer: true })
    chat.on("connection", (socket) => socket.send("hello from the host"))
    running.server.on("upgrade", gate.upgrade)
    running.server.on("upgrade", (request: IncomingMessage, socket, head) => {
      if (request.url === "/chat") chat.handleUpgrade(request, socket, head, (ws) => chat.emit("connection", ws))
    })
    return running
  }

  for (const basePath of ["/voice", ""]) {
    it(`upgrades of the host's own WebSockets are left to it, with the gate at "${basePath}"`, async () => {
      const gate = await gateAt(basePath)
      const { origin } = await withChat(gate)
      const socket = new WebSocket(`${origin.replace("http", "ws")}/chat`)
      const [data]: ReadonlyArray<unknown> = await once(socket, "message")
      assert.equal(String(data), "hello from the host")
      socket.terminate()
      // the gate answers its own
      assert.equal(await upgrade(origin, `${basePath}/api/session/nobody/events`), "HTTP/1.1 404 Refused")
    })
  }

  it("upgrades that look like the gate's but are not below its path are the host's", async () => {
    const gate = await gateAt("/voice")
    const { server, origin } = await host((app) => app.use(gate.handler))
    server.on("upgrade", gate.upgrade)
    server.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 418 Host\r\n\r\n"))
    assert.equal(await upgrade(origin, "/api/session/someone/events"), "HTTP/1.1 418 Host")
    assert.equal(await upgrade(origin, "/voices/api/session/someone/events"), "HTTP/1.1 418 Host")
  })

  it("upgrades that no other listener could answer are refused instead of left open", async () => {
    const gate = await gateAt("/voice")
    const { server, origin } = await host((app) => app.use("/voice", gate.handler))
    server.on("upgrade", gate.upgrade)
    assert.equal(await upgrade(origin, "/chat"), "HTTP/1.1 404 Refused")
    assert.equal(await upgrade(origin, "/voice/chat"), "HTTP/1.1 404 Refused")
  })

  it("upgrades that no gate of a server with several takes are refused, and each gate keeps its own", async () => {
    const first = await gateAt("/first")
    const second = await gateAt("/second")
    const { server, origin } = await host((app) => app.use("/first", first.handler).use("/second", second.handler))
    server.on("upgrade", first.upgrade).on("upgrade", second.upgrade)
    assert.equal(await upgrade(origin, "/chat"), "HTTP/1.1 404 Refused")
    for (const path of ["/first", "/second"]) {
      await post(`${origin}${path}/api/session/request`, "{}")
      const { json } = await post(`${origin}${path}/api/session/request`, "{}")
      const socket = new WebSocket(origin.replace("http", "ws") + String(json.eventsUrl))
      toClose.push(() => socket.terminate())
      assert.match(String(await once(socket, "message")), /"position"/)
    }
    server.on("upgrade", (request, socket) => {
      if (request.url === "/chat") socket.end("HTTP/1.1 418 Host\r\n\r\n")
    })
    assert.equal(await upgrade(origin, "/chat"), "HTTP/1.1 418 Host")
  })

  it("report whether the gate handled them, for hosts that route upgrades themselves", async () => {
    const gate = await gateAt("/voice")
    const { server, origin } = await host((app) => app.use("/voice", gate.handler))
    server.on("upgrade", (request, socket, head) => {
      if (!gate.upgrade(request, socket, head)) socket.end("HTTP/1.1 418 Host\r\n\r\n")
    })
    assert.equal(await upgrade(origin, "/chat"), "HTTP/1.1 418 Host")
    assert.equal(await upgrade(origin, "/voice/api/session/nobody/events"), "HTTP/1.1 404 Refused")
  })
})

describe("behind a body parser", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
  /** A body whose JSON changes when it is parsed and serialized again. */
  const body = '{ "ConversationSessionId" : "session-1" }'
  const signed = (): Readonly<Record<string, string>> => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac("sha256", Buffer.alloc(32, 7)).update(`msg_1.${timestamp}.${body}`).digest("base64")
    return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` }
  }
  const webhook = "/voice/api/webhook/session-ended"

  it("uses the parsed body of requests, and of webhooks with a token", async () => {
    const gate = await gateAt("/voice", { WebhookSigningSecret: secret })
    const { origin } = await host((app) => app.use(express.json()).use("/voice", gate.handler))
    const first = await post(`${origin}/voice/api/session/request`, '{"dynamicVariables":{"name":"Ada"}}')
    assert.equal(first.status, 200)
    assert.deepInclude(platform.starts[0], { dynamicVariables: { name: "Ada" } })
    const wrong = await post(`${origin}/voice/api/session/request`, '{"regionId":"moon"}')
    assert.deepInclude(wrong.json, { code: "region_not_allowed" })
    assert.deepEqual(await post(origin + webhook, body, { "x-api-token": WEBHOOK_TOKEN }), {
      status: 200,
      json: { released: true },
    })
  })

  it("explains what to change when a signed webhook has only its parsed body", async () => {
    const gate = await gateAt("/voice", { WebhookSigningSecret: secret })
    const { origin } = await host((app) => app.use(express.json()).use("/voice", gate.handler))
    const { json, status } = await post(origin + webhook, body, signed())
    assert.equal(status, 500)
    assert.deepInclude(json, {
      code: "body_already_read",
      detail:
        "The body was read before the gate: mount the gate before body parsers, or keep the bytes as request.rawBody.",
    })
  })

  const keeping = {
    "request.rawBody": express.json({
      verify: (request, _response, bytes) => {
        Object.assign(request, { rawBody: bytes })
      },
    }),
    "express.raw": express.raw({ type: "*/*" }),
    "express.text": express.text({ type: "*/*" }),
  }
  for (const [name, parser] of Object.entries(keeping)) {
    it(`verifies a signature over the bytes that ${name} keeps`, async () => {
      const gate = await gateAt("/voice", { WebhookApiToken: undefined, WebhookSigningSecret: secret })
      const { origin } = await host((app) => app.use(parser).use("/voice", gate.handler))
      assert.equal((await post(`${origin}/voice/api/session/request`, "{}")).status, 200)
      assert.deepEqual(await post(origin + webhook, body, signed()), { status: 200, json: { released: true } })
      const forged = { ...signed(), "webhook-signature": "v1,AAAA" }
      assert.equal((await post(origin + webhook, body, forged)).status, 401)
    })
  }

  it("reports a body that was read and not kept", async () => {
    const gate = await gateAt("/voice")
    const { origin } = await host((app) =>
      app
        .use((request: Request, _response: Response, next: NextFunction) => {
          request.on("data", () => {}).on("end", () => next())
        })
        .use("/voice", gate.handler),
    )
    const { json, status } = await post(`${origin}/voice/api/session/request`, "{}")
    assert.deepEqual([status, json.code], [500, "body_already_read"])
  })

  it("enforces its own limit on the size", async () => {
    const gate = await gateAt("/voice")
    const { origin } = await host((app) => app.use(express.json({ limit: "1mb" })).use("/voice", gate.handler))
    const { json, status } = await post(
      `${origin}/voice/api/session/request`,
      JSON.stringify({ metadata: { a: "x".repeat(70_000) } }),
    )
    assert.deepEqual([status, json.code], [413, "body_too_large"])
  })
})

describe("in a plain node server", () => {
  it("is a request listener, with or without the mount path", async () => {
    const gate = await gateAt("/voice")
    const running = await serve(gate.handler)
    toClose.push(running.close)
    assert.equal((await fetch(`${running.origin}/voice/health/live`)).status, 200)
    assert.equal((await fetch(`${running.origin}/health/live`)).status, 200)
  })
})
