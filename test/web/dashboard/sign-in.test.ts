/** Signing in to the dashboard on the real platform, and what a user does with an account. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Schema } from "effect"
import { IpNetwork } from "effect/net"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SignInEntry } from "../../../src/platform/http/dashboard/shapes.ts"
import { type Answer, code, PASSWORD, running } from "./http.ts"

/** Where a request came from, for a platform that believes this machine's proxies. */
const from = (address: string) => ({ "x-forwarded-for": address, "x-forwarded-proto": "http" })

/** Lets time pass, by the test's clock in steps, until something has happened; and how much it took, in milliseconds. */
const passing = <A, E, R>(effect: Effect.Effect<A, E, R>, step = 10) =>
  Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2)))
      yield* TestClock.adjust(step)
    }
    return { value: yield* Fiber.join(fiber), millis: (yield* Clock.currentTimeMillis) - begun }
  })

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
      const forwardedSignIn = yield* behind.signIn("ada@example.test", PASSWORD, forwarded)
      assert.include(forwardedSignIn.headers.get("set-cookie") ?? "", "Secure")
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
        100,
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
        const { value } = yield* passing(signIn("ada@example.test", "wrong"), n < 11 ? 100 : 10)
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
        for (let n = 0; n < 8; n++) yield* passing(signIn("ada@example.test", "wrong"), n < 7 ? 100 : 10)
        // It is one of this account alone: another waits as everybody else there.
        const other = yield* Effect.forkChild(signIn("eve@example.test", PASSWORD, { cookie }))
        // no time passes
        assert.strictEqual((yield* signIn("ada@example.test", PASSWORD, { cookie })).status, 200)
        assert.isUndefined(other.pollUnsafe())
        assert.strictEqual((yield* passing(Fiber.join(other), 100)).value.status, 200)
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
      const auditLog = (yield* here("GET", "/audit")).text
      assert.include(auditLog, "user.password_changed")
      assert.notInclude(auditLog, NEXT)
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
      const auditLog = (yield* here("GET", "/audit")).text
      for (const action of ["user.sign_in_ended", "user.other_sign_ins_ended"]) assert.include(auditLog, action)
    }),
  )
})
