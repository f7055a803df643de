/** Pages of other origins, over a real server. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { call, post, rawCall, servedTest, textField } from "../../support/gate-server.ts"
import { REQUEST, shop, WEBHOOK } from "../support.ts"

const origin = (value: string) => ({ origin: value })

describe("a page of another origin", () => {
  servedTest(
    "a page of another origin that is allowed may send a preflight and a request and read the answer, with credentials",
    shop,
    ({ url }) =>
      Effect.gen(function* () {
        const preflight = yield* call(url + REQUEST, {
          method: "OPTIONS",
          headers: {
            ...origin("https://shop.example"),
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type, x-requested-with, x-signalr-user-agent",
          },
        })
        expect(preflight.status).toBe(204)
        expect(preflight.headers.get("access-control-allow-origin")).toBe("https://shop.example")
        expect(preflight.headers.get("access-control-allow-credentials")).toBe("true")
        expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE")
        for (const name of ["content-type", "x-requested-with", "x-signalr-user-agent"]) {
          expect(preflight.headers.get("access-control-allow-headers")).toContain(name)
        }
        expect(preflight.headers.get("vary")).toBe("Origin")

        const started = yield* post(url + REQUEST, {}, origin("https://shop.example"))
        const ticket = textField(started, "uniqueRequestId")
        const status = yield* call(`${url}/api/session/${ticket}`, { headers: origin("https://shop.example") })
        const refused = yield* post(url + REQUEST, [], origin("https://shop.example"))
        expect([started.status, status.status, refused.status]).toEqual([200, 200, 400])
        for (const { headers } of [started, status, refused]) {
          expect(headers.get("access-control-allow-origin")).toBe("https://shop.example")
          expect(headers.get("access-control-allow-credentials")).toBe("true")
          expect(headers.get("access-control-expose-headers")).toContain("retry-after")
        }
      }),
  )

  servedTest(
    "a page of another origin that is not allowed is refused before anything happens",
    shop,
    ({ port, url, world }) =>
      Effect.gen(function* () {
        for (const foreign of ["https://evil.example", "null", "https://shop.example.evil.example"]) {
          const refused = yield* post(url + REQUEST, {}, origin(foreign))
          expect([refused.status, refused.body.code]).toEqual([403, "origin_not_allowed"])
          expect(refused.headers.get("access-control-allow-origin")).toBeNull()
          const preflight = yield* call(url + REQUEST, {
            method: "OPTIONS",
            headers: { ...origin(foreign), "access-control-request-method": "POST" },
          })
          expect(preflight.status).toBe(403)
        }
        // the same target in a proxy's absolute form
        const absolute = yield* rawCall(
          port,
          {
            path: `http://gate${REQUEST}`,
            method: "POST",
            headers: { "content-type": "application/json", ...origin("https://evil.example") },
          },
          "{}",
        )
        expect(absolute.status).toBe(403)
        expect(world.initiated).toEqual([])
      }),
  )

  servedTest(
    "may send the headers of Security.AllowedHeaders with session requests and negotiations, and nowhere else",
    { Security: { ...shop.Security, AllowedHeaders: ["X-Tenant", "Authorization"] } },
    ({ url }) =>
      Effect.gen(function* () {
        const allowedAt = Effect.fnUntraced(function* (path: string) {
          const preflight = yield* call(url + path, {
            method: "OPTIONS",
            headers: {
              ...origin("https://shop.example"),
              "access-control-request-method": "POST",
              "access-control-request-headers": "authorization, x-tenant",
            },
          })
          expect(preflight.status).toBe(204)
          return (preflight.headers.get("access-control-allow-headers") ?? "").split(", ")
        })
        const own = ["content-type", "x-request-id", "x-requested-with", "x-signalr-user-agent"]
        expect(yield* allowedAt(REQUEST)).toEqual([...own, "x-tenant", "authorization"])
        expect(yield* allowedAt("/api/session/unknown")).toEqual([...own, "x-tenant", "authorization"])
        expect(yield* allowedAt("/sessionHub/negotiate")).toEqual([...own, "authorization", "x-tenant"])
        expect(yield* allowedAt(WEBHOOK)).toEqual(own)
        expect(yield* allowedAt("/console/api/view")).toEqual(own)
      }),
  )

  servedTest("may be the gate's own, and needs no header then", {}, ({ url }) =>
    Effect.gen(function* () {
      const started = yield* post(url + REQUEST, {}, origin(url))
      expect(started.status).toBe(200)
      expect(started.headers.get("access-control-allow-origin")).toBeNull()
    }),
  )
})
