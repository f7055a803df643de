/** The console's token: who has it may look, and nobody learns anything from guessing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LOGGED, makeWrongTokens, WINDOW_MILLIS } from "../../../src/http/console/wrong-tokens.ts"
import { ask, gateTest, operating, problemOf, withToken } from "./asking.ts"
import { TOKEN } from "./support.ts"

describe("the token", () => {
  gateTest("is needed for everything that shows or does something", {}, (gate) =>
    Effect.gen(function* () {
      for (const init of [{}, withToken(""), withToken("wrong-token-0123456789"), withToken(`${TOKEN}x`)]) {
        for (const path of ["view", "audit-log"]) {
          const answer = yield* ask(`${gate.url}/console/api/${path}`, init)
          assert.strictEqual(answer.status, 401)
          assert.strictEqual(problemOf(answer).code, "console_unauthorized")
          assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/)
          assert.notInclude(answer.text, TOKEN)
        }
      }
      const post = yield* operating(gate, "wrong-token-0123456789").post({ action: { type: "pause" } })
      assert.strictEqual(post.status, 401)
      assert.isFalse((yield* operating(gate).view()).queue?.paused)
      const basic = { headers: { authorization: `Basic ${TOKEN}` } }
      assert.strictEqual((yield* ask(`${gate.url}/console/api/view`, basic)).status, 401)
    }),
  )

  gateTest("opens the console at once after any number of wrong ones from the same address", {}, (gate) =>
    Effect.gen(function* () {
      const wrong = operating(gate, "wrong-token-0123456789")
      for (let n = 0; n < 5 * LOGGED; n++) {
        const answer = yield* wrong.get("view")
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(problemOf(answer).code, "console_unauthorized")
      }
      assert.strictEqual((yield* operating(gate).get("view")).status, 200)
      assert.strictEqual((yield* wrong.get("view")).status, 401)
      assert.strictEqual((yield* operating(gate).get("view")).status, 200)
    }),
  )

  const rotated = [TOKEN, "console-token-of-tomorrow"]
  gateTest("is any of several, for rotation", { security: { ConsoleToken: rotated } }, (gate) =>
    Effect.gen(function* () {
      for (const token of rotated) assert.strictEqual((yield* operating(gate, token).get("view")).status, 200)
      assert.strictEqual((yield* operating(gate, rotated.join(",")).get("view")).status, 401)
    }),
  )

  it("a token that is wrong leaves a bounded number of log lines for each address", () => {
    const wrongTokens = makeWrongTokens()
    const logged = (at: number) =>
      Array.from({ length: 100 }, () => wrongTokens.note("192.0.2.1", at)).filter((line) => line !== undefined)
    const first = logged(0)
    assert.lengthOf(first, LOGGED)
    assert.match(first[0] ?? "", /^A wrong token for the console came from 192\.0\.2\.1\.$/)
    assert.match(first.at(-1) ?? "", /Further ones from this address are not logged for 15 minutes\.$/)
    assert.isDefined(wrongTokens.note("192.0.2.2", 0))
    assert.lengthOf(logged(WINDOW_MILLIS - 1), 0)
    assert.lengthOf(logged(WINDOW_MILLIS), LOGGED)
  })

  gateTest(
    "cannot be used from another origin's page",
    { security: { AllowedOrigins: ["https://shop.example"] } },
    (gate) =>
      Effect.gen(function* () {
        const preflight = yield* ask(`${gate.url}/console/api/view`, {
          method: "OPTIONS",
          headers: {
            origin: "https://shop.example",
            "access-control-request-method": "GET",
            "access-control-request-headers": "authorization",
          },
        })
        assert.notInclude((preflight.headers.get("access-control-allow-headers") ?? "").toLowerCase(), "authorization")
      }),
  )
})
