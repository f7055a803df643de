/** Refusals before any decision: host names, connection limits, and their log lines. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import * as AccessLog from "../../../src/http/access-log/access-log.ts"
import { REFUSED, SERVED } from "../../../src/http/access-log/log-limit.ts"
import { GateServer, Listeners } from "../../../src/http/Listeners.ts"
import * as ListenersLayer from "../../../src/http/server/listeners.ts"
import * as Server from "../../../src/http/server/server.ts"
import { layerLocal } from "../../../src/push-channel/layer.ts"
import { eventually } from "../../harness/process.ts"
import { exchange } from "../../security/raw.ts"
import { gateLayer, makeWorld } from "../../support/gate.ts"
import { call, post, rawCall, refusedUpgrade, servedTest } from "../../support/gate-server.ts"

const REQUEST = "/api/session/request"
const NOBODY = "n".repeat(22)

describe.concurrent("Host", () => {
  const loopback = { Server: { AllowedHosts: undefined }, Security: { AllowedOrigins: ["https://shop.example:8443"] } }
  servedTest(
    "Host of a gate on loopback is a name of this machine or of an allowed page, else 421",
    loopback,
    ({ log, port, world }) =>
      Effect.gen(function* () {
        const json = { "content-type": "application/json" }
        for (const host of [`localhost:${port}`, "127.0.0.1", `[::1]:${port}`, "Shop.Example"]) {
          const answer = yield* rawCall(port, { method: "POST", path: REQUEST, headers: { ...json, host } }, "{}")
          // an address has only so many tickets
          assert.include([200, 202, 429], answer.status, host)
        }
        const before = world.initiated.length
        for (const host of [
          "evil.example",
          `evil.example:${port}`,
          "localhost.evil.example",
          "127.0.0.1.evil.example",
        ]) {
          // the page of a rebound domain is of one origin with the gate, as it sees it
          const headers = { ...json, host, origin: `http://${host}` }
          for (const [method, path] of [
            ["POST", REQUEST],
            ["GET", "/metrics"],
            ["GET", "/console"],
            ["GET", "/widget.js"],
            ["GET", `/api/session/${NOBODY}`],
            ["GET", `/api/session/${NOBODY}/events`],
            ["POST", "/sessionHub/negotiate"],
          ] as const) {
            const {
              body,
              headers: answered,
              status,
            } = yield* rawCall(port, { method, path, headers }, method === "POST" ? "{}" : "")
            assert.deepStrictEqual([status, body.code], [421, "host_not_allowed"], `${host} ${path}`)
            assert.isUndefined(answered["set-cookie"])
          }
          for (const path of ["/sessionHub", `/api/session/${NOBODY}/events`]) {
            assert.strictEqual((yield* refusedUpgrade(port, path, { host })).status, 421)
          }
        }
        assert.strictEqual(world.initiated.length, before)
        yield* Effect.promise(() =>
          eventually("it is logged", () => log().includes('"status":421,"outcome":"host_not_allowed"')),
        )
      }),
  )

  servedTest(
    "is any if a proxy is trusted, which forwards the public name",
    {
      Server: { AllowedHosts: undefined },
      Security: { TrustedProxies: ["loopback"], WebhookApiToken: "the-webhook-token" },
    },
    ({ port }) =>
      Effect.gen(function* () {
        assert.strictEqual(
          (yield* rawCall(port, { path: "/health/live", headers: { host: "gate.example" } })).status,
          200,
        )
      }),
  )

  servedTest(
    "is one of Server.AllowedHosts where that is set",
    { Server: { AllowedHosts: ["gate.example", "::1"] } },
    ({ port }) =>
      Effect.gen(function* () {
        for (const [host, status] of [
          ["gate.example:81", 200],
          ["[::1]", 200],
          ["localhost", 421],
        ] as const) {
          assert.strictEqual((yield* rawCall(port, { path: "/health/live", headers: { host } })).status, status, host)
        }
      }),
  )
})

const open = (port: number): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
    socket.on("error", () => {})
  })

/** The gate behind its own server, as `serve` runs it. */
const running = (server: Readonly<Record<string, unknown>>, security: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    let lines = ""
    const log = AccessLog.layer((more) => {
      lines += more
    })
    const context = yield* Layer.build(
      Server.layer.pipe(
        Layer.provideMerge(ListenersLayer.layer()),
        Layer.provide(log),
        Layer.provideMerge(gateLayer(makeWorld(), { Server: server, Security: security }, { push: layerLocal })),
      ),
    )
    return { ...Context.get(context, GateServer), log: () => lines }
  })

describe.concurrent("open connections of one address", () => {
  it.live("are limited: one too many is closed at once, counted and logged, and a closed one makes room", () =>
    Effect.gen(function* () {
      const { log, port, url } = yield* running({ MaxConnectionsPerAddress: 3 })
      const held = yield* Effect.promise(() => Promise.all([open(port), open(port), open(port)]))
      const tooMany = yield* Effect.promise(() => open(port))
      yield* Effect.promise(() => once(tooMany, "close"))
      assert.isTrue(held.every((socket) => !socket.destroyed))
      yield* Effect.promise(() =>
        eventually("it is logged", () => log().includes('"outcome":"too_many_open_connections"')),
      )
      const [first] = held
      first?.destroy()
      let text = ""
      yield* Effect.promise(() =>
        eventually("there is room", async () => {
          const response = await fetch(`${url}/metrics`).catch(() => undefined)
          text = (await response?.text()) ?? ""
          return response?.status === 200
        }),
      )
      assert.match(text, /^voicegate_connections_refused_total [1-9]/m)
      for (const socket of held) socket.destroy()
    }).pipe(Effect.scoped),
  )

  it.live("are limited on the private port as well, and counted there apart", () =>
    Effect.gen(function* () {
      const { log, port, privateUrl } = yield* running({
        MaxConnectionsPerAddress: 2,
        Metrics: "private",
        PrivatePort: 0,
      })
      const privatePort = Number(new URL(privateUrl ?? "").port)
      const ofPublic = yield* Effect.promise(() => Promise.all([open(port), open(port)]))
      const held = yield* Effect.promise(() => Promise.all([open(privatePort), open(privatePort)]))
      const tooMany = yield* Effect.promise(() => open(privatePort))
      yield* Effect.promise(() => once(tooMany, "close"))
      assert.isTrue([...ofPublic, ...held].every((socket) => !socket.destroyed))
      yield* Effect.promise(() =>
        eventually("it is logged", () => log().includes('"outcome":"too_many_open_connections"')),
      )
      held[0]?.destroy()
      let text = ""
      yield* Effect.promise(() =>
        eventually("there is room", async () => {
          const response = await fetch(`${privateUrl}/metrics`).catch(() => undefined)
          text = (await response?.text()) ?? ""
          return response?.status === 200
        }),
      )
      assert.match(text, /^voicegate_connections_refused_total [1-9]/m)
      for (const socket of [...ofPublic, ...held]) socket.destroy()
    }).pipe(Effect.scoped),
  )

  it.live("open connections of a trusted proxy are not limited", () =>
    Effect.gen(function* () {
      const { port } = yield* running(
        { MaxConnectionsPerAddress: 1 },
        { TrustedProxies: ["loopback"], WebhookApiToken: "the-webhook-token" },
      )
      const held = yield* Effect.promise(() => Promise.all([open(port), open(port), open(port)]))
      assert.strictEqual((yield* rawCall(port, { path: "/health/live" })).status, 200)
      assert.isTrue(held.every((socket) => !socket.destroyed))
      for (const socket of held) socket.destroy()
    }).pipe(Effect.scoped),
  )
})

describe.concurrent("an answer that the client does not read", () => {
  it.live("is given up after a while, with its connection", () =>
    Effect.gen(function* () {
      // more than the kernel keeps for one who does not read: some megabytes on loopback
      const large = HttpRouter.add("GET", "/large", HttpServerResponse.text("x".repeat(32_000_000)))
      const context = yield* Layer.build(
        ListenersLayer.layer({ routes: large }).pipe(
          Layer.provideMerge(gateLayer(makeWorld(), {}, { push: layerLocal })),
        ),
      )
      const server = Server.makeServer(Context.get(context, Listeners))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close().closeAllConnections()))
      assert.strictEqual(server.timeout, Server.UNREAD_MILLIS)
      server.timeout = 300
      const port = yield* Server.listen(server, "127.0.0.1", 0)
      const asked = once(server, "request")
      const socket = yield* Effect.promise(() => open(port))
      socket.pause()
      socket.write("GET /large HTTP/1.1\r\nhost: gate\r\n\r\n")
      const connections = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
      yield* Effect.promise(() => asked)
      yield* Effect.promise(() => eventually("it is gone", async () => (await connections()) === 0))
      socket.destroy()
    }).pipe(Effect.scoped),
  )
})

describe.concurrent("a private document", () => {
  it.live("is served on the private port alone, under the names of this machine", () =>
    Effect.gen(function* () {
      const { privateUrl = "", url } = yield* running({ Docs: "private", Metrics: "private", PrivatePort: 0 })
      for (const path of ["/docs", "/openapi.json", "/metrics"]) {
        assert.strictEqual((yield* call(url + path)).status, 404, path)
        assert.strictEqual((yield* call(privateUrl + path)).status, 200, path)
      }
      for (const path of ["/", "/health/live", REQUEST])
        assert.strictEqual((yield* call(privateUrl + path)).status, 404, path)
      const rebound = yield* rawCall(Number(new URL(privateUrl).port), {
        path: "/metrics",
        headers: { host: "evil.example" },
      })
      assert.deepStrictEqual([rebound.status, rebound.body.code], [421, "host_not_allowed"])
    }).pipe(Effect.scoped),
  )

  it.live("has no port if none is private", () =>
    Effect.gen(function* () {
      assert.isUndefined((yield* running({ Docs: "off" })).privateUrl)
    }).pipe(Effect.scoped),
  )
})

describe.concurrent("the access log", () => {
  const given = { Security: { ConsoleToken: "the-console-token", WebhookApiToken: "the-webhook-token" } }
  const logged = (log: () => string, what: Readonly<Record<string, unknown>>) =>
    Effect.promise(() =>
      eventually(JSON.stringify(what), () =>
        log()
          .split("\n")
          .filter((line) => line !== "")
          .some((line) => {
            const entry: Record<string, unknown> = JSON.parse(line)
            return Object.entries(what).every(([name, value]) => entry[name] === value)
          }),
      ),
    )

  servedTest(
    "has a line for a refused upgrade, an unknown ticket, a failed sign-in and an invalid request",
    given,
    ({ log, port, url }) =>
      Effect.gen(function* () {
        const address = "127.0.0.1"
        yield* refusedUpgrade(port, "/elsewhere")
        yield* logged(log, { path: "/elsewhere", status: 404, outcome: "not_found", address })
        yield* refusedUpgrade(port, "/sessionHub", { origin: "https://evil.example" })
        yield* logged(log, { path: "/sessionHub", status: 403, outcome: "origin_not_allowed", address })
        yield* refusedUpgrade(port, `/sessionHub?id=${NOBODY}`)
        yield* logged(log, { path: "/sessionHub", status: 404, outcome: "connection_unknown", address })
        yield* refusedUpgrade(port, `/api/session/${NOBODY}/events`)
        yield* logged(log, { path: "/api/session/{ticket}/events", status: 404, outcome: "ticket_unknown", address })
        yield* call(`${url}/api/session/${NOBODY}`)
        yield* logged(log, { path: "/api/session/{ticket}", status: 404, outcome: "ticket_unknown", address })
        yield* call(`${url}/console/api/view`, { headers: { authorization: "Bearer wrong-wrong-wrong" } })
        yield* logged(log, { status: 401, outcome: "console_unauthorized", address })
        yield* post(`${url}/api/webhook/session-ended`, {}, { "x-api-token": "wrong-wrong-wrong" })
        yield* logged(log, { status: 401, outcome: "webhook_unauthorized", address })
        const hub = yield* Effect.acquireRelease(
          Effect.sync(() => new WebSocket(`ws://127.0.0.1:${port}/sessionHub`)),
          (socket) => Effect.sync(() => socket.terminate()),
        )
        yield* Effect.promise(() => once(hub, "open"))
        hub.send('{"protocol":"json","version":1}\u001e')
        hub.send(`{"type":1,"target":"Register","arguments":["${NOBODY}"]}\u001e`)
        yield* logged(log, { path: "/sessionHub", status: 404, outcome: "ticket_unknown", address })
        for (const [bytes, status] of [
          ["no request\r\n\r\n", 400],
          [`GET / HTTP/1.1\r\nhost: gate\r\nx: ${"x".repeat(20_000)}\r\n\r\n`, 431],
        ] as const) {
          assert.include(yield* Effect.promise(() => exchange(port, bytes)), ` ${status} `)
          yield* logged(log, { path: "", status, outcome: "malformed_request", address })
        }
        assert.notInclude(log(), NOBODY)
        assert.notInclude(log(), "wrong-wrong")
      }),
  )

  it.effect(
    "limits the lines of refusals and of other requests by caller, by network and in total, and logs how many it omitted",
    () =>
      Effect.gen(function* () {
        let text = ""
        const context = yield* Layer.build(
          AccessLog.layer((more) => {
            text += more
          }),
        )
        const log = Context.get(context, AccessLog.AccessLog)
        const entry = { id: "", method: "GET", path: "/x", outcome: "not_found", millis: 0 }
        for (let n = 0; n < 1_000; n++) log.write({ ...entry, status: 404, address: "203.0.113.1" })
        for (let n = 0; n < 1_000; n++) log.write({ ...entry, status: 404, address: `2001:db8::${n.toString(16)}` })
        log.write({ ...entry, status: 401, address: "203.0.113.2" })
        for (let n = 0; n < 1_000; n++) log.write({ ...entry, status: 200, address: "203.0.113.1" })
        yield* TestClock.adjust("1 second")
        const refused = () => text.split("\n").filter((line) => /"status":40/.test(line)).length
        const served = () => text.split('"status":200').length - 1
        assert.strictEqual(refused(), 2 * REFUSED.caller + 1)
        assert.strictEqual(served(), SERVED.caller)
        assert.include(text, `"message":"refusals left out","count":${2_000 - 2 * REFUSED.caller}}`)
        assert.include(text, `"message":"requests left out","count":${1_000 - SERVED.caller}}`)
        text = ""
        for (let n = 0; n < 250; n++) {
          log.write({ ...entry, status: 404, address: `8.8.8.${n}` })
          log.write({ ...entry, status: 200, address: `2001:470:1:${n.toString(16)}::1` })
        }
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual([refused(), served()], [REFUSED.network, SERVED.network])
        text = ""
        for (let n = 0; n < 5_000; n++) {
          for (const status of [404, 200]) log.write({ ...entry, status, address: `9.${n >> 8}.${n % 256}.1` })
        }
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual([refused(), served()], [REFUSED.total, SERVED.total])
      }).pipe(Effect.scoped),
  )
})
