/** Pages that are not the shop, however much their origin looks like it, at everything that a page could use. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { begin, enqueue } from "../support/gate.ts"
import { rawCall, refusedUpgrade, servedTest } from "../support/gate-server.ts"

const SHOP = "https://shop.example"
const given = { Security: { AllowedOrigins: [SHOP, "http://[::1]:3000"] } }

const FORGED = [
  ...["null", "", "undefined", "*", "file://", "https://", "chrome-extension://abcdef", "about:blank"],
  ...["https://shop.example.evil.com", "https://evilshop.example", "https://evil.com/https://shop.example"],
  ...["https://shop.example@evil.com", "https://shop.example:8443", "https://shop.example:443", "http://shop.example"],
  ...[
    "https://shop.example.",
    "https://shop.example/",
    "https://shop.example?",
    "https://shop.example#",
    "//shop.example",
  ],
  ...[
    "https://shop.example, https://evil.com",
    "https://evil.com https://shop.example",
    "https://shop.example%00.evil.com",
  ],
  ...["https://sub.shop.example", "https://shop-example", "https://shopxexample", "https://SHOP.EXAMPLE.evil.com"],
  ...["https://shop.example\t.evil.com", "https://shop.example\\.evil.com", "wss://shop.example", "http://[::1]:3001"],
  ...["http://[::1]", "https://xn--shp-rna.example", "http://gate.example.evil.com", "http://gate.example:81"],
]

/** Everything that a page may reach, by the ticket that it would use. */
const routes = (ticket: string): ReadonlyArray<readonly [method: string, path: string, body: string]> => [
  ["POST", "/api/session/request", "{}"],
  ["POST", "/sessionHub/negotiate?negotiateVersion=1", ""],
  ["GET", `/api/session/${ticket}`, ""],
  ["GET", `/api/session/${ticket}/events`, ""],
  ["POST", `/api/session/${ticket}/start`, ""],
  ["DELETE", `/api/session/${ticket}`, ""],
  ["POST", `/api/session/${ticket}/leave`, ""],
]

describe("a page with a forged origin", { timeout: 60_000 }, () => {
  for (const [n, [method, shown]] of routes("{ticket}").entries()) {
    servedTest(`is refused, and named in no header, by ${method} ${shown}`, given, ({ port, world }) =>
      Effect.gen(function* () {
        yield* begin()
        const ticket = yield* enqueue()
        const before = world.initiated.length
        const [, path = "", body = ""] = routes(ticket)[n] ?? []
        for (const origin of FORGED) {
          const headers = { origin, host: "gate.example", "content-type": "application/json" }
          const answer = yield* rawCall(port, { method, path, headers }, body)
          assert.deepStrictEqual([answer.status, answer.body.code], [403, "origin_not_allowed"], origin)
          const preflight = yield* rawCall(port, {
            method: "OPTIONS",
            path,
            headers: { origin, host: "gate.example", "access-control-request-method": method },
          })
          assert.strictEqual(preflight.status, 403, origin)
          for (const named of [answer.headers, preflight.headers]) {
            assert.isUndefined(named["access-control-allow-origin"], origin)
            assert.isUndefined(named["set-cookie"], origin)
          }
        }
        assert.strictEqual(world.initiated.length, before)
      }),
    )
  }

  servedTest("is refused by both WebSockets", given, ({ port }) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue()
      for (const origin of FORGED) {
        for (const path of [`/api/session/${ticket}/events`, "/sessionHub"]) {
          const upgrade = yield* refusedUpgrade(port, path, { origin, host: "gate.example" })
          assert.deepStrictEqual([upgrade.status, upgrade.body.code], [403, "origin_not_allowed"], `${origin} ${path}`)
        }
      }
    }),
  )

  servedTest("may reach what is behind a secret only without reading the answer", given, ({ port }) =>
    Effect.gen(function* () {
      for (const path of ["/api/webhook/session-ended", "/metrics", "/health/live", "/console/api/view"]) {
        const answer = yield* rawCall(port, { path, headers: { origin: "https://evil.com" } })
        assert.isUndefined(answer.headers["access-control-allow-origin"], path)
        assert.isUndefined(answer.headers["access-control-allow-credentials"], path)
      }
    }),
  )

  servedTest("differs from the shop, which is let in by all of them", given, ({ port }) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue()
      for (const [method, path, body] of routes(ticket)) {
        // a stream would stay open
        if (path.endsWith("/events")) continue
        const headers = { origin: SHOP, "content-type": "application/json" }
        const answer = yield* rawCall(port, { method, path, headers }, body)
        assert.notStrictEqual(answer.status, 403, path)
        assert.strictEqual(answer.headers["access-control-allow-origin"], SHOP, path)
        assert.include(answer.headers.vary ?? "", "Origin", path)
      }
    }),
  )
})
