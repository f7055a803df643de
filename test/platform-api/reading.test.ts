import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Tracer } from "effect"
import type { Received } from "../platform/support.ts"
import { against, no, ok } from "./support.ts"

describe("reading", () => {
  const figures = (limit: unknown, used: unknown) => (request: Received) =>
    request.url.endsWith("/usage") ? ok({ currentUsage: { Call_Concurrency: used } }) : ok({ Call_Concurrency: limit })

  for (const [limit, used] of [
    [5, 2],
    ["5", "2"],
    ["5.0", 2.0],
  ] as const) {
    it.effect(`understands the figures ${JSON.stringify([limit, used])}`, () =>
      against(figures(limit, used), (api) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 5, inUse: 2 })
        }),
      ),
    )
  }

  for (const limit of ["many", "", -1, null, undefined]) {
    it.effect(`rejects ${JSON.stringify(limit)} as a figure`, () =>
      against(figures(limit, 0), (api) =>
        Effect.gen(function* () {
          const { reason } = yield* Effect.flip(api.concurrency("default"))
          assert.deepInclude(reason, { _tag: "Unavailable", reason: "malformed", mayHaveHappened: false })
        }),
      ),
    )
  }

  it.effect("is refused when the key has no user management", () =>
    against(
      () => no("U:API_ACCESS_MANAGEMENT_RESTRICTION", "no concurrency for you", 403),
      (api) =>
        Effect.gen(function* () {
          const { reason } = yield* Effect.flip(api.concurrency("default"))
          assert.deepInclude(reason, { _tag: "Refused", code: "API_ACCESS_MANAGEMENT_RESTRICTION" })
        }),
    ),
  )

  it.effect("is tried once more after a failure that may be temporary", () =>
    against(
      (request, index) => (index === 0 ? "reset" : figures(3, 1)(request)),
      (api, received) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 3, inUse: 1 })
          assert.strictEqual(received.length, 3)
        }),
    ),
  )

  for (const [fields, opened] of [
    [{ joinedAt: null }, false],
    [{ joinedAt: "0001-01-01T00:00:00" }, false],
    [{ joinedAt: "2026-11-26T12:00:00Z" }, true],
    [{}, undefined],
    [{ joinedAt: null, endedAt: "2026-11-26T12:00:00Z" }, false],
  ] as const) {
    it.effect(`a session with ${JSON.stringify(fields)} was opened: ${opened}`, () =>
      against(
        () => ok({ status: 1, ...fields }),
        (api) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* api.sessionStatus("default", "web-1")).opened, opened)
          }),
      ),
    )
  }

  for (const [answer, expected] of [
    [ok({ status: 3 }), "running"],
    [ok({ status: 1, endedAt: null }), "running"],
    [ok({ status: 3, endedAt: "0001-01-01T00:00:00" }), "running"],
    [ok({ status: 3, endedAt: "2026-01-01T00:00:00Z" }), "over"],
    [ok({ status: 4 }), "over"],
    [ok({ status: "Canceled" }), "over"],
    [ok({ status: 6 }), "over"],
    [{ status: 404, body: "" }, "unknown"],
    [no("H:WEB_SESSION_NOT_FOUND", "none"), "unknown"],
  ] as const) {
    it.effect(`reports ${expected} for ${JSON.stringify(answer)}`, () =>
      against(
        () => answer,
        (api, received) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* api.sessionStatus("default", "w/1")).status, expected)
            assert.strictEqual(received[0]?.url, "/api/v1/business/b1/websession/history/w%2F1")
            assert.strictEqual(received[0]?.method, "POST")
          }),
      ),
    )
  }

  it.effect.each([
    ["is answered", ok({ sessionStatus: 1 })],
    ["is refused", no("X:NOT_ALLOWED", null, 403)],
    ["breaks off", "reset"],
  ] as const)("keeps the id of a session out of traces when its status %s", ([, answer]) =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        },
      })
      const paths = yield* against(
        () => answer,
        (api, received) =>
          Effect.andThen(
            Effect.exit(api.sessionStatus("default", "a/session")),
            Effect.sync(() => received.map(({ url }) => url)),
          ),
      ).pipe(Effect.withTracer(tracer))
      assert.match(paths[0] ?? "", /\/websession\/history\/a%2Fsession$/)
      const client = spans.filter(({ kind }) => kind === "client")
      assert.isNotEmpty(client)
      for (const { attributes, status } of client) {
        assert.match(String(attributes.get("url.full")), /^http:.*\/websession\/history\/:id$/)
        assert.match(String(attributes.get("url.path")), /^\/api\/v1\/business\/.*\/websession\/history\/:id$/)
        assert.isTrue(attributes.has("server.address"))
        assert(status._tag === "Ended")
        const shown = Exit.isFailure(status.exit) ? Cause.pretty(status.exit.cause) : ""
        assert.notMatch(shown + JSON.stringify([...attributes]), /a(%2F|\/)session/)
      }
    }),
  )
})
