/** A ticket's life in answers: the request, its state, its events, its start, and reports of silence. */
import { request as httpRequest } from "node:http"
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { MAX_BODY_BYTES, MAX_WEBHOOK_BYTES } from "../../../../src/http/answers/answer.ts"
import { limitKey } from "../../../../src/lib/ip/address.ts"
import { CONNECTIONS_PER_CALLER } from "../../../../src/push-channel/connection-table.ts"
import { PushChannel } from "../../../../src/push-channel/PushChannel.ts"
import { eventually } from "../../../harness/process.ts"
import type { Answered } from "../../../harness/wire-document.ts"
import { atCapacity, platformIsAway, platformRefusesRequest, session } from "../../../support/gate.ts"
import { eventStream, refusedUpgrade, servedTest, webSocket } from "../../../support/gate-server.ts"
import { REQUEST, shop, token, VENDOR_WEBHOOK, WEBHOOK } from "../../support.ts"
import { codeOf, type OpenApiCheck, ticketOf } from "../openapi-check.ts"
import { AVAILABILITY, ENDPOINTS, foreign, NOBODY } from "./endpoints.ts"

const KEY = "AAAAAAAAAAAAAAAAAAAAAA=="

export const tickets = ({ check }: OpenApiCheck): void => {
  servedTest("the document says all of a ticket's life, and what is wrong with a request", shop, ({ port }) =>
    Effect.gen(function* () {
      const { ask, hangUp, request, start } = yield* check(port)
      yield* request()
      const ticket = ticketOf(yield* request({}, { origin: "https://shop.example" }))
      const path = `/api/session/${ticket}`
      yield* ask("GET", path)
      yield* ask("HEAD", path)
      assert.deepStrictEqual(codeOf(yield* start(ticket)), [409, "not_your_turn"])
      yield* hangUp(1)
      assert.strictEqual((yield* ask("GET", path)).body.state, "called")
      assert.strictEqual((yield* start(ticket)).status, 200)
      assert.strictEqual((yield* ask("GET", path)).body.state, "live")
      const other = ticketOf(yield* request())
      yield* ask("DELETE", `/api/session/${other}`)
      yield* ask("GET", `/api/session/${other}`)
      const beacon = ticketOf(yield* request())
      const left = yield* ask("POST", `/api/session/${beacon}/leave`, { headers: { "content-type": "text/plain" } })
      assert.strictEqual(left.status, 204)
      assert.strictEqual((yield* ask("GET", `/api/session/${beacon}`)).body.state, "left")
      assert.deepStrictEqual(codeOf(yield* start(other)), [410, "ticket_over"])
      for (const [method, at] of ENDPOINTS) {
        yield* ask(method, at, { headers: foreign })
        yield* ask("PATCH", at)
      }
      assert.strictEqual((yield* ask("GET", AVAILABILITY)).body.state, "open")
      assert.deepStrictEqual(codeOf(yield* ask("GET", `${AVAILABILITY}?campaignId=moon`)), [400, "unknown_campaign"])
      yield* ask("GET", `/api/session/${NOBODY}`)
      yield* start(NOBODY)
      yield* ask("GET", `/api/session/${NOBODY}/events`)
      for (const body of [{ transportType: 9 }, { campaignId: "nobody" }, { regionId: "moon" }, "{"])
        yield* request(body)
      const large = "x".repeat(MAX_BODY_BYTES + 1)
      for (const at of [REQUEST, WEBHOOK]) yield* ask("POST", at, { body: large, headers: token })
      const tooLarge = yield* ask("POST", VENDOR_WEBHOOK, { body: "x".repeat(MAX_WEBHOOK_BYTES + 1) })
      assert.deepStrictEqual(codeOf(tooLarge), [413, "body_too_large"])
      yield* request({}, { "content-type": "text/plain" })
      for (const body of ["{", {}]) yield* ask("POST", WEBHOOK, { body, headers: token })
      for (const path of [REQUEST, WEBHOOK, VENDOR_WEBHOOK]) {
        const compressed = yield* ask("POST", path, { body: {}, headers: { ...token, "content-encoding": "gzip" } })
        assert.deepStrictEqual(codeOf(compressed), [415, "unsupported_media_type"], path)
      }
      yield* ask("POST", WEBHOOK, { body: {} })
    }),
  )

  servedTest(
    "the document says all of a report of silence, and what is wrong with one",
    { ...shop, VoiceAiPlatform: { SilenceSeconds: 30 } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, hangUp, request } = yield* check(port)
        const ticket = ticketOf(yield* request())
        const report = (body: unknown, of = ticket, headers = {}) =>
          ask("POST", `/api/session/${of}/silence`, { body, headers })
        assert.strictEqual((yield* report({ seconds: 5 })).status, 200)
        assert.strictEqual((yield* ask("GET", `/api/session/${ticket}`)).body.silenceSeconds, 30)
        assert.deepInclude(yield* report({ seconds: 0 }), { status: 200, body: { endsAt: null } })
        assert.deepStrictEqual(codeOf(yield* report({ seconds: -1 })), [400, "invalid_request"])
        assert.deepStrictEqual(codeOf(yield* report("{")), [400, "malformed_json"])
        assert.deepStrictEqual(codeOf(yield* report({ seconds: 5 }, NOBODY)), [404, "ticket_unknown"])
        const large = yield* report("x".repeat(MAX_BODY_BYTES + 1))
        assert.deepStrictEqual(codeOf(large), [413, "body_too_large"])
        const typed = yield* report("{}", ticket, { "content-type": "text/plain" })
        assert.deepStrictEqual(codeOf(typed), [415, "unsupported_media_type"])
        yield* hangUp(1)
        assert.deepStrictEqual(codeOf(yield* report({ seconds: 5 })), [410, "ticket_over"])
      }),
  )

  servedTest("the document says all of a push channel and its events", shop, ({ port, url }) =>
    Effect.gen(function* () {
      const { ask, document, hangUp, judge, request } = yield* check(port)
      yield* request()
      const ticket = ticketOf(yield* request())
      const path = `/api/session/${ticket}/events`
      const stream = yield* eventStream(url + path)
      const socket = yield* webSocket(url + path)
      socket.send("nonsense")
      yield* socket.waitFor("the message is refused", (events) => events.some(({ type }) => type === "error"))
      yield* hangUp(1)
      yield* stream.waitFor("the start call", (events) => events.some(({ type }) => type === "start_call"))
      socket.send('{"type":"start"}')
      yield* socket.waitFor("the session", (events) => events.some(({ type }) => type === "session"))
      yield* hangUp(2)
      yield* stream.waitFor("the end", (events) => events.some(({ type }) => type === "ended"))
      judge("GET", path, { status: 200, headers: Object.fromEntries(stream.headers), text: stream.text() })
      for (const event of socket.events) assert.isUndefined(document.eventObjection(event), JSON.stringify(event))
      assert.isDefined(document.eventObjection({ type: "position" }))
      // a refused upgrade is answered by hand
      judge("GET", path, yield* refusedUpgrade(port, path, foreign))
      const unknown = `/api/session/${NOBODY}/events`
      judge("GET", unknown, yield* refusedUpgrade(port, unknown))
      // the handshake that is taken
      const opened = yield* Effect.promise(
        () =>
          new Promise<{ status: number; headers: Answered["headers"]; text: string }>((resolve, reject) => {
            const handshake = httpRequest({
              port,
              host: "127.0.0.1",
              path,
              headers: {
                connection: "Upgrade",
                upgrade: "websocket",
                "sec-websocket-version": "13",
                "sec-websocket-key": KEY,
              },
            })
            handshake.on("error", reject)
            handshake.on("upgrade", (response, stays) => {
              stays.destroy()
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text: "" })
            })
            handshake.end()
          }),
      )
      judge("GET", path, opened)
      const channel = yield* PushChannel
      const connection = { send: () => {}, backlog: () => 0, ping: () => true, close: () => {} }
      for (let n = 0; n < CONNECTIONS_PER_CALLER; n++) {
        yield* Effect.ignore(channel.open(`ticket-${n}`, limitKey("127.0.0.1"), connection))
      }
      assert.deepStrictEqual(codeOf(yield* ask("GET", path)), [429, "too_many_connections"])
    }),
  )

  for (const [code, how] of [
    ["agent_busy", () => Effect.fail(atCapacity)],
    ["agent_unavailable", () => Effect.fail(platformIsAway)],
    ["request_refused", () => Effect.fail(platformRefusesRequest)],
    ["platform_unavailable", () => Effect.succeed(session(7))],
  ] as const) {
    servedTest(`the document says all of a start that ends as ${code}`, shop, ({ port, world }) =>
      Effect.gen(function* () {
        const { called, hangUp, start } = yield* check(port)
        const ticket = yield* called()
        yield* hangUp(7)
        world.initiate = how
        assert.strictEqual((yield* start(ticket)).body.code, code)
      }),
    )
  }

  servedTest("the document says all of a start in progress, and a gate that drains", shop, ({ drain, port, world }) =>
    Effect.gen(function* () {
      const { ask, called, relay, request, start } = yield* check(port)
      const ticket = yield* called()
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      const first = yield* Effect.forkChild(start(ticket))
      yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
      assert.deepStrictEqual(codeOf(yield* start(ticket)), [409, "start_in_progress"])
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(first)
      yield* drain
      assert.deepStrictEqual(codeOf(yield* relay(ticket, "")), [503, "draining"])
      assert.deepStrictEqual(codeOf(yield* request()), [503, "draining"])
      assert.deepStrictEqual(codeOf(yield* start(ticket)), [503, "draining"])
      assert.deepStrictEqual(codeOf(yield* ask("GET", "/health/ready")), [503, "not_ready"])
    }),
  )
}
