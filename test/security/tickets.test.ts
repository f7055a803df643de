/** A ticket is its bearer's only credential: it cannot be guessed, and who guesses learns nothing. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { ask } from "../support/gate.ts"
import { call, post, refusedUpgrade, servedTest, textField } from "../support/gate-server.ts"

const REQUEST = "/api/session/request"
const RANDOM_CHARACTERS = 22
const many = {
  VoiceAiPlatform: { MaxConcurrency: 5_000 },
  Security: { RateLimitHourly: 0, RateLimitDaily: 0, RateLimitConcurrency: 0 },
}

describe("a ticket", { timeout: 60_000 }, () => {
  servedTest("starts with 128 random bits that are unique and unbiased", many, () =>
    Effect.gen(function* () {
      const tickets = yield* Effect.forEach(Array.from({ length: 2_000 }), () =>
        Effect.map(ask(), (outcome) => ("uniqueRequestId" in outcome ? outcome.uniqueRequestId : "")),
      )
      const random = tickets.map((ticket) => Buffer.from(ticket.slice(0, RANDOM_CHARACTERS), "base64url"))
      assert.strictEqual(new Set(random.map((bytes) => bytes.toString("hex"))).size, tickets.length)
      for (let bit = 0; bit < 128; bit++) {
        const set = random.filter((bytes) => ((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1).length
        // ten standard deviations from the half
        assert.approximately(set, tickets.length / 2, 224, `bit ${bit}`)
      }
    }),
  )

  servedTest(
    "a ticket that does not exist is always answered in the same way, whatever is wrong with it",
    {},
    ({ port, url }) =>
      Effect.gen(function* () {
        const live = textField(yield* post(url + REQUEST), "uniqueRequestId")
        const waiting = textField(yield* post(url + REQUEST), "uniqueRequestId")
        const last = live.endsWith("A") ? "B" : "A"
        const guesses = [
          "A".repeat(live.length),
          live.slice(0, -1) + last,
          live.slice(0, -1),
          `${live}A`,
          live.toUpperCase() === live ? live.toLowerCase() : live.toUpperCase(),
          waiting.slice(0, RANDOM_CHARACTERS) + "A".repeat(live.length - RANDOM_CHARACTERS),
          "x",
          "*",
          "__proto__",
          "a".repeat(90),
        ]
        for (const [method, rest] of [
          ["GET", ""],
          ["POST", "/start"],
          ["GET", "/events"],
        ] as const) {
          const answers = yield* Effect.forEach(guesses, (guess) =>
            call(`${url}/api/session/${guess}${rest}`, { method }),
          )
          const disclosed = answers.map(({ headers, status, text }) =>
            JSON.stringify([status, text, [...headers.keys()].sort(), headers.get("cache-control")]),
          )
          assert.lengthOf([...new Set(disclosed)], 1, `${method} ${rest}: ${disclosed.join("\n")}`)
          assert.deepStrictEqual(answers.map(({ status }) => status)[0], 404)
        }
        const upgrades = yield* Effect.forEach(guesses, (guess) => refusedUpgrade(port, `/api/session/${guess}/events`))
        assert.lengthOf([...new Set(upgrades.map(({ status, text }) => `${status} ${text}`))], 1)
        // leaving with an unknown ticket reveals nothing, and changes no other ticket
        for (const guess of guesses) {
          assert.strictEqual((yield* call(`${url}/api/session/${guess}`, { method: "DELETE" })).status, 204)
        }
        assert.strictEqual((yield* call(`${url}/api/session/${live}`)).body.state, "live")
        assert.strictEqual((yield* call(`${url}/api/session/${waiting}`)).body.state, "waiting")
      }),
  )

  servedTest("a ticket that a request names and that does not exist is not adopted", {}, ({ url }) =>
    Effect.gen(function* () {
      const chosen = "A".repeat(26)
      const reply = yield* post(url + REQUEST, { uniqueRequestId: chosen })
      assert.strictEqual(reply.status, 200)
      assert.notStrictEqual(textField(reply, "uniqueRequestId"), chosen)
    }),
  )

  servedTest("shows nothing of other tickets, and no public page shows any ticket", {}, ({ url }) =>
    Effect.gen(function* () {
      const secretive = {
        clientIdentifier: "canary-client",
        dynamicVariables: { name: "canary-name" },
        metadata: { m: "canary-meta" },
      }
      const first = yield* post(url + REQUEST, secretive)
      const others = yield* Effect.forEach([1, 2], () => post(url + REQUEST, secretive))
      const own = yield* post(url + REQUEST)
      const ticket = textField(own, "uniqueRequestId")
      yield* Gatekeeper.use((gate) => gate.sessionEnded(["unknown"]))
      const shown = [
        own.text,
        (yield* call(`${url}/api/session/${ticket}`)).text,
        (yield* call(`${url}/api/session/${ticket}/start`, { method: "POST" })).text,
        ...(yield* Effect.forEach(["/metrics", "/openapi.json", "/health/live", "/health/ready"], (path) =>
          Effect.map(call(url + path), ({ text }) => text),
        )),
      ].join("\n")
      assert.notInclude(shown, "canary")
      for (const other of [first, ...others]) assert.notInclude(shown, textField(other, "uniqueRequestId"))
      assert.notInclude(shown, textField(first, "sessionId"))
      assert.notInclude(shown, textField(first, "webSocketUrl"))
    }),
  )
})
