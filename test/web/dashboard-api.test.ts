/** The dashboard's API on the real platform, used by a client that is not a browser: what is refused, and what is never disclosed. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { IpNetwork } from "effect/net"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SignInEntry } from "../../src/platform/http/dashboard/shapes.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { Users } from "../../src/platform/Users.ts"
import { prepare } from "../platform/support.ts"

const PASSWORD = "correct horse battery"

let directory: string
let page: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "voicegate-page-"))
  page = join(directory, "page")
  await mkdir(page)
  await writeFile(join(directory, "beside.txt"), "not of the page")
  await writeFile(join(page, "index.html"), "<!doctype html><title>page</title>")
})
afterAll(() => rm(directory, { recursive: true, force: true }))

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** A platform with somebody who can sign in, and two who own businesses (`prepare`). Stopped with the scope. */
const running = Effect.fnUntraced(function* (options: Platform.Options = {}) {
  const context = yield* Layer.build(Platform.layer({ privateWebhooks: true, dashboardPage: page, ...options }))
  const { origin } = Context.get(context, Platform.Platform)
  const users = Context.get(context, Users)
  const add = (id: string, email: string) =>
    users.create({ id, name: id, email, password: Redacted.make(PASSWORD), callConcurrency: 2 })
  const send = (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const response = await fetch(origin + path, {
        method,
        headers: { origin, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get("content-type")?.includes("json") === true
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} }
    })
  const signIn = (email: string, password = PASSWORD, headers: Readonly<Record<string, string>> = {}) =>
    send("POST", "/dashboard/api/session", { email, password }, headers)
  /** The requests of a signed-in user. */
  const asUser = Effect.fnUntraced(function* (email: string, more: Readonly<Record<string, string>> = {}) {
    const { headers } = yield* signIn(email, PASSWORD, more)
    const cookie = (headers.get("set-cookie") ?? "").split(";", 1)[0] ?? ""
    return (method: string, path: string, body?: unknown) => send(method, `/dashboard/api${path}`, body, { cookie })
  })
  return { context, origin, users, add, send, signIn, asUser }
})

/** Where a request came from, for a platform that believes this machine's proxies. */
const from = (address: string) => ({ "x-forwarded-for": address, "x-forwarded-proto": "http" })

/**
 * Lets time pass, by the test's clock, until something has happened; and how much it took, in milliseconds. With a `step` of
 * more than 20 ms time runs faster than a check of a password, which takes real time.
 */
const passing = <A, E, R>(effect: Effect.Effect<A, E, R>, step = 20) =>
  Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))
      yield* TestClock.adjust(step)
    }
    return { value: yield* Fiber.join(fiber), millis: (yield* Clock.currentTimeMillis) - begun }
  })

const code = ({ json }: Answer): unknown => json.code

describe("signing in to the dashboard", () => {
  it.effect("gives a cookie that scripts and other sites never see, and keeps only its digest", () =>
    Effect.gen(function* () {
      const { add, context, signIn } = yield* running()
      yield* add("ada", "Ada@Example.test")
      const answer = yield* signIn("ada@example.test")
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.json, { id: "ada", name: "ada", email: "ada@example.test" })
      const cookie = answer.headers.get("set-cookie") ?? ""
      assert.match(cookie, /^voicegate_session=[A-Za-z0-9_-]{43}; /)
      assert.include(cookie, "HttpOnly")
      assert.include(cookie, "SameSite=Strict")
      assert.include(cookie, "Path=/dashboard/api")
      assert.notInclude(cookie, "Secure")
      const token = /=([^;]+)/.exec(cookie)?.[1] ?? ""
      const sql = Context.get(context, SqlClient.SqlClient)
      const rows = yield* sql`SELECT * FROM dashboard_sessions`
      assert.lengthOf(rows, 1)
      assert.notInclude(JSON.stringify(rows), token)
    }),
  )

  it.effect("marks the cookie Secure where browsers come over TLS", () =>
    Effect.gen(function* () {
      const behind = yield* running({ trustedProxies: [IpNetwork.fromStringUnsafe("127.0.0.0/8")] })
      yield* behind.add("ada", "ada@example.test")
      const forwarded = { "x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https" }
      const told = yield* behind.signIn("ada@example.test", PASSWORD, forwarded)
      assert.include(told.headers.get("set-cookie") ?? "", "Secure")
      const known = yield* running({ publicWebSocketOrigin: "wss://calls.example.test" })
      yield* known.add("ada", "ada@example.test")
      const always = yield* known.signIn("ada@example.test")
      assert.include(always.headers.get("set-cookie") ?? "", "Secure")
    }),
  )

  it.effect("answers alike for a wrong password and an unknown address", () =>
    Effect.gen(function* () {
      const { add, signIn } = yield* running()
      yield* add("ada", "ada@example.test")
      const [wrong, unknown] = [yield* signIn("ada@example.test", "wrong"), yield* signIn("eve@example.test")]
      assert.strictEqual(wrong.status, 401)
      assert.strictEqual(wrong.text, unknown.text)
      assert.isNull(wrong.headers.get("set-cookie"))
    }),
  )

  it.effect("takes the right password from another address, however many wrong ones one address sends", () =>
    Effect.gen(function* () {
      const { add, signIn } = yield* running({ trustedProxies: [IpNetwork.fromStringUnsafe("127.0.0.0/8")] })
      yield* add("ada", "ada@example.test")
      const guesses = yield* Effect.forEach(Array.from({ length: 40 }), () =>
        Effect.forkChild(signIn("ada@example.test", "wrong", from("198.51.100.66"))),
      )
      const owner = yield* signIn("ADA@example.test", PASSWORD, from("198.51.100.7"))
      assert.strictEqual(owner.status, 200)
      const elsewhere = yield* signIn("ada@example.test", PASSWORD, from("192.0.2.7"))
      assert.strictEqual(elsewhere.status, 200)
      const statuses = yield* passing(
        Effect.forEach(guesses, (fiber) => Fiber.join(fiber)),
        1_000,
      )
      const counts = new Set(statuses.value.map(({ status }) => status))
      // some were looked at, and what would have waited too long was refused
      assert.deepStrictEqual(counts, new Set([401, 429]))
      const refused = statuses.value.find(({ status }) => status === 429)
      assert.strictEqual(refused?.headers.get("retry-after"), "5")
    }),
  )

  it.effect("takes the right password from the address that sent wrong ones, after at most 20 s", () =>
    Effect.gen(function* () {
      const { add, signIn } = yield* running()
      yield* add("ada", "ada@example.test")
      for (let n = 0; n < 12; n++) {
        const { value } = yield* passing(signIn("ada@example.test", "wrong"), n < 11 ? 1_000 : 20)
        assert.strictEqual(value.status, 401)
      }
      const { millis, value } = yield* passing(signIn("ada@example.test"))
      assert.strictEqual(value.status, 200)
      assert.isAbove(millis, 1_000)
      assert.isAtMost(millis, 20_000)
    }),
  )

  it.effect(
    "takes the right password at once from a browser that signed in before, from the same address as an attacker",
    () =>
      Effect.gen(function* () {
        const { add, send, signIn } = yield* running()
        yield* add("ada", "ada@example.test")
        yield* add("eve", "eve@example.test")
        const before = yield* signIn("ada@example.test")
        const mark = before.headers.getSetCookie().find((cookie) => cookie.startsWith("voicegate_browser=")) ?? ""
        for (const part of ["HttpOnly", "SameSite=Strict", "Path=/dashboard/api"]) assert.include(mark, part)
        const cookie = mark.split(";", 1)[0] ?? ""
        // a mark opens nothing
        assert.strictEqual((yield* send("GET", "/dashboard/api/session", undefined, { cookie })).status, 401)
        for (let n = 0; n < 8; n++) yield* passing(signIn("ada@example.test", "wrong"), n < 7 ? 1_000 : 20)
        // It is one of this account alone: another waits as everybody else there.
        const other = yield* Effect.forkChild(signIn("eve@example.test", PASSWORD, { cookie }))
        const { value } = yield* passing(signIn("ada@example.test", PASSWORD, { cookie }))
        assert.strictEqual(value.status, 200)
        assert.isUndefined(other.pollUnsafe())
        assert.strictEqual((yield* passing(Fiber.join(other), 1_000)).value.status, 200)
      }),
  )

  it.effect("ends with signing out, and when the user is disabled", () =>
    Effect.gen(function* () {
      const { add, asUser, users } = yield* running()
      yield* add("ada", "ada@example.test")
      const status = (ask: (method: string, path: string) => Effect.Effect<Answer>) =>
        Effect.map(ask("GET", "/session"), (answer) => answer.status)
      const first = yield* asUser("ada@example.test")
      assert.strictEqual(yield* status(first), 200)
      const out = yield* first("DELETE", "/session")
      assert.strictEqual(out.status, 204)
      assert.match(out.headers.get("set-cookie") ?? "", /^voicegate_session=; Max-Age=0/)
      assert.strictEqual(yield* status(first), 401)
      const second = yield* asUser("ada@example.test")
      yield* users.setDisabled("ada", true)
      assert.strictEqual(yield* status(second), 401)
      // enabling brings no sign-in back
      yield* users.setDisabled("ada", false)
      assert.strictEqual(yield* status(second), 401)
    }),
  )
})

describe("the account of somebody who is signed in", () => {
  const NEXT = "another long password"

  it.effect("changes its password with the current one, which ends all other sign-ins and is written down", () =>
    Effect.gen(function* () {
      const { add, asUser, signIn } = yield* running()
      yield* add("ada", "ada@example.test")
      const [here, other] = [yield* asUser("ada@example.test"), yield* asUser("ada@example.test")]
      const change = (current: string, next: string) => here("PUT", "/account/password", { current, next })
      const wrong = yield* change("wrong", NEXT)
      assert.deepStrictEqual([wrong.status, code(wrong)], [400, "PASSWORD_WRONG"])
      const short = yield* change(PASSWORD, "short")
      assert.deepStrictEqual([short.status, code(short)], [400, "PASSWORD_INVALID"])
      assert.strictEqual((yield* other("GET", "/session")).status, 200)
      assert.strictEqual((yield* change(PASSWORD, NEXT)).status, 204)
      assert.strictEqual((yield* here("GET", "/session")).status, 200)
      assert.strictEqual((yield* other("GET", "/session")).status, 401)
      assert.strictEqual((yield* signIn("ada@example.test")).status, 401)
      assert.strictEqual((yield* signIn("ada@example.test", NEXT)).status, 200)
      const trail = (yield* here("GET", "/audit")).text
      assert.include(trail, "user.password_changed")
      assert.notInclude(trail, NEXT)
    }),
  )

  it.effect("lists its sign-ins, ends one of them and all others, and nobody else's", () =>
    Effect.gen(function* () {
      const { add, asUser } = yield* running()
      yield* add("ada", "ada@example.test")
      yield* add("eve", "eve@example.test")
      // X-Forwarded-For is ignored unless a proxy is configured as trusted.
      const forged = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" }
      const here = yield* asUser("ada@example.test", { "user-agent": "Test/1 (here)", ...forged })
      const one = yield* asUser("ada@example.test", { "user-agent": "Test/1 (one)" })
      const two = yield* asUser("ada@example.test", { "user-agent": "Test/1 (two)" })
      const eve = yield* asUser("eve@example.test")
      const readEntries = Schema.decodeUnknownSync(Schema.Array(SignInEntry))
      const list = Effect.map(here("GET", "/account/sign-ins"), ({ text }) => readEntries(JSON.parse(text)))
      const listed = yield* list
      assert.deepStrictEqual(
        listed.map(({ address, current, userAgent }) => [address, userAgent, current]).toSorted(),
        [
          ["127.0.0.1", "Test/1 (here)", true],
          ["127.0.0.1", "Test/1 (one)", false],
          ["127.0.0.1", "Test/1 (two)", false],
        ],
      )
      const id = listed.find(({ userAgent }) => userAgent.includes("one"))?.id ?? ""
      const foreign = yield* eve("DELETE", `/account/sign-ins/${id}`)
      assert.deepStrictEqual([foreign.status, code(foreign)], [404, "SIGN_IN_NOT_FOUND"])
      assert.strictEqual((yield* here("DELETE", `/account/sign-ins/${id}`)).status, 204)
      assert.strictEqual((yield* one("GET", "/session")).status, 401)
      assert.strictEqual((yield* two("GET", "/session")).status, 200)
      assert.deepStrictEqual((yield* here("POST", "/account/sign-ins/end-others")).json, { ended: 1 })
      assert.strictEqual((yield* two("GET", "/session")).status, 401)
      assert.strictEqual((yield* here("GET", "/session")).status, 200)
      assert.strictEqual((yield* eve("GET", "/session")).status, 200)
      assert.lengthOf(yield* list, 1)
      const trail = (yield* here("GET", "/audit")).text
      for (const action of ["user.sign_in_ended", "user.other_sign_ins_ended"]) assert.include(trail, action)
    }),
  )
})

describe("the dashboard's API", () => {
  it.effect("refuses what does not come from a page of its own origin", () =>
    Effect.gen(function* () {
      const { origin, send } = yield* running()
      const body = { email: "ada@example.test", password: "x" }
      const sent = (headers: Readonly<Record<string, string>>) =>
        Effect.map(send("POST", "/dashboard/api/session", body, headers), ({ status }) => status)
      assert.strictEqual(yield* sent({}), 401)
      assert.strictEqual(yield* sent({ origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* sent({ origin: "null" }), 403)
      assert.strictEqual(yield* sent({ origin: `${origin}.evil.example` }), 403)
      assert.strictEqual(yield* sent({ "sec-fetch-site": "cross-site" }), 403)
      assert.strictEqual(yield* sent({ "sec-fetch-site": "same-site" }), 403)
      assert.strictEqual(yield* sent({ "sec-fetch-site": "same-origin", origin: "https://tls.example" }), 401)
      const neither = yield* Effect.promise(() => fetch(`${origin}/dashboard/api/session`, { method: "DELETE" }))
      assert.strictEqual(neither.status, 403)
    }),
  )

  it.effect("requires a sign-in, and refuses API keys", () =>
    Effect.gen(function* () {
      const { context, send } = yield* running()
      const { keys } = yield* Effect.provideContext(prepare(), context)
      const headers = { authorization: `Token ${Redacted.value(keys.users)}` }
      for (const path of [
        "/session",
        "/account/sign-ins",
        "/keys",
        "/businesses",
        "/regions",
        "/conversations",
        "/live",
        "/deliveries",
        "/audit",
      ]) {
        assert.strictEqual((yield* send("GET", `/dashboard/api${path}`)).status, 401, path)
        assert.strictEqual((yield* send("GET", `/dashboard/api${path}`, undefined, headers)).status, 401, path)
      }
    }),
  )

  it.effect("shows no user another user's businesses, keys and conversations", () =>
    Effect.gen(function* () {
      const { add, asUser, context } = yield* running()
      yield* Effect.provideContext(prepare(), context)
      yield* add("eve", "eve@example.test")
      const eve = yield* asUser("eve@example.test")
      assert.deepStrictEqual((yield* eve("GET", "/businesses")).text, "[]")
      assert.deepStrictEqual((yield* eve("GET", "/keys")).text, "[]")
      const scope = { type: "Restricted", businessIds: ["b1"] }
      const foreign = { name: "k", scope, userManagement: false, expiresAt: null }
      const answers = [
        yield* eve("POST", "/keys", foreign),
        yield* eve("PATCH", "/businesses/b1", { name: "mine" }),
        yield* eve("DELETE", "/businesses/b1"),
        yield* eve("POST", "/businesses/b1/campaigns", { name: "c", webhook: null }),
        yield* eve("PUT", "/businesses/b1/campaigns/c1", { name: "c", webhook: null }),
        yield* eve("DELETE", "/businesses/b1/campaigns/c1"),
        yield* eve("GET", "/conversations?businessId=b1"),
        yield* eve("GET", "/businesses/b1/conversations/any"),
      ]
      assert.deepStrictEqual(
        answers.map(({ status, json }) => [status, json.code]),
        answers.map(() => [404, "BUSINESS_NOT_FOUND"]),
      )
      assert.strictEqual((yield* eve("POST", "/keys/any/revoke")).status, 404)
      assert.strictEqual((yield* eve("PATCH", "/keys/any", { permissions: ["manage"] })).status, 404)
      assert.strictEqual((yield* eve("POST", "/deliveries/any/send-again")).status, 404)
    }),
  )

  it.effect("refuses a restricted key without a business and one that has already expired", () =>
    Effect.gen(function* () {
      const { add, asUser } = yield* running()
      yield* add("ada", "ada@example.test")
      const ada = yield* asUser("ada@example.test")
      const key = { name: "k", scope: { type: "Unrestricted" }, userManagement: false, expiresAt: null }
      const none = yield* ada("POST", "/keys", { ...key, scope: { type: "Restricted", businessIds: [] } })
      assert.deepStrictEqual([none.status, code(none)], [400, "BUSINESSES_REQUIRED"])
      const omitted = yield* ada("POST", "/keys", { ...key, scope: { type: "Restricted" } })
      assert.deepStrictEqual([omitted.status, code(omitted)], [400, "INVALID_FORMAT"])
      const nameless = yield* ada("POST", "/keys", { ...key, name: " " })
      assert.deepStrictEqual([nameless.status, code(nameless)], [400, "NAME_INVALID"])
      const over = yield* ada("POST", "/keys", { ...key, expiresAt: -1 })
      assert.deepStrictEqual([over.status, code(over)], [400, "EXPIRY_INVALID"])
      const useless = yield* ada("POST", "/keys", { ...key, permissions: [] })
      assert.deepStrictEqual([useless.status, code(useless)], [400, "PERMISSIONS_REQUIRED"])
      const made = yield* ada("POST", "/keys", key)
      assert.strictEqual(made.status, 200)
      assert.include(made.text, '"permissions":["start"]')
      const secret = String(made.json.secret)
      const listed = yield* ada("GET", "/keys")
      assert.notInclude(listed.text, secret)
      assert.notInclude((yield* ada("GET", "/audit")).text, secret)
    }),
  )

  it.effect("keeps a webhook's secrets for the address that they were typed for, and shows none", () =>
    Effect.gen(function* () {
      const { add, asUser } = yield* running()
      yield* add("ada", "ada@example.test")
      const ada = yield* asUser("ada@example.test")
      const business = String((yield* ada("POST", "/businesses", { name: "Shop" })).json.id)
      const webhook = {
        url: "https://gate.example/hook",
        headers: [{ name: "X-Api-Token", value: "hook-token-value" }],
        signing: { type: "set", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
      }
      const campaigns = `/businesses/${business}/campaigns`
      const made = yield* ada("POST", campaigns, { name: "Web", webhook })
      const shown = { url: webhook.url, headerNames: ["X-Api-Token"], signed: true }
      assert.deepStrictEqual(made.json.webhook, shown)
      const path = `${campaigns}/${String(made.json.id)}`
      const kept = { ...webhook, headers: [{ name: "X-Api-Token", value: null }], signing: { type: "keep" } }
      const moved = { ...kept, url: "https://gate.example/other" }
      const edited = yield* ada("PUT", path, { name: "Web", webhook: moved })
      assert.deepStrictEqual(edited.json.webhook, { ...shown, url: moved.url })
      const elsewhere = yield* ada("PUT", path, { name: "Web", webhook: { ...kept, url: "https://evil.example/" } })
      assert.deepStrictEqual([elsewhere.status, code(elsewhere)], [400, "SECRETS_NOT_KEPT"])
      const missing = { ...kept, headers: [{ name: "X-Other", value: null }] }
      assert.strictEqual(code(yield* ada("PUT", path, { name: "Web", webhook: missing })), "HEADER_VALUE_MISSING")
      assert.notInclude((yield* ada("GET", "/businesses")).text, "hook-token-value")
      const none = yield* ada("PUT", path, { name: "Web", webhook: null })
      assert.isNull(none.json.webhook)
    }),
  )

  it.effect("is not cached, and its page allows only its own files", () =>
    Effect.gen(function* () {
      const { send } = yield* running()
      assert.strictEqual((yield* send("GET", "/dashboard/api/session")).headers.get("cache-control"), "no-store")
      const index = yield* send("GET", "/")
      assert.include(index.text, "<title>page</title>")
      assert.strictEqual(index.headers.get("cache-control"), "no-cache")
      assert.match(index.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'self';/)
      assert.strictEqual(index.headers.get("x-frame-options"), "DENY")
      assert.strictEqual(index.headers.get("referrer-policy"), "no-referrer")
      for (const path of ["/assets/none.js", "/assets/..%2f..%2fbeside.txt", "/beside.txt"]) {
        assert.strictEqual((yield* send("GET", path)).status, 404, path)
      }
    }),
  )
})
