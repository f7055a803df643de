/** Both push channels: a page that returns during its start, and a gate that is mounted below a path. */
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { eventually } from "../../harness/process.ts"
import { hangUp, session, type World } from "../../support/gate.ts"
import { eventStream, post, servedTest, webSocket } from "../../support/gate-server.ts"
import { eventsOf, has, waiting } from "./support.ts"

/** A ticket whose start the platform has not answered yet, and the answer. */
const beingStarted = (url: string, world: World) =>
  Effect.gen(function* () {
    const ticket = yield* waiting
    const answer = yield* Deferred.make<void>()
    world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
    yield* hangUp("web-1")
    yield* Effect.forkScoped(post(`${url}/api/session/${ticket}/start`))
    yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
    return { ticket, answered: Deferred.succeed(answer, undefined) }
  })

describe("a page that returns during its start", () => {
  servedTest("gets the session over its WebSocket", {}, ({ url, world }) =>
    Effect.gen(function* () {
      const { answered, ticket } = yield* beingStarted(url, world)
      const socket = yield* webSocket(eventsOf(url, ticket))
      yield* answered
      yield* socket.waitFor("the session", has("session"))
      expect(socket.events).toEqual([
        { type: "session", webSocketUrl: session(2).webSocketUrl, sessionId: session(2).sessionIds[0] },
      ])
    }),
  )

  servedTest("gets the session in its event stream too", {}, ({ url, world }) =>
    Effect.gen(function* () {
      const { answered, ticket } = yield* beingStarted(url, world)
      const stream = yield* eventStream(eventsOf(url, ticket))
      yield* answered
      yield* stream.waitFor("the session", has("session"))
    }),
  )

  servedTest(
    "a page that returns during its start and closes again is not waited for",
    {},
    ({ connected, url, world }) =>
      Effect.gen(function* () {
        const { answered, ticket } = yield* beingStarted(url, world)
        const socket = yield* webSocket(eventsOf(url, ticket))
        socket.close()
        yield* socket.waitClosed
        yield* answered
        yield* Effect.promise(() =>
          eventually("it is gone", async () => (await Effect.runPromise(connected)).length === 0),
        )
        expect(socket.events).toEqual([])
      }),
  )
})

servedTest(
  "push works below the path where a host mounted the gate",
  {},
  ({ url }) =>
    Effect.gen(function* () {
      const ticket = yield* waiting
      const socket = yield* webSocket(eventsOf(`${url}/voice`, ticket))
      const stream = yield* eventStream(eventsOf(`${url}/voice`, ticket))
      yield* socket.waitFor("the position", has("position"))
      yield* stream.waitFor("the position", has("position"))
    }),
  { basePath: "/voice" },
)
