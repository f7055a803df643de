/** Requests as bytes: ambiguous ones are refused, and ones that only look dangerous are parsed correctly. */
import { gzipSync } from "node:zlib"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SMUGGLED, SMUGGLING } from "../fuzz/broken.ts"
import { http } from "../fuzz/wire.ts"
import { eventually } from "../harness/process.ts"
import { call, post, rawCall, servedTest } from "../support/gate-server.ts"
import { exchange, statusesOf } from "./raw.ts"

const REQUEST = "/api/session/request"
const JSON_TYPE = ["content-type", "application/json"] as const

describe("a request inside a request", { timeout: 60_000 }, () => {
  servedTest("is never found, whatever the framing", {}, ({ log, port }) =>
    Effect.gen(function* () {
      for (const [shape, bytes] of Object.entries(SMUGGLING)) {
        const answered = yield* Effect.promise(() => exchange(port, bytes))
        const [first, ...more] = statusesOf(answered)
        assert.strictEqual(first, 400, shape)
        // whatever followed on the connection was refused, or not looked at
        assert.isTrue(
          more.every((status) => status === 400),
          `${shape}: ${answered}`,
        )
      }
      // none that is refused: lines of refusals are bounded
      yield* rawCall(port, { path: "/openapi.json" })
      yield* Effect.promise(() => eventually("the last is logged", () => log().includes("/openapi.json")))
      assert.notInclude(log(), SMUGGLED)
    }),
  )

  servedTest("a request after a request that ends where it says is the next request", {}, ({ port }) =>
    Effect.gen(function* () {
      const first = http("POST", REQUEST, [JSON_TYPE], "{}")
      const next = http("GET", "/health/live", [["connection", "close"]])
      const answered = yield* Effect.promise(() => exchange(port, Buffer.concat([first, next])))
      assert.deepStrictEqual(statusesOf(answered), [200, 200])
    }),
  )
})

describe("a method", { timeout: 60_000 }, () => {
  servedTest("is the one of the request line, whatever a header or a query says", {}, ({ url }) =>
    Effect.gen(function* () {
      const { body } = yield* post(`${url}${REQUEST}`)
      const ticket = String(body.uniqueRequestId)
      for (const name of ["x-http-method-override", "x-http-method", "x-method-override"]) {
        yield* call(`${url}/api/session/${ticket}?_method=DELETE`, { headers: { [name]: "DELETE" } })
        const over = yield* call(`${url}${REQUEST}?_method=POST`, { headers: { [name]: "POST" } })
        assert.strictEqual(over.status, 405)
      }
      assert.strictEqual((yield* call(`${url}/api/session/${ticket}`)).body.state, "live")
    }),
  )

  servedTest("a method that is unknown is refused, and TRACE is not echoed", {}, ({ port }) =>
    Effect.gen(function* () {
      for (const method of ["TRACE", "TRACK", "PROPFIND", "CONNECT", "get", "DEBUG"]) {
        const request = http(method, "/health/live", [["x-canary", "repeated"]])
        const answered = yield* Effect.promise(() => exchange(port, request))
        assert.notInclude(answered, "repeated", method)
        assert.isTrue(
          statusesOf(answered).every((status) => status >= 400 && status < 500),
          `${method}: ${answered}`,
        )
      }
    }),
  )
})

describe("a path", { timeout: 60_000 }, () => {
  servedTest("leads to no file and to no route but its own", {}, ({ port }) =>
    Effect.gen(function* () {
      for (const base of ["/", "/widget/", "/docs/", "/console/", "/console/assets/", "/api/session/", "//", "/./"]) {
        for (const rest of [
          ...["../package.json", "..%2f..%2fpackage.json", "..%5c..%5cpackage.json", "%2e%2e/%2e%2e/etc/passwd"],
          ...["....//package.json", "%252e%252e%252fetc%252fpasswd", "a%00.js", "%c0%ae%c0%ae/etc/passwd", "\\..\\x"],
        ]) {
          const answered = yield* Effect.promise(() =>
            exchange(port, http("GET", base + rest, [["connection", "close"]])),
          )
          const [status] = statusesOf(answered)
          assert.isTrue(status === 400 || status === 404, `${base}${rest}: ${answered.slice(0, 200)}`)
          assert.notMatch(answered, /root:|"dependencies"/, base + rest)
        }
      }
    }),
  )

  servedTest(
    "a path of the router is the one that was checked for its origin",
    { Security: { AllowedOrigins: [] } },
    ({ port }) =>
      Effect.gen(function* () {
        // a path that the check reads in one way and the router in another would let a foreign page in
        for (const path of [
          "/api/session/x",
          "/%61pi/session/x",
          "/%61pi/session/%zz",
          "/%61pi/session/%ff",
          "/api/%73ession/x",
          "//api/session/x",
          "/api//session/x",
          "/API/session/x",
          "/api/session/x/",
          "/./api/session/x",
          "/x/../api/session/x",
        ]) {
          const { body, headers } = yield* rawCall(port, { path, headers: { origin: "https://evil.example" } })
          assert.isUndefined(headers["access-control-allow-origin"], path)
          assert.notStrictEqual(body.code, "ticket_unknown", path)
          // nor may an answer about a ticket be cached
          const own = yield* rawCall(port, { path })
          if (own.body.code === "ticket_unknown") assert.strictEqual(own.headers["cache-control"], "no-store", path)
        }
      }),
  )
})

describe("a body", { timeout: 60_000 }, () => {
  servedTest("a body that is compressed is not unpacked", {}, ({ port, world }) =>
    Effect.gen(function* () {
      const packed = gzipSync(`{"metadata":{"a":"${"x".repeat(50_000_000)}"}}`).subarray(0, 60_000)
      for (const encoding of ["gzip", "deflate", "br", "zstd"]) {
        const head = `POST ${REQUEST} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${packed.length}\r\n\r\n`
        const answered = yield* Effect.promise(() => exchange(port, Buffer.concat([Buffer.from(head), packed])))
        assert.deepStrictEqual(statusesOf(answered), [415], encoding)
      }
      assert.lengthOf(world.initiated, 0)
    }),
  )

  servedTest("a body with a name twice means the last, in the check and in what is passed on", {}, ({ port, world }) =>
    Effect.gen(function* () {
      const sendBody = (body: string) =>
        rawCall(port, { method: "POST", path: REQUEST, headers: { "content-type": "application/json" } }, body)
      assert.strictEqual((yield* sendBody('{"regionId":"eu","regionId":"mars"}')).status, 400)
      assert.strictEqual((yield* sendBody('{"regionId":"mars","regionId":"us"}')).status, 200)
      assert.deepStrictEqual(
        world.initiated.map(({ regionId }) => regionId),
        ["us"],
      )
    }),
  )

  servedTest(
    "a body of broken UTF-8, odd Unicode or another charset is text or refused, never something else",
    {},
    ({ port, world }) =>
      Effect.gen(function* () {
        const send = (body: Buffer, type = "application/json") => {
          const head = `POST ${REQUEST} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`
          return Effect.promise(() => exchange(port, Buffer.concat([Buffer.from(head), body])))
        }
        // "/" in two bytes where one does (overlong): no slash gets past the check of clientIdentifier
        const overlong = Buffer.concat([
          Buffer.from('{"clientIdentifier":"a'),
          Buffer.from([0xc0, 0xaf]),
          Buffer.from('b"}'),
        ])
        assert.deepStrictEqual(statusesOf(yield* send(overlong)), [200])
        assert.deepStrictEqual(
          world.initiated.map(({ clientIdentifier }) => clientIdentifier),
          ["a\ufffd\ufffdb"],
        )
        assert.deepStrictEqual(statusesOf(yield* send(Buffer.from('\ufeff{"regionId":"eu"}'))), [400])
        assert.deepStrictEqual(statusesOf(yield* send(Buffer.from('{"regionId":"eu"}', "utf16le"))), [400])
        // a charset is not believed, so that two readers cannot differ
        assert.deepStrictEqual(
          statusesOf(
            yield* send(Buffer.from('{"a+AC8-":1,"clientIdentifier":"a/b"}'), "application/json; charset=utf-7"),
          ),
          [400],
        )
        assert.deepStrictEqual(statusesOf(yield* send(Buffer.from('{"regionId":"\\ud800"}'))), [400])
      }),
  )
})

describe("hostile text for a regular expression", { timeout: 60_000 }, () => {
  servedTest("takes linear time", {}, ({ port }) =>
    Effect.gen(function* () {
      const long = 15_000
      const headers = [
        ["content-type", `application/${"a.".repeat(long / 2)}!`],
        ["content-type", `application/${"a+".repeat(long / 2)}!`],
        ["accept-encoding", `${" ".repeat(long)}gzip;q=0.${"0".repeat(10)}x`],
        ["accept-encoding", `${", ".repeat(long / 2)}gzip;`],
        ["accept-encoding", `gzip;${" q=0".repeat(long / 4)}`],
        ["cookie", `${"; ".repeat(long / 2)}voicegate_hub=`],
        ["cookie", `${"voicegate_hub=AAAAAAAAAAAAAAAAAAAAA;".repeat(long / 36)}`],
        ["authorization", `Bearer ${" ".repeat(long)}`],
        ["x-forwarded-for", `${"1,".repeat(long / 2)}1`],
        ["x-forwarded-for", `${":".repeat(long)}`],
        ["x-forwarded-for", `[${":1".repeat(long / 2)}]`],
        ["origin", `https://${"a.".repeat(long / 2)}`],
        ["if-none-match", `${'W/"a", '.repeat(long / 7)}`],
        ["webhook-signature", `${"v1,AAAA ".repeat(long / 8)}`],
      ] as const
      const began = performance.now()
      let asked = 0
      for (const [name, value] of headers) {
        for (const [method, path] of [
          ["POST", REQUEST],
          ["GET", "/widget.js"],
          ["POST", "/api/webhook/session-ended"],
          ["POST", "/sessionHub/negotiate"],
          ["GET", "/console/api/view"],
        ] as const) {
          const request = http(
            method,
            path,
            [
              [name, value],
              ["connection", "close"],
            ],
            method === "POST" ? "{}" : undefined,
          )
          assert.lengthOf(
            statusesOf(yield* Effect.promise(() => exchange(port, request))),
            1,
            `${name}: ${value.slice(0, 40)}`,
          )
          asked++
        }
      }
      const path = `/api/session/${"aA1_-".repeat(long / 5)}/${"a/".repeat(100)}`
      yield* Effect.promise(() => exchange(port, http("GET", path, [["connection", "close"]])))
      // a pattern that tries again from every place would take minutes for one of them
      assert.isBelow((performance.now() - began) / asked, 800)
    }),
  )
})
