/** A page asks whether its visitor would be served now. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { call, servedTest } from "../../support/gate-server.ts"
import { shop } from "../support.ts"

const PATH = "/api/availability"

describe.concurrent("a page that asks for the availability", () => {
  servedTest("is told the expected wait, of the default campaign or of the one that it names", {}, ({ url }) =>
    Effect.gen(function* () {
      // scripts and proxies on the way add parameters of their own
      for (const path of [
        PATH,
        `${PATH}?_=1764288000&utm_source=mail`,
        `${PATH}?campaignId=default`,
        `${PATH}/`,
        "/API/Availability",
      ]) {
        const answer = yield* call(url + path)
        expect(answer.status).toBe(200)
        expect(answer.body).toEqual({ state: "open", estimatedWaitSeconds: 0 })
        expect(answer.headers.get("cache-control")).toBe("no-store")
      }
    }),
  )

  servedTest("is told which field names no campaign", {}, ({ url }) =>
    Effect.gen(function* () {
      for (const query of ["campaignId=none", "campaignId=default&campaignId=default"]) {
        const refused = yield* call(`${url}${PATH}?${query}`)
        expect(refused.status).toBe(400)
        expect(refused.body).toMatchObject({ code: "unknown_campaign", errors: [{ field: "campaignId" }] })
      }
    }),
  )

  servedTest("is answered if its origin is allowed, and refused if not", shop, ({ url }) =>
    Effect.gen(function* () {
      const allowed = yield* call(url + PATH, { headers: { origin: "https://shop.example" } })
      expect(allowed.status).toBe(200)
      expect(allowed.headers.get("access-control-allow-origin")).toBe("https://shop.example")
      const foreign = yield* call(url + PATH, { headers: { origin: "https://thief.example" } })
      expect(foreign.status).toBe(403)
      expect(foreign.body).toMatchObject({ code: "origin_not_allowed" })
    }),
  )

  servedTest("cannot post to it", {}, ({ url }) =>
    Effect.gen(function* () {
      const refused = yield* call(url + PATH, { method: "POST" })
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET"])
    }),
  )
})
