/** Text that no database should store is refused, on both databases. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { WebSocket } from "ws"
import { DatabaseUnavailable, orUnavailable } from "../../../src/platform/data/Database.ts"
import { Api } from "../../../src/platform/http/Api.ts"
import { DashboardApi } from "../../../src/platform/http/DashboardApi.ts"
import { toFailure } from "../../../src/platform/http/envelope.ts"
import { onEachEngine, servicesOf } from "../engines.ts"
import { until } from "../support.ts"
import { running } from "./input-support.ts"
import { sessionRequest } from "./rest-client.ts"

/** A forged cursor. */
const cursor = (text: string): string => Buffer.from(text).toString("base64url")

onEachEngine("what callers send", (engine) => {
  it.effect(
    "has no control characters and no lone surrogates, in any field, path or cursor: 400, and the field is named",
    () =>
      Effect.gen(function* () {
        const { call, keys } = yield* running({ database: yield* engine.database })
        const start = "business/b1/websession/initiate"
        for (const bad of ["a\u0000b", "a\u001bb", "a\u007fb", "a\u0085b", "a\ud800b"]) {
          for (const [field, method, path, body] of [
            ["clientIdentifier", "POST", start, { ...sessionRequest, clientIdentifier: bad }],
            ["webCampaignId", "POST", start, { ...sessionRequest, webCampaignId: bad }],
            ["regionId", "POST", start, { ...sessionRequest, regionId: bad }],
            ["dynamicVariables.name", "POST", start, { ...sessionRequest, dynamicVariables: { name: bad } }],
            ["dynamicVariables", "POST", start, { ...sessionRequest, dynamicVariables: { [bad]: "value" } }],
            ["metadata.name", "POST", start, { ...sessionRequest, metadata: { name: bad } }],
            ["regionId", "POST", "business/b1/call/initiate", { toNumber: "+15550100", regionId: bad }],
            ["filter.clientIdentifier", "POST", "business/b1/websession/count", { filter: { clientIdentifier: bad } }],
            ["filter.clientIdentifier", "POST", "business/b1/conversations", { filter: { clientIdentifier: bad } }],
            ["name", "POST", "business", { name: bad }],
            ["name", "PATCH", "business/b1", { name: bad }],
            ["name", "PATCH", "user", { name: bad }],
            ["name", "POST", "business/b1/webcampaigns", { name: bad }],
          ] as const) {
            const { message, status } = yield* call(keys.users, method, path, body)
            assert.deepStrictEqual([path, field, status], [path, field, 400])
            assert.match(message ?? "", new RegExp(`^${field}\\b`))
          }
        }
      }),
  )

  it.effect("is refused with 400 in a path and in a cursor too", () =>
    Effect.gen(function* () {
      const { call, keys, origin } = yield* running({ database: yield* engine.database })
      for (const [method, path, body] of [
        ["GET", "business/a%00b", undefined],
        ["GET", "business/b1/webcampaigns/a%00b", undefined],
        ["GET", "business/b1/call/a%00b", undefined],
        ["GET", "business/b1/conversations/a%00b", undefined],
        ["POST", "business/b1/websession/history/a%00b", undefined],
        ["POST", "business/b1/websession/history", { nextCursor: cursor("1 a\u0000b") }],
        ["POST", "user/usage/history", { previousCursor: cursor("1 a\u0000b") }],
      ] as const) {
        assert.deepStrictEqual([path, (yield* call(keys.users, method, path, body)).status], [path, 400])
      }
      const upgrade = yield* Effect.callback<string>((resume) => {
        const socket = new WebSocket(`${origin.replace("http", "ws")}/session/a%00b?token=x`)
        socket.once("error", ({ message }) => resume(Effect.succeed(message)))
        return Effect.sync(() => socket.terminate())
      })
      assert.include(upgrade, "401")
    }),
  )

  it.effect("may contain tabs and line ends in the values of variables and metadata only", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running({ database: yield* engine.database })
      const lines = { lines: "one\r\n\ttwo 😀" }
      const body = { ...sessionRequest, dynamicVariables: lines, metadata: lines }
      assert.strictEqual((yield* call(keys.all, "POST", "business/b1/websession/initiate", body)).status, 200)
      const other = { ...sessionRequest, clientIdentifier: "one\ntwo" }
      assert.strictEqual((yield* call(keys.all, "POST", "business/b1/websession/initiate", other)).status, 400)
    }),
  )

  it.effect("is refused by the dashboard's API with 400 as well", () =>
    Effect.gen(function* () {
      const { signIn } = yield* running({ database: yield* engine.database })
      const ask = yield* signIn
      for (const [field, method, path, body] of [
        ["email", "POST", "session", { email: "a\u0000b", password: "whatever this is" }],
        ["name", "POST", "businesses", { name: "a\u0000b" }],
        ["name", "POST", "keys", { name: "a\u0000b", scope: { type: "Unrestricted" } }],
        [
          "scope.businessIds.0",
          "POST",
          "keys",
          { name: "k", scope: { type: "Restricted", businessIds: ["a\u0000b"] } },
        ],
        ["id", "PATCH", "businesses/a%00b", { name: "New" }],
        ["businessId", "GET", "conversations?businessId=a%00b", undefined],
        ["", "GET", `conversations?next=${cursor("1 a\u0000b")}`, undefined],
      ] as const) {
        const { message, status } = yield* ask(method, path, body)
        assert.deepStrictEqual([path, status], [path, 400])
        assert.isTrue(message.startsWith(field), message)
      }
    }),
  )

  it.effect("a value that the database itself refuses is a 400, while an unavailable database is a 503", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(servicesOf(yield* engine.database))
      const sql = Context.get(context, SqlClient.SqlClient)
      const statusOf = (statement: Effect.Effect<unknown, unknown>) =>
        Effect.map(Effect.flip(orUnavailable(statement)), (error) =>
          error instanceof DatabaseUnavailable ? toFailure()(error).constructor.name : String(error),
        )
      const user = { id: "twice", email: null, name: "N", call_concurrency: 1, created_at: 0 }
      yield* sql`INSERT INTO users ${sql.insert(user)}`
      // 23505, 23502, 23503
      assert.strictEqual(yield* statusOf(sql`INSERT INTO users ${sql.insert(user)}`), "BadRequest")
      assert.strictEqual(yield* statusOf(sql`UPDATE users SET name = NULL`), "BadRequest")
      const business = { id: "b", user_id: "nobody", name: "N", created_at: 0 }
      assert.strictEqual(yield* statusOf(sql`INSERT INTO businesses ${sql.insert(business)}`), "BadRequest")
      if (engine.name === "PostgreSQL") {
        // 22021, 22003, 22P02
        assert.strictEqual(yield* statusOf(sql`SELECT * FROM users WHERE name = ${"a\u0000b"}`), "BadRequest")
        assert.strictEqual(yield* statusOf(sql`SELECT CAST(${"99999999999999999999"} AS BIGINT)`), "BadRequest")
        assert.strictEqual(yield* statusOf(sql`SELECT CAST(${"x"} AS INTEGER)`), "BadRequest")
      }
      assert.strictEqual(yield* statusOf(sql`SELECT * FROM no_such_table`), "Unavailable")
    }),
  )

  it.effect("text of callers in a session is stored without its control characters", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running({ database: yield* engine.database })
      const started = yield* call(keys.all, "POST", "business/b1/websession/initiate", sessionRequest)
      const frames: Array<unknown> = []
      const socket = new WebSocket(started.data.sessionWebSocketURL)
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.terminate()))
      socket.on("message", (data) => frames.push(JSON.parse(String(data))))
      yield* until(() => frames.length === 1)
      socket.send(JSON.stringify({ type: "text", text: "a\u0000b\ud800\nc" }))
      yield* until(() => frames.length === 2)
      const path = `business/b1/conversations/${started.data.conversationSessionId}`
      const { data } = yield* call(keys.all, "GET", path)
      assert.deepStrictEqual(data.turns.map(({ text }: { text: string }) => text).slice(1), [
        "a\ufffdb\ufffd\nc",
        "You wrote: a\ufffdb\ufffd\nc",
      ])
    }),
  )
})

/** Every schema that a request of an API is read by, with where it stands. */
const readBy = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): ReadonlyArray<readonly [string, SchemaAST.AST]> => {
  const found: Array<readonly [string, SchemaAST.AST]> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const bodies = [...endpoint.payload.values()].flatMap(({ schemas }) => schemas)
      const parts = [endpoint.params, endpoint.query, ...bodies]
      for (const part of parts) if (part !== undefined) found.push([endpoint.identifier, part.ast])
    },
  })
  return found
}

/** All nodes of a schema that text can come through. */
const textsIn = (ast: SchemaAST.AST, path: string): ReadonlyArray<readonly [string, SchemaAST.AST]> => {
  if (SchemaAST.isString(ast)) return [[path, ast]]
  if (SchemaAST.isObjects(ast)) {
    return [
      ...ast.propertySignatures.flatMap(({ name, type }) => textsIn(type, `${path}.${String(name)}`)),
      ...ast.indexSignatures.flatMap(({ type }) => textsIn(type, `${path}.*`)),
    ]
  }
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].flatMap((each) => textsIn(each, `${path}[]`))
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap((each) => textsIn(each, path))
  return []
}

/** Where text is judged by something else: a password is never stored, secrets of webhooks are judged by `webhooks/rules.ts`. */
const JUDGED_ELSEWHERE = /(\.(password|headers\.\*|signingSecret|secret|value)|^changePassword\.(current|next))$/

describe("what callers send", () => {
  for (const [name, read] of [
    ["the REST API", readBy(Api)],
    ["the dashboard's API", readBy(DashboardApi)],
  ] as const) {
    it(`is validated wherever text enters ${name}`, () => {
      const texts = read.flatMap(([endpoint, ast]) => textsIn(SchemaAST.toType(ast), endpoint))
      assert.isAtLeast(texts.length, 15)
      for (const [path, ast] of texts) {
        if (JUDGED_ELSEWHERE.test(path)) continue
        for (const bad of ["a\u0000b", "a\ud800b"]) {
          const exit = Schema.decodeUnknownExit(Schema.make<Schema.Decoder<unknown>>(ast))(bad)
          assert.isTrue(Exit.isFailure(exit), `${path} takes ${JSON.stringify(bad)}`)
        }
      }
    })
  }
})
