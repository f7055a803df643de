/** What a browser does automatically with the gate's answers and credentials: cache them, or send them along. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { call, post, rawCall, servedTest, textField } from "../support/gate-server.ts"

const TOKEN = "console-token-0123456789"
const REQUEST = "/api/session/request"

describe("an answer that holds a ticket, a token or an address to talk at", { timeout: 60_000 }, () => {
  servedTest("is kept by no cache", {}, ({ url }) =>
    Effect.gen(function* () {
      const started = yield* post(url + REQUEST)
      const queued = yield* post(url + REQUEST)
      const live = textField(started, "uniqueRequestId")
      const waiting = textField(queued, "uniqueRequestId")
      const abort = new AbortController()
      const events = yield* Effect.promise(() =>
        fetch(`${url}/api/session/${waiting}/events`, { signal: abort.signal }),
      )
      abort.abort()
      for (const [what, headers] of [
        ["a started request", started.headers],
        ["a queued request", queued.headers],
        ["the status of a call", (yield* call(`${url}/api/session/${live}`)).headers],
        ["the status of a place", (yield* call(`${url}/api/session/${waiting}`)).headers],
        ["a start", (yield* call(`${url}/api/session/${live}/start`, { method: "POST" })).headers],
        ["a start too early", (yield* call(`${url}/api/session/${waiting}/start`, { method: "POST" })).headers],
        ["a stream", events.headers],
        ["a negotiation", (yield* call(`${url}/sessionHub/negotiate`, { method: "POST" })).headers],
        ["a refusal", (yield* post(url + REQUEST, [])).headers],
      ] as const) {
        assert.match(headers.get("cache-control") ?? "", /^no-store(?:, no-transform)?$/, what)
      }
    }),
  )
})

describe("the console's token", { timeout: 60_000 }, () => {
  servedTest(
    "is taken from its header alone, so that no page of another origin can spend it",
    { Security: { ConsoleToken: TOKEN, AllowedOrigins: ["https://shop.example"] } },
    ({ port }) =>
      Effect.gen(function* () {
        const view = "/console/api/view"
        const given = { authorization: `Bearer ${TOKEN}` }
        assert.strictEqual((yield* rawCall(port, { path: view, headers: given })).status, 200)
        for (const [path, headers] of [
          [view, { cookie: `token=${TOKEN}; authorization=Bearer ${TOKEN}` }],
          [`${view}?token=${TOKEN}&access_token=${TOKEN}`, {}],
          [view, { "x-authorization": `Bearer ${TOKEN}` }],
          [view, { authorization: `Basic ${Buffer.from(`operator:${TOKEN}`).toString("base64")}` }],
          [view, { authorization: TOKEN }],
        ] as const) {
          const answer = yield* rawCall(port, { path, headers })
          assert.strictEqual(answer.status, 401, JSON.stringify([path, headers]))
          // nothing that would make a browser ask for a password, and send it along ever after
          assert.notMatch(answer.headers["www-authenticate"] ?? "", /basic|digest|negotiate/i)
          assert.isUndefined(answer.headers["set-cookie"])
        }
        // a form of a page, which needs no preflight, acts on nothing: neither without the header nor with it
        for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
          const act = { method: "POST", path: "/console/api/actions" }
          const body = JSON.stringify({ action: { type: "drain" } })
          assert.strictEqual((yield* rawCall(port, { ...act, headers: { "content-type": type } }, body)).status, 401)
          const typed = yield* rawCall(port, { ...act, headers: { ...given, "content-type": type } }, body)
          assert.strictEqual(typed.status, 415, type)
        }
        // the page of an allowed origin may ask for a session, but not read the console
        const preflight = yield* rawCall(port, {
          method: "OPTIONS",
          path: view,
          headers: {
            origin: "https://shop.example",
            "access-control-request-method": "GET",
            "access-control-request-headers": "authorization",
          },
        })
        assert.notMatch(String(preflight.headers["access-control-allow-headers"] ?? ""), /authorization/i)
      }),
  )
})
