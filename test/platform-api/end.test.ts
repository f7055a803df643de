/** Ending a session whose caller has left. */
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WebSocketServer } from "ws"
import { against, json, no, ok } from "./support.ts"

/** A server of sessions' WebSockets; the codes with which its clients closed them. */
const sockets = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 })
    await once(server, "listening")
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
    const codes: Array<number> = []
    server.on("connection", (socket) => socket.on("close", (code) => codes.push(code)))
    return { url: `ws://127.0.0.1:${address.port}/session/1?token=t`, codes, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      for (const client of server.clients) client.terminate()
      server.close()
    }),
)

const end = (answer: Parameters<typeof against>[0], webSocketUrl: string) =>
  against(answer, (api, received) =>
    Effect.gen(function* () {
      const over = yield* api.end?.("default", { sessionIds: ["w/1", "c1"], webSocketUrl }) ?? Effect.succeed(undefined)
      return { over, asked: received.map(({ method, url }) => `${method} ${url}`) }
    }),
  )

const NOWHERE = "ws://127.0.0.1:9/session/1"

describe("ending a session", () => {
  it.effect("asks the platform by the web session's id", () =>
    Effect.gen(function* () {
      const { asked, over } = yield* end(() => ok({}), NOWHERE)
      assert.isTrue(over)
      assert.lengthOf(asked, 1)
      assert.match(asked[0] ?? "", /^POST \/api\/v1\/business\/[^/]+\/websession\/w%2F1\/end$/)
    }),
  )

  it.live("opens and closes a session that nobody has opened, where the platform has no such request", () =>
    Effect.gen(function* () {
      const { codes, url } = yield* sockets
      assert.isTrue((yield* end(() => json(404, { detail: "Not Found" }), url)).over)
      while (codes.length === 0) yield* Effect.sleep(10)
      assert.deepStrictEqual(codes, [1000])
    }),
  )

  it.live("does not say that a session is over whose WebSocket is refused", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* end(() => json(404, { detail: "Not Found" }), NOWHERE)).over, "unsupported")
      assert.isFalse((yield* end(() => no("WEB_SESSION_NOT_FOUND", null), "not an address")).over)
    }),
  )

  it.effect("fails where the platform refuses the key", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(end(() => json(403, { detail: "no" }), NOWHERE))
      assert.strictEqual(error.reason._tag, "Refused")
    }),
  )
})
