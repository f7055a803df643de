/** `POST /api/session/{id}/relay` over a real server: pages of other origins, and pages that disconnect. */
import { createConnection } from "node:net"
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { eventually } from "../../harness/process.ts"
import { awaitedSession, relayedSession, type World } from "../../support/gate.ts"
import { call, post, servedTest } from "../../support/gate-server.ts"
import { REQUEST, shop } from "../support.ts"

const SHOP = "https://shop.example"

/** A caller whose page may make an offer. */
const awaits = (world: World, url: string) =>
  Effect.gen(function* () {
    const awaited = awaitedSession(Date.now())
    world.initiate = () => Effect.succeed(awaited)
    const { body } = yield* post(url + REQUEST)
    const token = awaited.credential?.shape === "sdp-relay" ? awaited.credential.token : ""
    return { path: `/api/session/${body.uniqueRequestId}/relay`, token, ticket: String(body.uniqueRequestId), body }
  })

describe("an offer", () => {
  servedTest("an offer of a page of another origin is answered with what its SDK reads", shop, ({ url, world }) =>
    Effect.gen(function* () {
      const { body, path, token } = yield* awaits(world, url)
      expect(body.credential).toMatchObject({ shape: "sdp-relay", url: path, token })
      const preflight = yield* call(url + path, {
        method: "OPTIONS",
        headers: {
          origin: SHOP,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-openai-agents-sdk",
        },
      })
      expect(preflight.status).toBe(204)
      const allowed = preflight.headers.get("access-control-allow-headers")?.split(", ")
      for (const name of ["authorization", "content-type", "x-openai-agents-sdk"]) expect(allowed).toContain(name)
      const headers = { "content-type": "application/sdp", authorization: `Bearer ${token}`, origin: SHOP }
      const answered = yield* call(url + path, { method: "POST", headers, body: "v=0\r\n" })
      expect([answered.status, answered.text]).toEqual([201, relayedSession(1).answer])
      expect(answered.headers.get("content-type")).toBe("application/sdp")
      expect(answered.headers.get("cache-control")).toBe("no-store")
      expect(answered.headers.get("access-control-allow-origin")).toBe(SHOP)
      expect(answered.headers.get("access-control-expose-headers")).toContain("location")
      expect(answered.headers.get("location")?.split("/").pop()).toBe("call-1")
      expect(world.offers).toEqual(["v=0\r\n"])
    }),
  )

  servedTest("an offer of a foreign page is refused, and so is its preflight", shop, ({ url, world }) =>
    Effect.gen(function* () {
      const { path, token } = yield* awaits(world, url)
      const headers = {
        "content-type": "application/sdp",
        authorization: `Bearer ${token}`,
        origin: "https://evil.example",
      }
      for (const method of ["POST", "OPTIONS"]) {
        const reply = yield* call(url + path, { method, headers, ...(method === "POST" ? { body: "v=0\r\n" } : {}) })
        expect([reply.status, reply.body.code]).toEqual([403, "origin_not_allowed"])
      }
      expect(world.offers).toEqual([])
    }),
  )

  servedTest(
    "the call of an offer whose page is gone when the vendor answers is ended",
    shop,
    ({ cut, port, url, world }) =>
      Effect.gen(function* () {
        const { path, ticket, token } = yield* awaits(world, url)
        const answered = yield* Deferred.make<void>()
        world.relay = (n) => Effect.as(Deferred.await(answered), relayedSession(n))
        world.end = () => Effect.succeed(true)
        const page = createConnection(port, "127.0.0.1")
        page.on("error", () => {})
        page.write(
          `POST ${path} HTTP/1.1\r\nhost: gate\r\ncontent-type: application/sdp\r\nauthorization: Bearer ${token}\r\n` +
            "content-length: 5\r\n\r\nv=0\r\n",
        )
        yield* Effect.promise(() => eventually("the vendor is asked", () => world.offers.length === 1))
        cut()
        yield* Effect.promise(() => eventually("the page is gone", () => page.destroyed))
        yield* Deferred.succeed(answered, undefined)
        yield* Effect.promise(() => eventually("the call is ended", () => world.endings.length === 1))
        expect(world.endings).toEqual(["call-1"])
        const state = call(`${url}/api/session/${ticket}`).pipe(Effect.map(({ body }) => body.state))
        yield* Effect.promise(() =>
          eventually("the slot is free", async () => (await Effect.runPromise(state)) === "ended"),
        )
      }),
  )

  servedTest("is counted among the actions of an address", { Security: { StatusPerMinute: 2 } }, ({ url, world }) =>
    Effect.gen(function* () {
      const { path, token } = yield* awaits(world, url)
      const attempt = (bearer: string) =>
        Effect.map(
          call(url + path, {
            method: "POST",
            headers: { "content-type": "application/sdp", authorization: `Bearer ${bearer}` },
            body: "v=0\r\n",
          }),
          ({ status }) => status,
        )
      expect([yield* attempt("wrong"), yield* attempt("wrong"), yield* attempt(token)]).toEqual([401, 401, 429])
      expect(world.offers).toEqual([])
    }),
  )

  servedTest("leaves no trace of its token in the log", shop, ({ log, url, world }) =>
    Effect.gen(function* () {
      const { path, ticket, token } = yield* awaits(world, url)
      const headers = { "content-type": "application/sdp", authorization: `Bearer ${token}` }
      yield* call(url + path, { method: "POST", headers, body: "v=0\r\n" })
      yield* Effect.promise(() => eventually("the request is logged", () => log().includes("relayed")))
      expect(log()).not.toContain(token)
      expect(log()).not.toContain(ticket)
    }),
  )
})
