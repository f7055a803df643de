/** Requests that no endpoint takes as they are: another method, another type, a header twice. Every answer is in the envelope. */
import { request } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import * as Platform from "../../../src/platform/Platform.ts"
import { prepare } from "../support.ts"

const Envelope = Schema.Struct({
  success: Schema.Boolean,
  code: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  data: Schema.Unknown,
})
const readEnvelope = Schema.decodeUnknownSync(Envelope, { onExcessProperty: "error" })

interface Sent {
  readonly method?: string
  readonly path: string
  /** names and values in turn */
  readonly headers?: ReadonlyArray<string>
  readonly body?: string
}

const running = Effect.gen(function* () {
  const context = yield* Layer.build(Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 } }))
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const { origin } = Context.get(context, Platform.Platform)
  const send = ({ body, headers = [], method = "GET", path }: Sent) =>
    Effect.promise(
      () =>
        new Promise<{ status: number; allow: string | undefined; text: string }>((resolve, reject) => {
          const { host } = new URL(origin)
          const sent = request(
            origin + path,
            {
              method,
              headers: ["host", host, "content-length", String(Buffer.byteLength(body ?? "")), ...headers],
            },
            (response) => {
              const chunks: Array<Buffer> = []
              response.on("data", (chunk: Buffer) => chunks.push(chunk))
              response.on("end", () =>
                resolve({
                  status: response.statusCode ?? 0,
                  allow: response.headers.allow,
                  text: Buffer.concat(chunks).toString(),
                }),
              )
            },
          )
          sent.once("error", reject)
          sent.end(body)
        }),
    )
  const token = (key: Redacted.Redacted<string>) => ["authorization", `Token ${Redacted.value(key)}`]
  return { keys, send, token }
})

describe("a request", () => {
  it.live("a request with another method than its path has is answered 405 with Allow, and OPTIONS 204", () =>
    Effect.gen(function* () {
      const { keys, send, token } = yield* running
      const headers = token(keys.users)
      for (const [method, path, allow] of [
        ["DELETE", "/api/v1/user", "GET, HEAD, PATCH, OPTIONS"],
        ["PUT", "/api/v1/business/b1", "GET, HEAD, PATCH, DELETE, OPTIONS"],
        ["GET", "/api/v1/business/b1/websession/initiate", "POST, OPTIONS"],
        ["POST", "/docs", "GET, HEAD, OPTIONS"],
        ["DELETE", "/dashboard/api/keys/", "GET, HEAD, POST, OPTIONS"],
        ["POST", "/", "GET, HEAD, OPTIONS"],
      ] as const) {
        const answer = yield* send({ method, path, headers, ...(method === "GET" ? {} : { body: "{}" }) })
        assert.deepInclude(answer, { status: 405, allow }, `${method} ${path}`)
        assert.deepInclude(readEnvelope(JSON.parse(answer.text)), { success: false, code: "METHOD_NOT_ALLOWED" })
      }
      const asked = yield* send({ method: "OPTIONS", path: "/api/v1/business", headers })
      assert.deepInclude(asked, { status: 204, allow: "GET, HEAD, POST, OPTIONS", text: "" })
      const head = yield* send({ method: "HEAD", path: "/api/v1/business", headers })
      assert.deepInclude(head, { status: 200, text: "" })
      // the page itself is not shadowed; here it was not built
      assert.notStrictEqual((yield* send({ path: "/" })).status, 405)
      const unknown = yield* send({ path: "/api/v1/nothing", headers })
      assert.strictEqual(unknown.status, 404)
      assert.strictEqual(readEnvelope(JSON.parse(unknown.text)).code, "ROUTE_NOT_FOUND")
    }),
  )

  it.live("may call its JSON by any of the names for it, and another type is refused in the envelope", () =>
    Effect.gen(function* () {
      const { keys, send, token } = yield* running
      const post = (...headers: ReadonlyArray<string>) =>
        send({
          method: "POST",
          path: "/api/v1/business/b1/conversations",
          headers: [...token(keys.all), ...headers],
          body: "{}",
        })
      for (const type of [
        "application/json",
        "Application/JSON; charset=UTF-8",
        "text/json",
        "application/vnd.api+json",
        "application/merge-patch+json;charset=utf-8",
      ]) {
        assert.strictEqual((yield* post("content-type", type)).status, 200, type)
      }
      assert.strictEqual((yield* post()).status, 200)
      for (const headers of [
        ["content-type", "text/plain"],
        ["content-type", "application/x-www-form-urlencoded"],
        ["content-type", "application/jsonp"],
        ["content-type", "application/json; charset=utf-16"],
        ["content-type", "application/json", "content-encoding", "gzip"],
      ]) {
        const answer = yield* post(...headers)
        assert.strictEqual(answer.status, 415, headers.join(" "))
        const { code, message } = readEnvelope(JSON.parse(answer.text))
        assert.strictEqual(code, "UNSUPPORTED_MEDIA_TYPE")
        assert.include(message, "application/json")
      }
    }),
  )

  it.live(
    "a request with two Authorization headers is refused, also when a proxy has joined them, and is told why",
    () =>
      Effect.gen(function* () {
        const { keys, send, token } = yield* running
        const all = Redacted.value(keys.all)
        for (const headers of [
          [...token(keys.all), ...token(keys.all)],
          [...token(keys.all), "Authorization", "Token nonsense"],
          ["authorization", `Token ${all}, Token ${all}`],
        ]) {
          const answer = yield* send({ path: "/api/v1/business", headers })
          assert.strictEqual(answer.status, 400)
          assert.deepInclude(readEnvelope(JSON.parse(answer.text)), {
            code: "INVALID_FORMAT",
            message: "the header Authorization was sent more than once: Expected it once",
          })
        }
      }),
  )

  it.live("is told about all its wrong fields at once, in words and not in TypeScript", () =>
    Effect.gen(function* () {
      const { keys, send, token } = yield* running
      const answer = yield* send({
        method: "POST",
        path: "/api/v1/business/b1/websession/initiate",
        headers: [...token(keys.all), "content-type", "application/json"],
        body: JSON.stringify({ transportType: 7, clientIdentifier: 4, audioInputConfiguration: 5, colour: "red" }),
      })
      assert.strictEqual(answer.status, 400)
      const { message } = readEnvelope(JSON.parse(answer.text))
      for (const part of [
        "transportType: Expected 0 or 1",
        "clientIdentifier: Expected string or null",
        "audioInputConfiguration: Expected object",
        "webCampaignId: Missing key",
        "colour: unknown field",
      ]) {
        assert.include(message, part)
      }
      assert.notMatch(message ?? "", / \| |readonly/)
    }),
  )

  it.live("may name an id of 256 characters, and a longer one is refused as such", () =>
    Effect.gen(function* () {
      const { keys, send, token } = yield* running
      const read = (id: string) => send({ path: `/api/v1/business/${id}`, headers: token(keys.users) })
      assert.strictEqual((yield* read("x".repeat(256))).status, 404)
      assert.strictEqual(
        readEnvelope(JSON.parse((yield* read("x".repeat(256))).text)).code,
        "GetBusiness:BUSINESS_NOT_FOUND",
      )
      const long = yield* read("x".repeat(257))
      assert.strictEqual(long.status, 400)
      assert.include(readEnvelope(JSON.parse(long.text)).message, "1 to 256 characters")
    }),
  )
})
