/** Which sessions of a client the platform has: found by paging back to the time that is asked for. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Received } from "../platform/support.ts"
import { against, json, ok } from "./support.ts"

describe("reading", () => {
  describe("of a client's sessions", () => {
    const SINCE = Date.parse("2026-01-01T12:00:00Z")
    const session = (n: number, secondsAgo: number, fields: object = {}) => ({
      ...{
        id: `w${n}`,
        webSessionId: `w${n}`,
        conversationSessionId: `s${n}`,
        clientIdentifier: "me",
        webCampaignId: "c1",
      },
      createdAt: new Date(SINCE - secondsAgo * 1_000).toISOString(),
      ...fields,
    })
    /** Pages of an endless history; each covers this many seconds and has one session of another client. */
    const endless = (seconds: number) => (request: Received) => {
      const page = Number(JSON.parse(request.body).nextCursor ?? 0)
      return ok({ items: [session(page, page * seconds, { clientIdentifier: "else" })], nextCursor: String(page + 1) })
    }
    const bodies = (received: ReadonlyArray<Received>) => received.map(({ body }): unknown => JSON.parse(body))

    it.effect(
      "finds those of the client and campaign that began since then, by either clock, on as many pages as needed",
      () => {
        const pages = [
          [session(1, -2), session(2, 0, { clientIdentifier: "else" })],
          [session(3, 30), session(4, 31, { webCampaignId: "c2" }), session(5, 32, { clientIdentifier: null })],
          [session(6, 59, { webCampaignId: null, id: 7, conversationSessionId: "s6" }), session(7, 61)],
          [session(8, 62)],
        ]
        return against(
          (request) => {
            const page = Number(JSON.parse(request.body).nextCursor ?? 0)
            return ok({ items: pages[page], nextCursor: String(page + 1) })
          },
          (api, received) =>
            Effect.gen(function* () {
              assert.deepStrictEqual(yield* api.sessionsOf("default", "me", SINCE), [
                ["w1", "s1"],
                ["w3", "s3"],
                ["w6", "s6"],
              ])
              assert.deepStrictEqual(
                new Set(received.map(({ url }) => url)),
                new Set(["/api/v1/business/b1/websession/history"]),
              )
              const cursors = [undefined, "1", "2"].map((nextCursor) => ({
                limit: 100,
                ...(nextCursor === undefined ? {} : { nextCursor }),
              }))
              assert.deepStrictEqual(bodies(received), cursors)
            }),
        )
      },
    )

    it.effect("knows them by the names of the reference's document, also one that has no conversation yet", () => {
      const named = (queueId: string, sessionId: string | null) => ({
        queueId,
        sessionId,
        clientIdentifier: "me",
        webCampaignId: "c1",
        createdAt: new Date(SINCE).toISOString(),
      })
      const page = { items: [named("w1", "s1"), named("w2", null)], nextCursor: null }
      return against(
        () => ok(page),
        (api) =>
          Effect.map(api.sessionsOf("default", "me", SINCE), (found) =>
            assert.deepStrictEqual(found, [["w1", "s1"], ["w2"]]),
          ),
      )
    })

    it.effect("shares one reading between queries within a short time, and reads again later", () =>
      against(endless(30), (api, received) =>
        Effect.gen(function* () {
          const ask = (since: number) => api.sessionsOf("default", "me", since)
          assert.deepStrictEqual([yield* ask(SINCE), yield* ask(SINCE + 1_000)], [[], []])
          assert.lengthOf(received, 4)
          // an older one needs more pages
          assert.deepStrictEqual(yield* ask(SINCE - 60_000), [])
          assert.lengthOf(received, 4 + 6)
          yield* TestClock.adjust("2 seconds")
          assert.deepStrictEqual(yield* ask(SINCE), [])
          assert.lengthOf(received, 4 + 6 + 4)
        }),
      ),
    )

    it.effect("is undefined when that is more than ten pages away, and not read again within the short time", () =>
      against(endless(1), (api, received) =>
        Effect.gen(function* () {
          assert.isUndefined(yield* api.sessionsOf("default", "me", SINCE))
          assert.isUndefined(yield* api.sessionsOf("default", "me", SINCE + 1_000))
          assert.lengthOf(received, 10)
        }),
      ),
    )

    for (const [what, answer] of [
      ["has no such list", { status: 404, body: "" }],
      ["does not let the key read it", { status: 403, body: "" }],
      ["answers in another format", ok([])],
      ["lists the oldest first", ok({ items: [session(1, 600), session(2, 0)] })],
      ["does not name the callers", ok({ items: [session(1, 0, { clientIdentifier: undefined })] })],
      ["has an invalid time", ok({ items: [session(1, 0, { createdAt: "yesterday" })] })],
    ] as const) {
      it.effect(`is undefined when the platform ${what}`, () =>
        against(
          () => answer,
          (api) => Effect.map(api.sessionsOf("default", "me", SINCE), (found) => assert.isUndefined(found)),
        ),
      )
    }

    it.effect("fails when the platform fails", () =>
      against(
        () => json(503, {}),
        (api) =>
          Effect.map(Effect.flip(api.sessionsOf("default", "me", SINCE)), ({ reason }) =>
            assert.strictEqual(reason._tag, "Unavailable"),
          ),
      ),
    )
  })
})
