/** A sender that disconnects before or after the answer. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import type { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { RETRY_MILLIS } from "../../../src/gatekeeper/calls/GiveBack.ts"
import * as SessionRequests from "../../../src/http/requests/SessionRequests.ts"
import * as TicketLimits from "../../../src/http/requests/ticket-limits.ts"
import { noFacts } from "../../../src/ip-intel/facts.ts"
import { eventually } from "../../harness/process.ts"
import { figures, remaining, stateOf } from "../../support/gate.ts"
import { post, servedTest } from "../../support/gate-server.ts"
import { REQUEST } from "../support.ts"

describe("a session request", () => {
  servedTest(
    "a session request that never ends blocks no other request, and leaves nothing when its sender disconnects",
    {},
    ({ log, port, url, world }) =>
      Effect.gen(function* () {
        const slow = connect(port, "127.0.0.1")
        slow.on("error", () => {})
        slow.write(
          `POST ${REQUEST} HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":`,
        )
        expect((yield* post(url + REQUEST)).status).toBe(200)
        slow.destroy()
        yield* Effect.promise(() => eventually("it is logged", () => log().split("\n").length > 2))
        expect(world.initiated).toHaveLength(1)
      }),
  )

  /** Sends a request on a connection of its own, and answers how to end it before the answer comes. */
  const sent = (port: number, body: unknown = {}) => {
    const text = JSON.stringify(body)
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.write(
      `POST ${REQUEST} HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    )
    return socket
  }

  for (const [how, goes] of [
    ["cuts the connection", (socket: Socket) => socket.resetAndDestroy()],
    ["closes its end of the connection", (socket: Socket) => socket.end()],
  ] as const) {
    servedTest(
      `a session request whose sender ${how} before the answer keeps no place`,
      {},
      ({ log, port, url, world }) =>
        Effect.gen(function* () {
          yield* post(url + REQUEST)
          const answer = yield* Deferred.make<void>()
          world.lookup = () => Effect.as(Deferred.await(answer), noFacts)
          const socket = sent(port)
          yield* Effect.promise(() => eventually("the address is looked up", () => world.lookedUp.length === 2))
          goes(socket)
          // until node has seen it
          yield* Effect.sleep(100)
          yield* Deferred.succeed(answer, undefined)
          yield* Effect.promise(() => eventually("it is logged", () => log().split("\n").length > 2))
          const waiting = (what: string, count: number) =>
            Effect.promise(() =>
              eventually(what, async () => (await Effect.runPromise(queued)).waiting === count, 5_000),
            )
          const queued = Effect.provideContext(figures(), yield* Effect.context<FifoQueue>())
          yield* waiting("the place is free again", 0)
          expect(yield* remaining("127.0.0.1")).toBe(19)
        }),
    )
  }

  servedTest(
    "a session request whose sender closes after the answer, or names its ticket, keeps its place",
    {},
    ({ port, url, world }) =>
      Effect.gen(function* () {
        yield* post(url + REQUEST)
        const socket = sent(port)
        const [head] = yield* Effect.promise(() => once(socket, "data"))
        const ticket = /"uniqueRequestId":"([^"]+)"/.exec(String(head))?.[1] ?? ""
        socket.resetAndDestroy()
        yield* Effect.sleep(2 * RETRY_MILLIS)
        expect(yield* stateOf(ticket)).toBe("waiting")

        // a page that reloads while it asks for its ticket: its answer is not the only one that names it
        const requests = yield* Effect.provide(
          SessionRequests.SessionRequests,
          SessionRequests.layer("").pipe(Layer.provide(TicketLimits.layer)),
        )
        const known = yield* requests.request(JSON.stringify({ uniqueRequestId: ticket }), "127.0.0.1")
        const replaced = yield* requests.request(JSON.stringify({ uniqueRequestId: "long over" }), "127.0.0.1")
        expect([known.outcome, known.newTicket]).toEqual(["queued", undefined])
        expect([replaced.outcome, replaced.newTicket]).toEqual(["queued", JSON.parse(replaced.body).uniqueRequestId])
        expect(world.initiated).toHaveLength(1)
      }),
  )
})
