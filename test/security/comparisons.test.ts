/**
 * Secrets are compared in constant time. A statistic over a network would be flaky, so it is the code that is judged: every
 * comparison of a secret goes over digests of equal length, and none is made by `===`.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { equal } from "../../src/lib/equal.ts"

const root = fileURLToPath(new URL("../../src", import.meta.url))
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.startsWith("web"))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))

/** The modules that compare secrets, each in its one function. */
const COMPARING = ["lib/equal.ts", "platform/keys/KeySecret.ts", "platform/users/Passwords.ts"]

describe("a secret", () => {
  it("is equal to itself alone, whatever the lengths", () => {
    for (const text of ["", "a", "a".repeat(16), "é", "a".repeat(10_000)]) {
      assert.isTrue(equal(text, text))
      assert.isFalse(equal(text, `${text}a`))
      assert.isFalse(equal(`${text}a`, text))
    }
    assert.isFalse(equal("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaab"))
  })

  it("is compared in three modules only, each over digests", () => {
    const comparing = sources.filter(({ text }) => /timingSafeEqual\(/.test(text)).map(({ path }) => path)
    assert.deepStrictEqual(comparing.sort(), COMPARING)
    for (const { path, text } of sources.filter((source) => comparing.includes(source.path))) {
      assert.match(text, /digest/, path)
    }
  })

  it("is compared by no operator, prefix or search, wherever it is unwrapped", () => {
    const unwrapped = sources.flatMap(({ path, text }) =>
      text
        .split("\n")
        .map((line, n) => ({ line: line.trim(), at: `${path}:${n + 1}` }))
        .filter(({ line }) => line.includes("Redacted.value")),
    )
    assert.isAbove(unwrapped.length, 10)
    for (const { at, line } of unwrapped) {
      assert.notMatch(
        line,
        /[!=]==? (?!undefined|null).*Redacted\.value|Redacted\.value\([^)]*\)\s*([!=]==? (?!")|\.(startsWith|endsWith|includes|indexOf|localeCompare)\()/,
        `${at}: ${line}`,
      )
    }
  })

  it("a secret of a request is compared by webhooks, the console, the event log and the budgets with that one function", () => {
    const users = sources
      .filter(({ text }) => /\bequal(?:sAny)?\b.*from "(\.\.?\/)+lib\/equal\.ts"/.test(text))
      .map(({ path }) => path)
    assert.deepStrictEqual(users.sort(), [
      "http/budgets/handlers.ts",
      "http/console/ConsoleToken.ts",
      "http/events/handlers.ts",
      "platform-api/cartesia/webhooks.ts",
      "platform-api/daily/webhooks.ts",
      "platform-api/elevenlabs/webhooks.ts",
      "platform-api/generic/webhooks.ts",
      "platform-api/iqra/webhooks.ts",
      "platform-api/livekit/jwt.ts",
      "platform-api/livekit/webhooks.ts",
      "platform-api/retell/webhooks.ts",
      "platform-api/ultravox/webhooks.ts",
      "platform-api/vapi/webhooks.ts",
    ])
  })

  it("a secret of the platform is found by its digest, never by itself", () => {
    // keys, sign-ins and session tokens: a query compares SHA-256 digests, whose prefix reveals nothing
    for (const path of [
      "platform/keys/ApiKeys.ts",
      "platform/users/DashboardSessions.ts",
      "platform/calls/WebSessions.ts",
    ]) {
      const { text } = sources.find((source) => source.path === path) ?? { text: "" }
      const conditions = [...text.matchAll(/WHERE[^`]*?(\w*(?:digest|secret|token)\w*) = \$\{([^}]*)\}/g)]
      assert.isAbove(conditions.length, 0, path)
      for (const [, , value = ""] of conditions) assert.match(value, /digest/, `${path}: ${value}`)
    }
  })
})
