/** Which upgrades are accepted, over a real server. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { WebSocket } from "ws"
import { eventually } from "../../harness/process.ts"
import { refusedUpgrade, servedTest, webSocket } from "../../support/gate-server.ts"
import { eventsOf, has, waiting } from "./support.ts"

describe("an upgrade", () => {
  const shop = { Security: { AllowedOrigins: ["https://shop.example"] } }
  servedTest("an upgrade of a foreign page is refused, and one of an allowed page is accepted", shop, ({ port, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const path = `/api/session/${ticket}/events`
      const foreign = yield* refusedUpgrade(port, path, { origin: "https://evil.example" })
      expect([foreign.status, foreign.body.code]).toEqual([403, "origin_not_allowed"])
      const socket = yield* webSocket(eventsOf(url, ticket), { origin: "https://shop.example" })
      yield* socket.waitFor("the position", has("position"))
    }),
  )

  servedTest("an upgrade for an unknown ticket or another path is refused with the reason", {}, ({ port }) =>
    Effect.gen(function* () {
      const unknown = yield* refusedUpgrade(port, "/api/session/nobody/events")
      expect([unknown.status, unknown.body.code]).toEqual([404, "ticket_unknown"])
      for (const path of ["/", "/api/session/request", "/health/live"]) {
        const { body, status } = yield* refusedUpgrade(port, path)
        expect([path, status, body.code]).toEqual([path, 404, "not_found"])
      }
    }),
  )

  servedTest(
    "an upgrade with a broken handshake is refused and leaves no connection behind",
    {},
    ({ connected, port }) =>
      Effect.gen(function* () {
        const ticket = yield* waiting
        const path = `/api/session/${ticket}/events`
        expect((yield* refusedUpgrade(port, path, { "sec-websocket-key": "short" })).status).toBe(400)
        expect((yield* refusedUpgrade(port, path, { "sec-websocket-version": "7" })).status).toBe(400)
        yield* Effect.promise(() =>
          eventually("none is left", async () => (await Effect.runPromise(connected)).length === 0),
        )
      }),
  )

  servedTest("an upgrade that a host passes on twice leaves no connection behind", {}, ({ connected, server, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      for (const listener of server.listeners("upgrade")) server.on("upgrade", (...args) => void listener(...args))
      const socket = new WebSocket(eventsOf(url, ticket).replace(/^http/, "ws"))
      // it reads the second answer as an invalid frame
      socket.on("error", () => {})
      yield* Effect.promise(() => new Promise((resolve) => socket.on("close", resolve)))
      yield* Effect.promise(() =>
        eventually("none is left", async () => (await Effect.runPromise(connected)).length === 0),
      )
    }),
  )
})
