/** Every endpoint's answers on the wire: status, headers, the names of the body's fields, and the outcome in the access log. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { rawCall, servedTest } from "../../support/gate-server.ts"
import { REQUEST, WEBHOOK } from "../support.ts"

const NOBODY = "n".repeat(22)
const CONSOLE = "console-token-0123456789"
const security = {
  WebhookApiToken: "the-webhook-token",
  ConsoleToken: CONSOLE,
  AllowedOrigins: ["https://shop.example"],
}
const json = { "content-type": "application/json" }
const operator = { authorization: `Bearer ${CONSOLE}` }

/** Headers that every answer has, or that differ each time. */
const ALWAYS = new Set(["connection", "date", "keep-alive", "x-request-id", "content-length"])

const shown = ({ body, headers, status, text }: Effect.Success<ReturnType<typeof rawCall>>): string => {
  assert.isDefined(headers["x-request-id"])
  if (status !== 204) assert.strictEqual(headers["content-length"], String(Buffer.byteLength(text)))
  const named = Object.entries(headers)
    .filter(([name]) => !ALWAYS.has(name))
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
  return [status, named.join(" | "), Object.keys(body).sort().join(" ")].join(" · ")
}

const NO_STORE = "cache-control: no-store"
const JSON_TYPE = "content-type: application/json; charset=utf-8"
const PROBLEM_TYPE = "content-type: application/problem+json; charset=utf-8"
const NOSNIFF = "x-content-type-options: nosniff"
const PROBLEM = "type title status detail code message"
const sorted = (fields: string): string => fields.split(" ").sort().join(" ")
const ok = (fields: string): string => `200 · ${NO_STORE} | ${JSON_TYPE} | ${NOSNIFF} · ${sorted(fields)}`
const problem = (status: number, fields = "", ...headers: ReadonlyArray<string>): string =>
  `${status} · ${[NO_STORE, PROBLEM_TYPE, NOSNIFF, ...headers].sort().join(" | ")} · ${sorted(PROBLEM + fields)}`

/** Of the first requests: of more than 20 refusals in a second the log leaves some out. */
const OUTCOMES = [
  "started",
  "queued",
  "live",
  "waiting",
  "ticket_unknown",
  "not_your_turn",
  "started",
  "speech",
  "invalid_request",
  "malformed_json",
  "unsupported_media_type",
  "invalid_request",
  "unsupported_media_type",
  "credential_refused",
  "left",
  "left",
  "ticket_over",
  "method_not_allowed",
  "not_found",
  "released",
]

describe("the answers of each endpoint", () => {
  servedTest(
    "have these headers, these fields, and these outcomes in the access log",
    { Security: security, VoiceAiPlatform: { MaxConcurrency: 1 } },
    ({ log, port }) =>
      Effect.gen(function* () {
        const ask = (method: string, path: string, headers = {}, body = "") =>
          rawCall(port, { method, path, headers: { host: "gate", ...headers } }, body)
        const asked = (expected: string, method: string, path: string, headers = {}, body = "") =>
          Effect.map(ask(method, path, headers, body), (reply) => {
            assert.strictEqual(shown(reply), expected, `${method} ${path} ${reply.text}`)
            return reply
          })
        const started = "status webSocketUrl sessionId uniqueRequestId"
        const { body: live } = yield* asked(ok(started), "POST", REQUEST, json, "{}")
        const queued = "status uniqueRequestId queuePosition estimatedWaitSeconds eventsUrl"
        const { body: waiting } = yield* asked(ok(queued).replace("200", "202"), "POST", REQUEST, json, "{}")
        const [held, waits] = [live, waiting].map((body) => `/api/session/${String(body.uniqueRequestId)}`)

        yield* asked(ok("uniqueRequestId state webSocketUrl sessionId"), "GET", held ?? "")
        yield* asked(
          ok("uniqueRequestId state queuePosition queueLength estimatedWaitSeconds"),
          "GET",
          `${waits}?hidden=true&hidden=false`,
        )
        yield* asked(problem(404), "GET", `/api/session/${NOBODY}`)
        yield* asked(problem(409, " queuePosition"), "POST", `${waits}/start`)
        yield* asked(ok(started), "POST", `${held}/start`)
        yield* asked(ok("endsAt"), "POST", `${held}/silence`, json, '{"seconds":1}')
        yield* asked(problem(400, " errors"), "POST", `${held}/silence`, json, '{"seconds":-1}')
        yield* asked(problem(400), "POST", `${held}/silence`, json, "{")
        yield* asked(problem(415), "POST", `${held}/silence`, { "content-type": "text/plain" }, "{}")
        const sdp = { "content-type": "application/sdp" }
        yield* asked(problem(400, " errors"), "POST", `${held}/relay`, sdp, "no offer")
        yield* asked(problem(415), "POST", `${held}/relay`, json, "{}")
        const challenge = 'www-authenticate: Bearer realm="voicegate offers"'
        yield* asked(problem(401, "", challenge), "POST", `${held}/relay`, sdp, "v=0\r\n")
        const left = `204 · ${NO_STORE} | ${NOSNIFF} · `
        yield* asked(left, "DELETE", waits ?? "")
        yield* asked(left, "POST", `${waits}/leave`)
        yield* asked(problem(410, " state"), "POST", `${waits}/start`)
        yield* asked(problem(405, "", "allow: GET, DELETE"), "PUT", waits ?? "")
        yield* asked(problem(404), "GET", "/api/nothing")

        const authorized = { ...json, "x-api-token": "the-webhook-token" }
        yield* asked(ok("released"), "POST", WEBHOOK, authorized, '{"WebSessionId":"web-1"}')
        yield* asked(ok("released"), "POST", WEBHOOK, authorized, '{"sessionId":"unknown"}')
        yield* asked(problem(400, " errors"), "POST", WEBHOOK, authorized, "{}")
        yield* asked(problem(400), "POST", WEBHOOK, authorized, "{")
        const realm = 'www-authenticate: Webhook realm="voicegate webhooks"'
        yield* asked(problem(401, "", realm), "POST", WEBHOOK, json, "{}")
        yield* asked(problem(404), "POST", "/api/webhook/livekit", json, "{}")

        yield* asked(ok("status").replace(`${NO_STORE} | `, ""), "GET", "/health/live")
        yield* asked(ok("status").replace(`${NO_STORE} | `, ""), "GET", "/health/ready")

        const cross = { origin: "https://shop.example" }
        const { headers } = yield* ask("GET", held ?? "", cross)
        assert.strictEqual(headers["access-control-allow-origin"], "https://shop.example")

        const denied = 'www-authenticate: Bearer realm="voicegate console"'
        for (const sent of [{}, { authorization: "Bearer wrong-token-0123456789" }, { authorization: "Basic x" }]) {
          yield* asked(problem(401, "", denied), "GET", "/console/api/view", sent)
        }
        const view = "version now campaigns campaign slots instance health queue instances refused buckets"
        yield* asked(ok(view), "GET", "/console/api/view?slots=1", operator)
        yield* asked(problem(400), "GET", "/console/api/view?slots=x", operator)
        yield* asked(problem(404), "GET", "/console/api/view?campaign=nobody", operator)
        yield* asked(ok("total lines"), "GET", "/console/api/audit-log?only=actions", operator)
        yield* asked(problem(400), "GET", "/console/api/audit-log?only=nothing", operator)
        yield* asked(ok("now campaigns refusedElsewhere"), "GET", "/console/api/campaigns", operator)
        yield* asked(ok("found more"), "GET", "/console/api/find?hash=ABCD", operator)
        yield* asked(problem(400), "GET", "/console/api/find", operator)
        yield* asked(problem(400), "GET", "/console/api/find?hash=abcd&from=x", operator)
        const acting = { ...json, ...operator }
        const act = (body: unknown) => ["POST", "/console/api/actions", acting, JSON.stringify(body)] as const
        yield* asked(ok("result ticket"), ...act({ action: { type: "pause" } }))
        yield* asked(problem(400), ...act({ action: { type: "pause" }, more: 1 }))
        const until = Date.UTC(2099, 0, 1)
        yield* asked(ok("result ticket pausedUntil"), ...act({ action: { type: "pause", until } }))
        yield* asked(problem(400), ...act({ action: { type: "dance" } }))
        yield* asked(problem(404), ...act({ campaign: "nobody", action: { type: "pause" } }))
        yield* asked(problem(415), "POST", "/console/api/actions", operator, "{}")
        yield* asked(problem(400), "POST", "/console/api/actions", acting, "{")
        yield* asked(problem(501), "POST", "/console/api/reload", operator)

        yield* Effect.sleep(300)
        const outcomes = [...log().matchAll(/"outcome":"([^"]*)"/g)].map(([, outcome]) => outcome)
        assert.deepStrictEqual(outcomes.slice(0, OUTCOMES.length), OUTCOMES)
      }),
  )
})
