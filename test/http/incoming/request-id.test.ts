import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../../harness/process.ts"
import { call, post, servedTest } from "../../support/gate-server.ts"
import { REQUEST } from "../support.ts"

describe("a request's id", () => {
  const idOf = (reply: { readonly headers: Headers }) => reply.headers.get("x-request-id")

  servedTest("is kept if it is valid, otherwise generated, echoed on every route, and in the log", {}, ({ log, url }) =>
    Effect.gen(function* () {
      const own = [idOf(yield* post(url + REQUEST)), idOf(yield* post(url + REQUEST, { regionId: 5 }))]
      for (const id of own) expect(id).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/)
      expect(new Set(own).size).toBe(2)
      const given = { "x-request-id": "trace:4bf92f35/00f0-67aa" }
      expect(idOf(yield* post(url + REQUEST, {}, given))).toBe(given["x-request-id"])
      for (const path of ["/api/session/unknown", "/docs", "/widget.js", "/health/live", "/nothing"]) {
        expect([path, idOf(yield* call(url + path, { headers: given }))]).toEqual([path, given["x-request-id"]])
      }
      for (const wrong of ["a b", 'a"b', "x".repeat(65), "ä", "<script>"]) {
        const made = idOf(yield* post(url + REQUEST, {}, { "x-request-id": Buffer.from(wrong).toString("latin1") }))
        expect(made).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/)
      }
      yield* Effect.promise(() => eventually("all is logged", () => log().includes("/nothing")))
      const ids = log()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).id)
      for (const id of [...own, given["x-request-id"]]) expect(ids).toContain(id)
    }),
  )

  servedTest("is not logged for health and metrics, which are not in the access log", {}, ({ log, url }) =>
    Effect.gen(function* () {
      for (const path of ["/health/live", "/health/ready", "/metrics"]) {
        expect((yield* call(url + path)).status).toBe(200)
      }
      yield* call(`${url}/nothing`)
      yield* Effect.promise(() => eventually("the last is logged", () => log().includes("/nothing")))
      expect(log()).not.toMatch(/health|metrics/)
    }),
  )
})
