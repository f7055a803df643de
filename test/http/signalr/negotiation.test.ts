/** How a client connects to the hub: negotiation, transports and the handshake. */
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { HttpTransportType } from "@microsoft/signalr"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { PING_MILLIS } from "../../../src/http/signalr/HubConnections.ts"
import { eventually } from "../../harness/process.ts"
import { call, post, servedTest, serveGate } from "../../support/gate-server.ts"

const ORIGIN = "https://shop.example"
const NEGOTIATE = "/sessionHub/negotiate?negotiateVersion=1"

describe("the SignalR hub, by the stock client", () => {
  servedTest("a negotiated connection opens once, an unknown one never", {}, ({ url }) =>
    Effect.gen(function* () {
      const negotiated = yield* post(url + NEGOTIATE)
      const open = (id: string) =>
        Effect.promise(
          () =>
            new Promise<number>((resolve) => {
              const ws = new WebSocket(`${url.replace("http", "ws")}/sessionHub?id=${id}`)
              ws.on("open", () => {
                ws.close()
                resolve(101)
              })
              ws.on("unexpected-response", (_, response) => resolve(response.statusCode ?? 0))
              ws.on("error", () => {})
            }),
        )
      const token = String(negotiated.body.connectionToken)
      assert.strictEqual(yield* open(token), 101)
      assert.strictEqual(yield* open(token), 409)
      assert.strictEqual(yield* open("unknown"), 404)
    }),
  )

  it.effect("pings begin after the handshake, which the stock client requires to come first", () =>
    Effect.gen(function* () {
      const { served } = yield* serveGate({})
      const ws = yield* Effect.acquireRelease(
        Effect.sync(() => new WebSocket(`${served.url.replace("http", "ws")}/sessionHub`)),
        (open) => Effect.sync(() => open.terminate()),
      )
      const messages: Array<string> = []
      const received = (count: number) => Effect.promise(() => eventually("a message", () => messages.length >= count))
      ws.on("message", (data) => messages.push(String(data)))
      yield* Effect.promise(() => once(ws, "open"))
      yield* TestClock.adjust(PING_MILLIS)
      ws.send('{"protocol":"json","version":1}\u001e')
      yield* received(1)
      yield* TestClock.adjust(PING_MILLIS)
      yield* received(2)
      assert.deepStrictEqual(messages, ["{}\u001e", '{"type":6}\u001e'])
    }),
  )

  servedTest(
    "an allowed page may negotiate with credentials, a foreign one may not",
    { Security: { AllowedOrigins: [ORIGIN] } },
    ({ url }) =>
      Effect.gen(function* () {
        const preflight = yield* call(url + NEGOTIATE, {
          method: "OPTIONS",
          headers: {
            origin: ORIGIN,
            "access-control-request-method": "POST",
            "access-control-request-headers": "x-requested-with,x-signalr-user-agent",
          },
        })
        assert.strictEqual(preflight.status, 204)
        assert.strictEqual(preflight.headers.get("access-control-allow-origin"), ORIGIN)
        assert.strictEqual(preflight.headers.get("access-control-allow-credentials"), "true")
        assert.include(preflight.headers.get("access-control-allow-headers") ?? "", "x-signalr-user-agent")
        const foreign = yield* post(url + NEGOTIATE, {}, { origin: "https://evil.example" })
        assert.strictEqual(foreign.status, 403)
      }),
  )

  servedTest("the stock client's transport is the WebSocket alone", {}, ({ url }) =>
    Effect.gen(function* () {
      const { body } = yield* post(url + NEGOTIATE)
      assert.deepStrictEqual(body.availableTransports, [
        { transport: HttpTransportType[HttpTransportType.WebSockets], transferFormats: ["Text"] },
      ])
    }),
  )
})
