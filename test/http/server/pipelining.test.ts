/** A client that pipelines and never reads does not delay others. Also the documents that such a client requests. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { gunzipSync } from "node:zlib"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_PIPELINED } from "../../../src/serving/pipelining.ts"
import { eventually } from "../../harness/process.ts"
import { exchange, statusesOf } from "../../security/raw.ts"
import { call, rawCall, servedTest } from "../../support/gate-server.ts"

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: gate\r\n\r\n`
const REQUEST = `POST /api/session/request HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`

/** Asks and never reads. */
const unread = (port: number, bytes: string): Effect.Effect<Socket> =>
  Effect.promise(async () => {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.pause()
    await once(socket, "connect")
    socket.write(bytes)
    return socket
  })

describe.concurrent("1,500 requests in one piece whose answers nobody reads", { timeout: 30_000 }, () => {
  for (const [path, one] of [
    ["/docs", get("/docs")],
    ["/openapi.json", get("/openapi.json")],
    ["/metrics", get("/metrics")],
    ["/widget.js", get("/widget.js")],
    ["/nothing", get("/nothing")],
    ["/api/session/{ticket}", get("/api/session/nobody")],
    ["/api/session/request", REQUEST],
  ] as const) {
    servedTest(`close their connection, and cost others nothing: ${path}`, {}, ({ log, port, url }) =>
      Effect.gen(function* () {
        yield* call(`${url}/docs`)
        const socket = yield* unread(port, one.repeat(1_500))
        const began = performance.now()
        assert.strictEqual((yield* call(`${url}/health/live`)).status, 200)
        assert.isBelow(performance.now() - began, 2_000)
        yield* Effect.promise(() =>
          eventually("it is logged", () => log().includes('"status":429,"outcome":"too_many_pipelined"')),
        )
        // the connection is gone from the server's side: what is sent now has no reader
        yield* Effect.promise(() =>
          eventually("it is closed", () => {
            if (!socket.destroyed) socket.write("\r\n")
            return socket.destroyed
          }),
        )
        yield* Effect.sleep(300)
        const answered = log()
          .split("\n")
          .filter((line) => line.includes(`"path":"${path}"`))
        // the first, those behind it, the one too many, and what was asked before
        assert.isAtMost(answered.length, MAX_PIPELINED + 3)
      }),
    )
  }

  servedTest("a few requests in one piece are all answered in order", {}, ({ port }) =>
    Effect.gen(function* () {
      const paths = ["/health/live", "/nothing", "/metrics", "/openapi.json", "/health/ready"]
      const asked = `${paths.map(get).join("")}${REQUEST}GET /health/live HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n\r\n`
      const answered = yield* Effect.promise(() => exchange(port, Buffer.from(asked), true))
      assert.deepStrictEqual(statusesOf(answered), [200, 404, 200, 200, 200, 200, 200])
    }),
  )

  servedTest("requests that are sent one after the other are all answered", {}, ({ url }) =>
    Effect.gen(function* () {
      for (let n = 0; n < 4 * MAX_PIPELINED; n++) assert.strictEqual((yield* call(`${url}/health/live`)).status, 200)
    }),
  )
})

describe.concurrent("a document", { timeout: 30_000 }, () => {
  for (const [path, type] of [
    ["/docs", "text/html; charset=utf-8"],
    ["/openapi.json", "application/json; charset=utf-8"],
  ] as const) {
    servedTest(`is the same bytes each time, compressed or not, and 304 with its ETag: ${path}`, {}, ({ port }) =>
      Effect.gen(function* () {
        const [plain, again] = yield* Effect.all([rawCall(port, { path }), rawCall(port, { path })], { concurrency: 2 })
        const { etag, vary } = plain.headers
        assert.match(etag ?? "", /^"[\w-]+"$/)
        assert.deepStrictEqual([plain.status, plain.headers["content-type"], vary], [200, type, "Accept-Encoding"])
        assert.strictEqual(again.headers.etag, etag)
        const [bytes, packed] = yield* Effect.promise(() =>
          Promise.all([bytesOf(port, path, "identity"), bytesOf(port, path, "gzip")]),
        )
        assert.strictEqual(bytes.length, Number(plain.headers["content-length"]))
        assert.isTrue(gunzipSync(packed).equals(bytes))
        const known = yield* rawCall(port, { path, headers: { "if-none-match": etag ?? "" } })
        assert.deepStrictEqual([known.status, known.text], [304, ""])
        const head = yield* rawCall(port, { path, method: "HEAD" })
        assert.deepStrictEqual([head.status, head.text], [200, ""])
        assert.strictEqual(head.headers["content-length"], plain.headers["content-length"])
      }),
    )
  }

  servedTest("is absent if it is off", { Server: { Docs: "off", Metrics: "off" } }, ({ url }) =>
    Effect.gen(function* () {
      for (const path of ["/docs", "/docs/", "/openapi.json", "/metrics"]) {
        const answer = yield* call(url + path)
        assert.deepStrictEqual([answer.status, answer.body.code], [404, "not_found"], path)
      }
    }),
  )

  servedTest("a document of metrics is rendered at most once a second", {}, ({ url }) =>
    Effect.gen(function* () {
      const first = yield* call(`${url}/metrics`)
      assert.include(first.headers.get("content-type") ?? "", "text/plain; version=0.0.4")
      yield* call(`${url}/api/session/request`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      })
      assert.strictEqual((yield* call(`${url}/metrics`)).text, first.text)
      yield* Effect.sleep(1_050)
      assert.notStrictEqual((yield* call(`${url}/metrics`)).text, first.text)
    }),
  )
})

/** A document's body as it is on the wire. */
const bytesOf = async (port: number, path: string, encoding: string): Promise<Buffer> => {
  const socket = connect(port, "127.0.0.1")
  socket.write(`GET ${path} HTTP/1.1\r\nhost: gate\r\naccept-encoding: ${encoding}\r\nconnection: close\r\n\r\n`)
  const chunks: Array<Buffer> = []
  for await (const chunk of socket) chunks.push(chunk)
  const all = Buffer.concat(chunks)
  return all.subarray(all.indexOf("\r\n\r\n") + 4)
}
