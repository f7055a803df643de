/** Text that can be written in several forms has one meaning, and what nobody can see is in no name and no id. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { running } from "./input-support.ts"
import { sessionRequest } from "./rest-client.ts"

const COMPOSED = "Caf\u00e9"
const DECOMPOSED = "Cafe\u0301"

/** Invisible, bidirectional, and separators of lines. */
const UNSEEN = [
  "\u200b",
  "\u00ad",
  "\u2060",
  "\ufeff",
  "\u202e",
  "\u2066",
  "\u200f",
  "\u061c",
  "\u2028",
  "\u3164",
  "\u{e0041}",
]

describe("text in several forms", () => {
  it.live("is refused with characters that nobody sees, in every name and id: 400, and the field is named", () =>
    Effect.gen(function* () {
      const { call, keys, signIn } = yield* running()
      const ask = yield* signIn
      for (const unseen of UNSEEN) {
        const bad = `a${unseen}b`
        for (const [field, method, path, body] of [
          ["name", "POST", "business", { name: bad }],
          ["name", "PATCH", "user", { name: bad }],
          ["name", "POST", "business/b1/webcampaigns", { name: bad }],
          ["clientIdentifier", "POST", "business/b1/websession/initiate", { ...sessionRequest, clientIdentifier: bad }],
          ["regionId", "POST", "business/b1/websession/initiate", { ...sessionRequest, regionId: bad }],
          [
            "filter.clientIdentifiers.0",
            "POST",
            "business/b1/websession/count",
            { filter: { clientIdentifiers: [bad] } },
          ],
        ] as const) {
          const { message, status } = yield* call(keys.users, method, path, body)
          assert.deepStrictEqual([path, field, status], [path, field, 400], JSON.stringify(unseen))
          assert.isTrue(message?.startsWith(field), message ?? "")
        }
        const path = `business/${encodeURIComponent(bad)}`
        assert.strictEqual((yield* call(keys.users, "GET", path)).status, 400)
        for (const [field, where, body] of [
          ["name", "businesses", { name: bad }],
          ["name", "keys", { name: bad, scope: { type: "Unrestricted" } }],
          ["email", "session", { email: `${bad}@example.com`, password: "whatever this is" }],
        ] as const) {
          const answer = yield* ask("POST", where, body)
          assert.deepStrictEqual([field, answer.status], [field, 400])
          assert.isTrue(answer.message.startsWith(field), answer.message)
        }
      }
      for (const blank of ["\u200d", " \u200c ", "\ufe0f"]) {
        assert.strictEqual((yield* call(keys.users, "POST", "business", { name: blank })).status, 400)
      }
    }).pipe(Effect.scoped),
  )

  it.live("may have every character that words and emoji need", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      for (const name of ["عليرضا می\u200cخواهم", "👩\u200d💻 ❤\ufe0f", "שלום 12", "日本語", "Ünïcode"]) {
        const { data, status } = yield* call(keys.users, "POST", "business", { name })
        assert.deepStrictEqual([status, data.name], [200, name])
      }
    }).pipe(Effect.scoped),
  )

  it.live("is kept in one: names, and a client that is asked for in another form is found", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      assert.strictEqual((yield* call(keys.users, "POST", "business", { name: DECOMPOSED })).data.name, COMPOSED)
      assert.strictEqual((yield* call(keys.users, "PATCH", "user", { name: DECOMPOSED })).data.name, COMPOSED)
      const campaign = yield* call(keys.users, "POST", "business/b1/webcampaigns", { name: DECOMPOSED })
      assert.strictEqual(campaign.data.name, COMPOSED)
      const body = { ...sessionRequest, clientIdentifier: DECOMPOSED }
      assert.strictEqual((yield* call(keys.users, "POST", "business/b1/websession/initiate", body)).status, 200)
      for (const client of [COMPOSED, DECOMPOSED]) {
        for (const filter of [{ clientIdentifier: client }, { clientIdentifiers: [client] }]) {
          const { data } = yield* call(keys.users, "POST", "business/b1/websession/history", { filter })
          assert.deepStrictEqual(
            data.items.map(({ clientIdentifier }: { clientIdentifier: string }) => clientIdentifier),
            [COMPOSED],
          )
        }
      }
    }).pipe(Effect.scoped),
  )
})

/** What each form of an endpoint's address leads to. */
const ADDRESSES = [
  ["/api/v1/business/b1", 200],
  // letter case of the path, a slash at the end, doubled slashes and percent-encoding make no difference
  ["/API/v1/Business/b1", 200],
  ["/api/v1/business/b1/", 200],
  ["/api/v1//business/b1", 200],
  ["/api/v1/%62usiness/%62%31", 200],
  ["/openapi.json/", 200],
  // an endpoint without parameters has none in its query either
  ["/api/v1/business/b1?api-version=2&x=1&x=2", 200],
  // the case of an id is its own, and an encoded slash is a part of an id
  ["/api/v1/business/B1", 404],
  ["/api/v1/business/b1%2fwebcampaigns", 404],
  ["/api/v1/business/b1%", 404],
  // the version is in the path alone
  ["/api/v2/business/b1", 404],
  ["/api/business/b1", 404],
] as const

describe("the address of a request", () => {
  it.live("leads to the same endpoint in each of its forms, and an id is taken as it is", () =>
    Effect.gen(function* () {
      const { keys, origin, signIn } = yield* running()
      const headers = { authorization: `Token ${Redacted.value(keys.users)}` }
      for (const [path, status] of ADDRESSES) {
        const response = yield* Effect.promise(() => fetch(origin + path, { headers }))
        assert.deepStrictEqual([path, response.status], [path, status])
      }
      // two values of one parameter have no meaning, and an unknown parameter has none
      const ask = yield* signIn
      for (const [query, status] of [
        ["limit=2", 200],
        ["limit=2&limit=3", 400],
        ["limit=2&version=1", 400],
      ] as const) {
        assert.deepStrictEqual([query, (yield* ask("GET", `audit?${query}`)).status], [query, status])
      }
    }).pipe(Effect.scoped),
  )
})
