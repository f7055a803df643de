/** Limits of one caller on the hub: messages and stored data; and how refusals are logged. */
import { once } from "node:events"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { WebSocket } from "ws"
import { MAX_MESSAGES } from "../../../src/http/signalr/HubConnections.ts"
import { NETWORK_FACTOR } from "../../../src/lib/held.ts"
import { CONNECTIONS_PER_CALLER } from "../../../src/push-channel/connection-table.ts"
import { eventually } from "../../harness/process.ts"
import { post, refusedUpgrade, servedTest } from "../../support/gate-server.ts"

const record = (content: object): string => `${JSON.stringify(content)}\u001e`
const HANDSHAKE = record({ protocol: "json", version: 1 })
const PING = record({ type: 6 })

/** A hub connection after its handshake; `closed` has its close code. */
const hub = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const ws = new WebSocket(`${url.replace(/^http/, "ws")}/sessionHub`, { headers })
      const closed: Array<number> = []
      ws.on("close", (code) => closed.push(code))
      await once(ws, "open")
      ws.send(HANDSHAKE)
      await once(ws, "message")
      return { ws, closed }
    }),
    ({ ws }) => Effect.sync(() => ws.terminate()),
  )

describe("the hub", () => {
  servedTest("closes a connection that sends more messages than a client needs", {}, ({ log, url }) =>
    Effect.gen(function* () {
      const { closed, ws } = yield* hub(url)
      ws.send(PING.repeat(MAX_MESSAGES - 2))
      ws.ping()
      yield* Effect.promise(() => once(ws, "pong"))
      assert.deepStrictEqual(closed, [])
      ws.send(PING.repeat(2))
      yield* Effect.promise(() => eventually("it is closed", () => closed.length > 0))
      assert.deepStrictEqual(closed, [1008])
      yield* Effect.promise(() => eventually("it is logged", () => log().includes('"outcome":"too_many_messages"')))
    }),
  )

  servedTest("closes a connection that sends one message in many fragments", {}, ({ url }) =>
    Effect.gen(function* () {
      const { closed, ws } = yield* hub(url)
      ws.send(PING[0] ?? "", { fin: false })
      for (const byte of PING.slice(1)) ws.send(byte, { fin: false })
      ws.send("", { fin: true })
      for (let n = 0; n < 20; n++) ws.send("x", { fin: false })
      yield* Effect.promise(() => eventually("it is closed", () => closed.length > 0))
      assert.deepStrictEqual(closed, [1008])
    }),
  )

  servedTest("counts pings as messages", {}, ({ url }) =>
    Effect.gen(function* () {
      const { closed, ws } = yield* hub(url)
      for (let n = 0; n < MAX_MESSAGES + 1; n++) {
        ws.ping()
        // not more at once than may wait for their pongs
        if (n % 20 === 0) yield* Effect.sleep(5)
      }
      yield* Effect.promise(() => eventually("it is closed", () => closed.length > 0))
      assert.deepStrictEqual(closed, [1008])
    }),
  )

  servedTest(
    "limits the open connections of a network, whose addresses need no ticket for them",
    { Security: { TrustedProxies: ["loopback"], StatusPerMinute: 0 } },
    ({ port, url }) =>
      Effect.gen(function* () {
        const from = (address: string) => ({ "x-forwarded-for": address })
        const sockets: Array<WebSocket> = []
        for (let n = 0; n < NETWORK_FACTOR; n++) {
          const address = `2a02:2450:7:${n.toString(16)}::1`
          const more = Array.from(
            { length: CONNECTIONS_PER_CALLER },
            () => new WebSocket(`${url.replace(/^http/, "ws")}/sessionHub`, { headers: from(address) }),
          )
          sockets.push(...more)
          yield* Effect.promise(() => Promise.all(more.map((ws) => once(ws, "open"))))
        }
        assert.strictEqual((yield* refusedUpgrade(port, "/sessionHub", from("2a02:2450:7:ffff::1"))).status, 429)
        const other = yield* hub(url, from("2a02:2450:8::1"))
        assert.deepStrictEqual(other.closed, [])
        for (const ws of sockets) ws.terminate()
      }),
  )

  servedTest("limits how often one address negotiates and connects", { Security: { StatusPerMinute: 3 } }, (served) =>
    Effect.gen(function* () {
      const negotiate = () => post(`${served.url}/sessionHub/negotiate?negotiateVersion=1`)
      for (let n = 0; n < 3; n++) assert.strictEqual((yield* negotiate()).status, 200)
      const refused = yield* negotiate()
      assert.deepStrictEqual([refused.status, refused.body.code], [429, "rate_limited"])
      // connecting is counted apart: who has negotiated can connect
      for (let n = 0; n < 3; n++) yield* hub(served.url)
      assert.strictEqual((yield* refusedUpgrade(served.port, "/sessionHub")).status, 429)
    }),
  )

  servedTest("logs a refused registration without the address", { Privacy: { Addresses: "hashed" } }, ({ log, url }) =>
    Effect.gen(function* () {
      const { ws } = yield* hub(url)
      ws.send(record({ type: 1, target: "Register", arguments: ["z".repeat(22)] }))
      yield* Effect.promise(() => eventually("it is logged", () => log().includes('"method":"REGISTER"')))
      assert.include(log(), '"outcome":"ticket_unknown"')
      assert.notInclude(log(), "127.0.0.1")
    }),
  )
})
