/** Input that the platform refuses, on both databases: text that no database should store, and unknown fields. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { WebSocket } from "ws"
import { DatabaseUnavailable, orUnavailable } from "../../src/platform/data/Database.ts"
import { Api } from "../../src/platform/http/Api.ts"
import { DashboardApi } from "../../src/platform/http/DashboardApi.ts"
import { toFailure } from "../../src/platform/http/envelope.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { Users } from "../../src/platform/Users.ts"
import { onEachEngine, servicesOf } from "./engines.ts"
import { prepare, until } from "./support.ts"

const Envelope = Schema.Struct({
  code: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  data: Schema.Any,
})
const readEnvelope = Schema.decodeUnknownSync(Envelope)
const readSaid = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.optionalKey(Schema.String) }))

const running = Effect.fnUntraced(function* (options: Platform.Options = {}) {
  const context = yield* Layer.build(
    Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 }, ...options }),
  )
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const { baseUrl, origin } = Context.get(context, Platform.Platform)
  const call = (secret: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(baseUrl + path, {
        method,
        headers: { authorization: `Token ${Redacted.value(secret)}`, "content-type": "application/json" },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      })
      return { status: response.status, ...readEnvelope(await response.json()) }
    })
  /** a request to the dashboard's API by a signed-in user */
  const signIn = Effect.gen(function* () {
    const password = Redacted.make("a long enough password")
    yield* Context.get(context, Users).create({ id: "owner", email: "owner@example.com", name: "Owner", password })
    const ask = (cookie: string, method: string, path: string, body?: unknown) =>
      Effect.promise(async () => {
        const response = await fetch(`${origin}/dashboard/api/${path}`, {
          method,
          headers: { origin, cookie, "content-type": "application/json" },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        const { message = "" } = text === "" ? {} : readSaid(JSON.parse(text))
        return { status: response.status, message, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" }
      })
    const { cookie } = yield* ask("", "POST", "session", {
      email: "owner@example.com",
      password: Redacted.value(password),
    })
    return (method: string, path: string, body?: unknown) => ask(cookie, method, path, body)
  })
  return { keys, origin, call, signIn }
})

const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }
const initiate = {
  transportType: 0,
  webCampaignId: "c1",
  regionId: "eu",
  clientIdentifier: "me",
  audioInputConfiguration: audio,
  audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
}

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
            ["clientIdentifier", "POST", start, { ...initiate, clientIdentifier: bad }],
            ["webCampaignId", "POST", start, { ...initiate, webCampaignId: bad }],
            ["regionId", "POST", start, { ...initiate, regionId: bad }],
            ["dynamicVariables.name", "POST", start, { ...initiate, dynamicVariables: { name: bad } }],
            ["dynamicVariables", "POST", start, { ...initiate, dynamicVariables: { [bad]: "value" } }],
            ["metadata.name", "POST", start, { ...initiate, metadata: { name: bad } }],
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
      const body = { ...initiate, dynamicVariables: lines, metadata: lines }
      assert.strictEqual((yield* call(keys.all, "POST", "business/b1/websession/initiate", body)).status, 200)
      const other = { ...initiate, clientIdentifier: "one\ntwo" }
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

  it.effect("and a value that the database itself refuses is a 400, while an unavailable database is a 503", () =>
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

  it.effect("in a session's text is stored without its control characters", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running({ database: yield* engine.database })
      const started = yield* call(keys.all, "POST", "business/b1/websession/initiate", initiate)
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
    it(`is judged wherever text enters ${name}`, () => {
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

  it.effect("has no field that the REST API does not know, and is told what was probably meant", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const history = "business/b1/websession/history"
      const target = { url: "https://gate.example/hook" }
      for (const [method, path, body, said] of [
        [
          "POST",
          history,
          { filter: { clientIdentifiers: ["u1"] } },
          "filter.clientIdentifiers: unknown field, did you mean clientIdentifier?",
        ],
        [
          "POST",
          history,
          { filter: { startCreatedDate: 2030 } },
          "filter.startCreatedDate: unknown field; the fields here are webCampaignId, clientIdentifier, running, from, to",
        ],
        ["POST", history, { filters: {} }, "filters: unknown field, did you mean filter?"],
        [
          "POST",
          "business/b1/websession/count",
          { filter: { runing: true } },
          "filter.runing: unknown field, did you mean running?",
        ],
        ["POST", "business/b1/call/history", { filter: { kind: "web" } }, "filter.kind: unknown field"],
        ["POST", "business/b1/webhooks/history", { filter: { state: "pending" } }, "filter.state: unknown field"],
        ["POST", "business/b1/conversations", { limit: 1, cursor: "x" }, "cursor: unknown field"],
        ["POST", "user/usage/count", { filter: { businessId: "b2" } }, "filter.businessId: unknown field"],
        [
          "POST",
          "business/b1/webcampaigns",
          { name: "C", sesionEnded: target },
          "sesionEnded: unknown field, did you mean sessionEnded?",
        ],
        [
          "POST",
          "business/b1/webcampaigns",
          { name: "C", sessionEnded: { ...target, header: {} } },
          "sessionEnded.header: unknown field, did you mean headers?",
        ],
        ["PATCH", "business/b1/webcampaigns/c1", { nme: "D" }, "nme: unknown field, did you mean name?"],
        [
          "POST",
          "business/b1/websession/initiate",
          { ...initiate, dynamicVariable: {} },
          "dynamicVariable: unknown field, did you mean dynamicVariables?",
        ],
        [
          "POST",
          "business/b1/websession/initiate",
          { ...initiate, RegionId: "us" },
          "RegionId: unknown field, did you mean regionId?",
        ],
        [
          "POST",
          "business/b1/call/initiate",
          { toNumber: "+15550100", regionId: "eu", from: "+1" },
          "from: unknown field",
        ],
        ["POST", history, { filter: { from: 2030 } }, "filter.from: "],
        ["POST", history, { filter: { running: "yes" } }, "filter.running: "],
        ["POST", history, { filter: ["u1"] }, "filter: "],
        ["POST", history, { limit: "5" }, "limit: "],
        ["POST", "business", [], "payload: "],
      ] as const) {
        const { code, message, status } = yield* call(keys.users, method, path, body)
        assert.deepStrictEqual([path, status, code], [path, 400, "INVALID_FORMAT"], JSON.stringify(body))
        assert.isTrue((message ?? "").startsWith(said), `${message} instead of ${said}`)
      }
    }),
  )

  it.effect("is never repeated at length, however long a field's name is", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const names = Array.from({ length: 2_000 }, (_, i) => [`${i}${"x".repeat(100)}\u0000`, 1])
      for (const body of [{ ["y".repeat(200_000)]: 1 }, Object.fromEntries(names)]) {
        const { message, status } = yield* call(keys.users, "POST", "business/b1/conversations", body)
        assert.strictEqual(status, 400)
        assert.isBelow((message ?? "").length, 2_000)
        assert.notInclude(message ?? "", "\u0000")
      }
    }),
  )

  it.effect("may have every field that the reference documents", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const whole = { ...initiate, dynamicVariables: { a: "b" }, metadata: { c: "d" } }
      assert.strictEqual((yield* call(keys.all, "POST", "business/b1/websession/initiate", whole)).status, 200)
      const list = { limit: 10, nextCursor: null, previousCursor: null, filter: {} }
      for (const path of ["websession/history", "conversations", "call/history", "webhooks/history"]) {
        assert.strictEqual((yield* call(keys.all, "POST", `business/b1/${path}`, list)).status, 200, path)
      }
      assert.strictEqual((yield* call(keys.users, "POST", "user/usage/history", list)).status, 200)
    }),
  )

  it.effect("must not contain a field or parameter that the dashboard's API does not know", () =>
    Effect.gen(function* () {
      const { signIn } = yield* running()
      const ask = yield* signIn
      for (const [method, path, body, said] of [
        ["POST", "businesses", { name: "B", nam: "C" }, "nam: unknown field, did you mean name?"],
        [
          "POST",
          "keys",
          { name: "k", scop: {}, scope: { type: "Unrestricted" } },
          "scop: unknown field, did you mean scope?",
        ],
        ["GET", "conversations?bussinessId=b1", undefined, "bussinessId: unknown field, did you mean businessId?"],
        ["GET", "deliveries?limits=5", undefined, "limits: unknown field, did you mean limit?"],
        ["GET", "audit?limit=many", undefined, "limit: "],
      ] as const) {
        const { message, status } = yield* ask(method, path, body)
        assert.deepStrictEqual([path, status], [path, 400])
        assert.isTrue(message.startsWith(said), `${message} instead of ${said}`)
      }
    }),
  )
})
