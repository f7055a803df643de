/** Answers to SDP offers, which begin the calls of `sdp-relay` credentials. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_BODY_BYTES } from "../../../../src/http/answers/answer.ts"
import {
  atCapacity,
  awaitedSession,
  platformIsAway,
  platformRefusesRequest,
  relayedSession,
  type World,
} from "../../../support/gate.ts"
import { type Reply, servedTest } from "../../../support/gate-server.ts"
import { shop, WEBHOOK } from "../../support.ts"
import { codeOf, type OpenApiCheck, ticketOf } from "../openapi-check.ts"
import { NOBODY } from "./endpoints.ts"

/** A caller whose page may make an offer. */
const awaits = (world: World, request: () => Effect.Effect<Pick<Reply, "body">>) =>
  Effect.gen(function* () {
    const awaited = awaitedSession(Date.now())
    world.initiate = () => Effect.succeed(awaited)
    const ticket = ticketOf(yield* request())
    const { credential } = awaited
    return { ticket, token: credential?.shape === "sdp-relay" ? credential.token : "" }
  })

export const offers = ({ check }: OpenApiCheck): void => {
  servedTest("the document says all of an offer, and what is wrong with one", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask, relay, request } = yield* check(port)
      const { ticket, token } = yield* awaits(world, request)
      const path = `/api/session/${ticket}/relay`
      const sdp = { "content-type": "application/sdp" }
      assert.deepStrictEqual(codeOf(yield* ask("POST", path, { body: "v=0\r\n" })), [415, "unsupported_media_type"])
      const large = yield* ask("POST", path, { body: `v=0\n${"x".repeat(MAX_BODY_BYTES)}`, headers: sdp })
      assert.deepStrictEqual(codeOf(large), [413, "body_too_large"])
      assert.deepStrictEqual(codeOf(yield* relay(ticket, token, "offer")), [400, "invalid_request"])
      assert.deepStrictEqual(codeOf(yield* ask("POST", path, { body: "v=0\n", headers: sdp })), [
        401,
        "credential_refused",
      ])
      assert.deepStrictEqual(codeOf(yield* relay(NOBODY, token)), [404, "ticket_unknown"])
      assert.deepStrictEqual(world.offers, [])
      const { headers, status, text } = yield* relay(ticket, token)
      assert.deepStrictEqual([status, text], [201, relayedSession(1).answer])
      assert.strictEqual(headers.location, "/v1/realtime/calls/call-1")
      assert.deepStrictEqual(codeOf(yield* relay(ticket, token)), [409, "credential_used"])
      yield* ask("POST", WEBHOOK, { body: { WebSessionId: "call-1" }, headers: { "x-api-token": "the-webhook-token" } })
      assert.deepStrictEqual(codeOf(yield* relay(ticket, token)), [410, "ticket_over"])
    }),
  )

  for (const [status, code, how] of [
    [409, "agent_busy", () => Effect.fail(atCapacity)],
    [409, "agent_unavailable", () => Effect.fail(platformIsAway)],
    [422, "request_refused", () => Effect.fail(platformRefusesRequest)],
    [503, "platform_unavailable", () => Effect.succeed({ ...relayedSession(1), sessionIds: ["web-7"] })],
  ] as const) {
    servedTest(`the document says all of an offer that ends as ${code}`, shop, ({ port, world }) =>
      Effect.gen(function* () {
        const { hangUp, relay, request } = yield* check(port)
        yield* hangUp(7)
        const { ticket, token } = yield* awaits(world, request)
        world.relay = how
        assert.deepStrictEqual(codeOf(yield* relay(ticket, token)), [status, code])
      }),
    )
  }
}
