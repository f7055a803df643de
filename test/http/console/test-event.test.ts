/** An operator sends a test event to the receiver of a campaign, and sees what it answers. */
import { assert, describe, expect } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { sendTestEvent } from "../../../src/operator/commands/events.ts"
import type { TestedEvent } from "../../../src/operator/delivery-shapes.ts"
import { isSignedBy, startReceiver } from "../../events/receiver.ts"
import { SIGNING_SECRET } from "../../harness/gate.ts"
import { freePort } from "../../harness/process.ts"
import { readWireDocument } from "../../harness/wire-document.ts"
import { ask, gateTest } from "./asking.ts"
import { type GateUnderTest, startGate, TOKEN } from "./support.ts"

const OTHER_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`

const receiver = Effect.acquireRelease(
  Effect.promise(() => startReceiver()),
  (started) => Effect.promise(() => started.dispose()),
)

const test = ({ url }: GateUnderTest, body: unknown, token = TOKEN, type = "application/json") =>
  ask(`${url}/console/api/events/test`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": type },
    body: typeof body === "string" ? body : JSON.stringify(body),
  })

const started = (url: string): Effect.Effect<GateUnderTest, unknown, Scope.Scope> =>
  startGate({ events: { Url: url, Secrets: [SIGNING_SECRET, OTHER_SECRET] } })

describe("a test event", () => {
  gateTest("arrives signed by every secret, once, and is in no log of events", {}, () =>
    Effect.gen(function* () {
      const host = yield* receiver
      const gate = yield* started(`${host.url}?key=secret-of-the-url`)
      const { status, text } = yield* test(gate, {})
      assert.strictEqual(status, 200)
      expect(JSON.parse(text)).toMatchObject({
        event: { type: "test", campaign: "default", seq: 0, platform: "iqra" },
        to: host.url.replace("/events", ""),
        signatures: 2,
        status: 204,
      })
      assert.notInclude(text, "secret-of-the-url")
      const [event] = host.taken
      if (event === undefined) return assert.fail("nothing has arrived")
      assert.match(event.id, /^evt_test_[0-9a-f]{16}$/)
      assert.isTrue(isSignedBy(event, SIGNING_SECRET) && isSignedBy(event, OTHER_SECRET))
      assert.strictEqual((yield* gate.operator.deliveries(undefined, "all", 0, 10))?.stored, 0)
      assert.strictEqual(host.received.length, 1)
    }),
  )

  gateTest("that is refused, redirected or reaches nobody is told as such", {}, () =>
    Effect.gen(function* () {
      const host = yield* receiver
      const gate = yield* started(host.url)
      for (const [code, error] of [
        [401, "HTTP 401"],
        [307, "HTTP 307: redirects are not followed"],
      ] as const) {
        host.script = (_event, response) => {
          response.writeHead(code, { location: "http://127.0.0.1:1/" }).end()
          return false
        }
        expect(JSON.parse((yield* test(gate, {})).text)).toMatchObject({ status: code, error })
      }
      assert.strictEqual(host.received.length, 2)
      const nobody = yield* started(`http://127.0.0.1:${yield* Effect.promise(() => freePort())}/events`)
      expect(JSON.parse((yield* test(nobody, {})).text)).toMatchObject({ error: "ECONNREFUSED" })
    }),
  )

  gateTest("is refused as the document says", {}, (without) =>
    Effect.gen(function* () {
      const host = yield* receiver
      const gate = yield* started(host.url)
      const document = readWireDocument((yield* ask(`${gate.url}/console/openapi.json`)).text)
      const cases = [
        [gate, {}, 200],
        [without, {}, 400],
        [gate, { campaign: 7 }, 400],
        [gate, "{", 400],
        [gate, { campaign: "nobody" }, 404],
      ] as const
      for (const [of, body, status] of cases) {
        const answer = yield* test(of, body)
        assert.strictEqual(answer.status, status, answer.text)
        const answered = {
          method: "POST",
          path: "/console/api/events/test",
          status,
          headers: Object.fromEntries(answer.headers),
          text: answer.text,
        }
        assert.isUndefined(document.objection(answered), answer.text)
      }
      assert.strictEqual((yield* test(gate, {}, "wrong-token-0123456789")).status, 401)
      assert.strictEqual((yield* test(gate, "{}", TOKEN, "text/plain")).status, 415)
      assert.strictEqual(host.received.length, 1)
    }),
  )

  gateTest("is printed with its answer, and why it may have been refused", {}, () =>
    Effect.gen(function* () {
      const event = { id: "evt_test_1", type: "test", campaign: "default", seq: 0, at: "", platform: "iqra" }
      const printed = (answer: Partial<TestedEvent>) =>
        sendTestEvent(
          { testEvent: () => Effect.succeed({ event, to: "https://crm.example", signatures: 1, took: 12, ...answer }) },
          "default",
        )
      const taken = yield* printed({ status: 204 })
      assert.isTrue(taken.ok)
      assert.deepStrictEqual(taken.lines, [
        "Event evt_test_1 was sent to https://crm.example with 1 signature.",
        "It was taken: HTTP 204 after 12 ms.",
      ])
      const refused = yield* printed({ status: 401, error: "HTTP 401", signatures: 2 })
      assert.isFalse(refused.ok)
      assert.strictEqual(
        refused.lines[1],
        "It was not taken, after 12 ms: HTTP 401. Does the receiver have one of Events.Secrets?",
      )
    }),
  )
})
