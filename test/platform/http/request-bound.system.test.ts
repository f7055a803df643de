/** A request is answered within a bound, whatever the database does. */
import { request } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { DATABASE_MILLIS } from "../../../src/platform/data/Database.ts"
import { REQUEST_MILLIS } from "../../../src/platform/http/request-bound.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { type PostgresServer, startPostgres } from "../../support/postgres.ts"
import { prepare } from "../support.ts"
import { running } from "./input-support.ts"
import { sessionRequest } from "./rest-client.ts"

describe("a platform whose PostgreSQL is stopped", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.dispose())

  it.live(
    "answers each request with 503 within the bound, keeps answering what needs no database, and serves again afterwards",
    () =>
      Effect.gen(function* () {
        const database = Redacted.make(yield* Effect.promise(() => server.database()))
        const { call, keys, origin, signIn } = yield* running({ database })
        const ask = yield* signIn
        const routes: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
          ["GET", "business"],
          ["GET", "business/b1/webcampaigns"],
          ["POST", "business/b1/websession/initiate", sessionRequest],
          ["POST", "business/b1/websession/history", {}],
          ["POST", "business/b1/conversations", {}],
          ["POST", "business", { name: "New" }],
          ["GET", "user/billing/usage"],
        ]
        for (const [method, path, body] of routes) {
          assert.strictEqual((yield* call(keys.users, method, path, body)).status, 200, path)
        }
        yield* Effect.addFinalizer(() => Effect.promise(() => server.thaw()))
        yield* Effect.promise(() => server.freeze())
        const began = performance.now()
        const answers = yield* Effect.forEach(routes, ([method, path, body]) => call(keys.users, method, path, body), {
          concurrency: "unbounded",
        }).pipe(
          Effect.zip(
            Effect.forEach(["keys", "live", "account/sign-ins", "audit"], (path) => ask("GET", path), {
              concurrency: "unbounded",
            }),
            { concurrent: true },
          ),
          Effect.tap(
            // what is prepared needs no database
            Effect.promise(async () => assert.strictEqual((await fetch(`${origin}/openapi.json`)).status, 200)),
          ),
        )
        assert.isBelow(performance.now() - began, REQUEST_MILLIS + DATABASE_MILLIS)
        for (const { status } of answers[0]) assert.strictEqual(status, 503)
        for (const { status } of answers[1]) assert.include([404, 503], status)
        yield* Effect.promise(() => server.thaw())
        const again = call(keys.users, "GET", "business").pipe(
          Effect.repeat({ until: ({ status }) => status === 200, times: 50 }),
        )
        assert.strictEqual((yield* again).status, 200)
      }),
    120_000,
  )
})

describe("a request of many statements", () => {
  it.live("is answered with 503 when its bound is over, though each statement is within its own", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        Platform.layer({ requestMillis: 300, limits: { requestsPerMinute: 0, startsPerMinute: 0 } }),
      )
      const { keys } = yield* Effect.provideContext(prepare(), context)
      const { baseUrl } = Context.get(context, Platform.Platform)
      const sql = Context.get(context, SqlClient.SqlClient)
      const get = Effect.promise(() =>
        fetch(`${baseUrl}business`, { headers: { authorization: `Token ${Redacted.value(keys.all)}` } }),
      )
      assert.strictEqual((yield* get).status, 200)
      // a transaction of another request holds the only connection for a time within the bound of one use
      const answer = yield* sql.withTransaction(Effect.andThen(sql`SELECT 1`, get))
      assert.strictEqual(answer.status, 503)
      assert.isNotNull(answer.headers.get("retry-after"))
      const { code } = yield* Effect.promise(() => answer.json() as Promise<{ readonly code: string }>)
      assert.strictEqual(code, "SERVICE_UNAVAILABLE")
      assert.strictEqual((yield* get).status, 200)
    }),
  )

  it.live("is not cut while its body still arrives", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        Platform.layer({ requestMillis: 200, limits: { requestsPerMinute: 0, startsPerMinute: 0 } }),
      )
      const { keys } = yield* Effect.provideContext(prepare(), context)
      const { baseUrl } = Context.get(context, Platform.Platform)
      const status = yield* Effect.callback<number>((resume) => {
        const headers = { authorization: `Token ${Redacted.value(keys.all)}`, "content-type": "application/json" }
        const sent = request(`${baseUrl}business/b1/websession/count`, { method: "POST", headers }, (response) => {
          response.resume()
          resume(Effect.succeed(response.statusCode ?? 0))
        })
        sent.write("{")
        setTimeout(() => sent.end("}"), 800)
      })
      assert.strictEqual(status, 200)
    }),
  )
})
