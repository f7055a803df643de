import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
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
})
