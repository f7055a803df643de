/** What the access log has, and what not. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../../harness/process.ts"
import { rawCall, servedTest } from "../../support/gate-server.ts"
import { claimsOf, SECRET, token } from "../../support/tokens.ts"

const TICKET = "7vQkT2mXq9ZbR4wYcL8sHd"
/** To the router, the same path as that of `TICKET`. */
const PATHS = [
  `/api/session/${TICKET}`,
  `/API/session/${TICKET}/start`,
  `//api//session/${TICKET}`,
  `/API/Session/${TICKET.slice(0, 11)}%${TICKET.charCodeAt(11).toString(16)}${TICKET.slice(12)}`,
  `/${"x".repeat(10)}/${[...TICKET].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("")}`,
]

describe("the access log", () => {
  servedTest("writes no ticket's id, in any spelling of the path", {}, ({ log, port }) =>
    Effect.gen(function* () {
      for (const path of PATHS) yield* rawCall(port, { path })
      yield* Effect.promise(() => eventually("all are logged", () => log().split("\n").length > PATHS.length))
      const logged = log().replace(/%[0-9a-f]{2}/gi, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)))
      assert.strictEqual(logged.split("{ticket}").length, PATHS.length + 1)
      for (const part of [TICKET.slice(0, 11), TICKET.slice(12)]) assert.notInclude(logged, part)
    }),
  )

  const consoleToken = "console-token-0123456789"
  servedTest(
    "has no line for what an open console reads every two seconds, but one when it is refused",
    { Security: { ConsoleToken: consoleToken } },
    ({ log, port }) =>
      Effect.gen(function* () {
        const headers = { authorization: `Bearer ${consoleToken}` }
        assert.strictEqual((yield* rawCall(port, { path: "/console/api/view", headers })).status, 200)
        assert.strictEqual((yield* rawCall(port, { path: "/console/api/campaigns", headers })).status, 200)
        assert.strictEqual((yield* rawCall(port, { path: "/console/api/view" })).status, 401)
        yield* rawCall(port, { path: "/nothing" })
        yield* Effect.promise(() => eventually("the last one is logged", () => log().includes("/nothing")))
        assert.deepStrictEqual(
          log()
            .trim()
            .split("\n")
            .map((line) => line.replace(/.*"path":"([^"]+)","status":(\d+).*/, "$1 $2")),
          ["/console/api/view 401", "/nothing 404"],
        )
      }),
  )

  for (const [Addresses, shown] of [
    ["plain", /"subject":"ada%40shop%20example"/],
    ["hashed", /"subject":"h[\w-]{16}"/],
  ] as const) {
    servedTest(
      `says who calls where the address stands, if a token has said so, with ${Addresses} addresses`,
      { Identity: { Secrets: [SECRET] }, Privacy: { Addresses }, Security: { RateLimitHourly: 1 } },
      ({ log, port }) =>
        Effect.gen(function* () {
          const identity = token(claimsOf("ada@shop example", {}, Math.floor(Date.now() / 1000) * 1000))
          const post = (body: object) =>
            rawCall(
              port,
              { method: "POST", path: "/api/session/request", headers: { "content-type": "application/json" } },
              JSON.stringify(body),
            )
          const statuses = [yield* post({ identity }), yield* post({ identity }), yield* post({})].map(
            ({ status }) => status,
          )
          assert.deepStrictEqual(statuses, [200, 429, 202])
          yield* Effect.promise(() => eventually("all are logged", () => log().split('"path"').length > 3))
          const lines = log()
            .trim()
            .split("\n")
            .filter((line) => line.includes('"path"'))
          assert.deepStrictEqual(
            lines.map((line) => shown.test(line)),
            [true, true, false],
            log(),
          )
          if (Addresses === "hashed") assert.notInclude(log(), "ada")
        }),
    )
  }
})
