/** Push by Server-Sent Events, over a real server. */
import { connect } from "node:net"
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { PushChannel } from "../../../src/push-channel/PushChannel.ts"
import { eventually } from "../../harness/process.ts"
import { hangUp } from "../../support/gate.ts"
import { eventStream, post, servedTest } from "../../support/gate-server.ts"
import { eventsOf, has, waiting } from "./support.ts"

describe("a stream of Server-Sent Events", () => {
  servedTest("sends position, start call and end, and then closes", {}, ({ connected, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const stream = yield* eventStream(eventsOf(url, ticket))
      expect(stream.headers.get("content-type")).toMatch(/^text\/event-stream/)
      expect(stream.headers.get("cache-control")).toBe("no-store, no-transform")
      yield* stream.waitFor("the position", has("position"))
      expect(stream.events).toEqual([{ type: "position", position: 1, queueLength: 1, estimatedWaitSeconds: null }])
      expect(stream.text()).toMatch(/^event: position\ndata: \{"type":"position",.*\}\n\n$/)
      expect(yield* connected).toEqual([ticket])
      yield* hangUp("web-1")
      yield* stream.waitFor("the start call", has("start_call"))
      expect((yield* post(`${url}/api/session/${ticket}/start`)).status).toBe(200)
      yield* hangUp("web-2")
      yield* stream.waitFor("the end", has("ended"))
      yield* stream.waitClosed
      expect(stream.events.map(({ type }) => type)).toEqual(["position", "start_call", "ended"])
      expect(yield* connected).toEqual([])
    }),
  )

  servedTest("a stream of Server-Sent Events of a called ticket begins with the start call", {}, ({ url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      yield* hangUp("web-1")
      const stream = yield* eventStream(eventsOf(url, ticket))
      yield* stream.waitFor("the start call", has("start_call"))
      expect(stream.events).toHaveLength(1)
    }),
  )

  servedTest("ends its presence when the page closes", {}, ({ connected, url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      yield* Effect.scoped(
        Effect.andThen(
          eventStream(eventsOf(url, ticket)),
          Effect.promise(() =>
            eventually("it is connected", async () => (await Effect.runPromise(connected)).length === 1),
          ),
        ),
      )
      yield* Effect.promise(() =>
        eventually("it is gone", async () => (await Effect.runPromise(connected)).length === 0),
      )
    }),
  )
})

servedTest("a page that stops reading its stream is cut off", {}, ({ connected, port }) =>
  Effect.gen(function* () {
    const ticket = yield* waiting
    const channel = yield* PushChannel
    let closed = false
    const socket = connect(port, "127.0.0.1")
    socket.on("close", () => {
      closed = true
    })
    socket.on("error", () => {})
    socket.pause()
    socket.write(`GET /api/session/${ticket}/events HTTP/1.1\r\nhost: gate\r\n\r\n`)
    const isConnected = async () => (await Effect.runPromise(connected)).length === 1
    yield* Effect.promise(() => eventually("it is connected", isConnected))
    for (let n = 0; n < 500_000 && (yield* connected).length > 0; n++) {
      yield* channel.send(ticket, { type: "position", position: n, queueLength: n, estimatedWaitSeconds: null })
      // lets the kernel take what it will
      if (n % 1000 === 0) yield* Effect.sleep(0)
    }
    expect(yield* connected).toEqual([])
    socket.resume()
    yield* Effect.promise(() => eventually("it is closed", () => closed))
  }),
)
