/** The platform's own server: what one caller may pipeline, its prepared documents, and the names that it answers to. */
import { once } from "node:events"
import { connect } from "node:net"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Platform from "../../../src/platform/Platform.ts"
import { eventually } from "../../harness/process.ts"
import { rawCall, refusedUpgrade } from "../../support/gate-server.ts"

const portOf = (options: Platform.Options = {}) =>
  Effect.map(Layer.build(Platform.layer(options)), (context) =>
    Number(new URL(Context.get(context, Platform.Platform).origin).port),
  )

it.live(
  "1,500 requests in one piece whose answers nobody reads close their connection, and cost others nothing",
  () =>
    Effect.gen(function* () {
      const port = yield* portOf()
      yield* rawCall(port, { path: "/docs" })
      const quietly = performance.now()
      yield* rawCall(port, { path: "/openapi.json" })
      // a busy machine is slower at both
      const longest = Math.max(1_000, 100 * (performance.now() - quietly))
      for (const path of ["/docs", "/openapi.json", "/", "/api/v1/business"]) {
        const socket = connect(port, "127.0.0.1")
        socket.on("error", () => {})
        socket.pause()
        yield* Effect.promise(() => once(socket, "connect"))
        socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`.repeat(1_500))
        const began = performance.now()
        assert.strictEqual((yield* rawCall(port, { path: "/openapi.json" })).status, 200)
        assert.isBelow(performance.now() - began, longest, path)
        yield* Effect.promise(() =>
          eventually("it is closed", () => {
            if (!socket.destroyed) socket.write("\r\n")
            return socket.destroyed
          }),
        )
      }
    }).pipe(Effect.scoped),
  30_000,
)

it.live("the platform's documents have the same bytes each time, and 304 for a client that has them", () =>
  Effect.gen(function* () {
    const port = yield* portOf()
    for (const path of ["/docs", "/openapi.json"]) {
      const { headers, status } = yield* rawCall(port, { path })
      assert.strictEqual(status, 200)
      const known = yield* rawCall(port, { path, headers: { "if-none-match": headers.etag ?? "" } })
      assert.deepStrictEqual([known.status, known.text, known.headers.etag], [304, "", headers.etag])
      const packed = yield* rawCall(port, { path, headers: { "accept-encoding": "gzip" } })
      assert.strictEqual(packed.headers["content-encoding"], "gzip")
    }
  }).pipe(Effect.scoped),
)

it.live("the platform answers on loopback to the names of this machine alone, unless others are allowed", () =>
  Effect.gen(function* () {
    const port = yield* portOf()
    const named = (at: number, host: string) => rawCall(at, { path: "/", headers: { host } })
    for (const host of ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"]) {
      assert.notStrictEqual((yield* named(port, `${host}:${port}`)).status, 421, host)
    }
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"]) {
      const { body, status } = yield* named(port, host)
      assert.deepStrictEqual([status, body.code], [421, "HOST_NOT_ALLOWED"], host)
    }
    assert.strictEqual((yield* refusedUpgrade(port, "/session/x?token=y", { host: "evil.example" })).status, 421)
    const other = yield* portOf({ allowedHosts: ["Calls.Example"] })
    assert.notStrictEqual((yield* named(other, "calls.example")).status, 421)
    assert.strictEqual((yield* named(other, "localhost")).status, 421)
  }).pipe(Effect.scoped),
)

it.live("an invalid Host is a 400, and no failure of the platform", () =>
  Effect.gen(function* () {
    const port = yield* portOf({ allowedHosts: ["*"] })
    for (const host of ["localhost:evil", "localhost:80:80", "a b", "1.2.3.4.5", "localhost:99999"]) {
      const { body, status } = yield* rawCall(port, { path: "/docs", headers: { host } })
      assert.deepStrictEqual([status, body.code], [400, "INVALID_FORMAT"], host)
    }
    assert.strictEqual((yield* rawCall(port, { path: "/docs", headers: { host: "[2001:db8::1]:80" } })).status, 200)
  }).pipe(Effect.scoped),
)

it.live("an upgrade under a foreign name ends its connection, though the client keeps its side open", () =>
  Effect.gen(function* () {
    const port = yield* portOf()
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
    socket.on("error", () => {}).resume()
    socket.write("GET /session/x HTTP/1.1\r\nhost: evil.example\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n")
    yield* Effect.promise(() => once(socket, "end"))
    yield* Effect.promise(() =>
      eventually("it is gone", () => {
        if (!socket.destroyed) socket.write("\r\n")
        return socket.destroyed
      }),
    )
  }).pipe(Effect.scoped),
)
