/** Each form of a path of the gate leads where the path itself leads, or nowhere. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { rawCall, servedTest } from "../../support/gate-server.ts"

const REQUEST = "/api/session/request"
const NOBODY = "/api/session/Abcdefghijklmnopqrstuvwx"

/** The forms of each path, with what all of them answer. */
const FORMS = [
  [400, "invalid_request", [REQUEST, `${REQUEST}/`, `/${REQUEST}`, "/API/Session/Request", "/api//session/%72equest"]],
  [400, "invalid_request", [`${REQUEST}?v=1&v=2`, `${REQUEST}/?api-version=2`]],
  [400, "invalid_request", ["/api/webhook/session-ended", "/api/webhook/session-ended/", "/API/webhook/Session-Ended"]],
  [404, "ticket_unknown", [`${NOBODY}/start`, `${NOBODY}/start/`, `${NOBODY}//Start`, `/API${NOBODY.slice(4)}/start`]],
  [400, "invalid_request", [`${NOBODY}/silence`, `${NOBODY}/silence/`, `/API${NOBODY.slice(4)}/Silence`]],
  [200, "", ["/sessionHub/negotiate", "/sessionhub/negotiate/", "/SessionHub//Negotiate?negotiateVersion=1"]],
  // a version that no path has, and an encoded slash
  [404, "not_found", ["/v2/api/session/request", "/api/v2/session/request", "/api%2fsession/request"]],
] as const

describe("a path of the gate", () => {
  servedTest("has one meaning in each of its forms, and takes no place for another", {}, ({ port, world }) =>
    Effect.gen(function* () {
      const headers = { "content-type": "application/json" }
      for (const [status, code, paths] of FORMS) {
        for (const path of paths) {
          const answer = yield* rawCall(port, { method: "POST", path, headers }, '{"transportType":7}')
          assert.deepStrictEqual([path, answer.status, answer.body.code ?? ""], [path, status, code])
        }
      }
      assert.lengthOf(world.initiated, 0)
      for (const path of ["/health/live", "/health/live/", "/HEALTH/live", "/health//live", "/health/live?x=1&x=2"]) {
        assert.strictEqual((yield* rawCall(port, { path })).status, 200, path)
      }
      const started = yield* rawCall(port, { method: "POST", path: `${REQUEST}/`, headers }, "{}")
      assert.strictEqual(started.status, 200)
      const ticket = String(started.body.uniqueRequestId)
      // an id has one form: its own
      for (const [id, status] of [
        [ticket, 200],
        [`${ticket}/`, 200],
        [ticket === ticket.toLowerCase() ? ticket.toUpperCase() : ticket.toLowerCase(), 404],
      ] as const) {
        assert.strictEqual((yield* rawCall(port, { path: `/api/session/${id}` })).status, status, id)
      }
    }),
  )
})
