/** A hub whose gate's wall clock is set: a connection is idle by the time that has passed. */
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { PING_MILLIS } from "../../../src/http/signalr/HubConnections.ts"
import { eventually } from "../../harness/process.ts"
import { serveGate } from "../../support/gate-server.ts"
import { withSteppedClock } from "../../support/stepped-clock.ts"

const PING = `${JSON.stringify({ type: 6 })}\u001e`
const HANDSHAKE = `${JSON.stringify({ protocol: "json", version: 1 })}\u001e`

/** A connection after its handshake: the pings that it got, and whether it was closed. */
const connect = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const ws = new WebSocket(`${url.replace(/^http/, "ws")}/sessionHub`)
      const seen = { pings: 0, closed: false }
      ws.on("close", () => {
        seen.closed = true
      })
      await once(ws, "open")
      ws.send(HANDSHAKE)
      await once(ws, "message")
      ws.on("message", (data) => {
        if (String(data) === PING) seen.pings++
      })
      return { ws, seen }
    }),
    ({ ws }) => Effect.sync(() => ws.terminate()),
  )

describe("the hub", () => {
  for (const [way, millis] of [
    ["set back 10 minutes", -10 * 60_000],
    ["set ahead 2 hours", 2 * 3_600_000],
  ] as const) {
    it.effect(`keeps a connection that speaks and closes a silent one after 40 s, when the clock is ${way}`, () =>
      withSteppedClock((step) =>
        Effect.gen(function* () {
          const { served } = yield* serveGate({})
          const { seen } = yield* connect(served.url)
          const tick = (pings: number) =>
            Effect.andThen(
              TestClock.adjust(PING_MILLIS),
              Effect.promise(() => eventually("a ping", () => seen.pings === pings || seen.closed)),
            )
          yield* tick(1)
          step(millis)
          for (const pings of [2, 3, 4]) yield* tick(pings)
          assert.isFalse(seen.closed)
          yield* tick(5)
          assert.isTrue(seen.closed)
        }).pipe(Effect.scoped),
      ),
    )
  }
})
