/** The limit of ticket requests of one address. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeLocalRateLimit, NETWORK_FACTOR } from "../../../src/http/requests/local-rate-limit.ts"
import { call, post, rawCall, servedTest, textField } from "../../support/gate-server.ts"

const MINUTE = 60_000
const NOW = 1_800_000_000_000

describe("the requests of one address in a minute", () => {
  it("are limited, counted from the first one, and by /64 for IPv6", () => {
    const limit = makeLocalRateLimit(() => 3)
    const asked = (address: string, after: number) => limit.take(address, NOW + after)
    assert.deepStrictEqual(
      [0, 10, 20].map((after) => asked("2001:db8:1:2::1", after)),
      [0, 0, 0],
    )
    assert.strictEqual(asked("2001:db8:1:2:ffff::9", 20_000), 40)
    assert.strictEqual(asked("2001:db8:1:3::1", 20_000), 0)
    assert.strictEqual(asked("2001:db8:1:2::1", MINUTE - 1), 1)
    assert.strictEqual(asked("2001:db8:1:2::1", MINUTE), 0)
  })

  it("are limited for all addresses of a network together, and refused ones do not count", () => {
    const limit = makeLocalRateLimit(() => 10)
    const passed = (network: string) => {
      let passed = 0
      for (let host = 1; host < 200; host++) {
        for (let n = 0; n < 12; n++) if (limit.take(`${network}.${host}`, NOW) === 0) passed++
      }
      return passed
    }
    assert.strictEqual(passed("45.10.1"), 10 * NETWORK_FACTOR)
    assert.strictEqual(passed("45.10.2"), 10 * NETWORK_FACTOR)
    assert.isAbove(limit.retryAfter("45.10.1.250", NOW), 0)
  })

  it("are dropped when the minute is over, and not before", () => {
    const limit = makeLocalRateLimit(() => 1)
    limit.take("45.10.1.1", NOW)
    limit.take("45.10.2.1", NOW + 10_000)
    limit.dropExpired(NOW + MINUTE)
    // asked for an earlier time, to see what is still counted
    assert.strictEqual(limit.retryAfter("45.10.1.1", NOW), 0)
    assert.strictEqual(limit.retryAfter("45.10.2.1", NOW + 10_000), 60)
  })

  it("have no limit if it is 0", () => {
    const limit = makeLocalRateLimit(() => 0)
    for (let n = 0; n < 1_000; n++) assert.strictEqual(limit.take("45.10.1.1", NOW), 0)
  })
})

describe("polling a ticket's state", () => {
  const given = { Security: { StatusPerMinute: 5, RateLimitConcurrency: 0 }, VoiceAiPlatform: { MaxConcurrency: 2 } }

  servedTest(
    "is refused beyond the limit, and then does not keep the place; starting and leaving still work",
    given,
    ({ url }) =>
      Effect.gen(function* () {
        const ticket = `${url}/api/session/${textField(yield* post(`${url}/api/session/request`), "uniqueRequestId")}`
        for (let n = 0; n < 5; n++) expect((yield* call(ticket)).status).toBe(200)
        const refused = yield* call(ticket)
        expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"])
        const seconds = Number(refused.headers.get("retry-after"))
        expect(seconds).toBeGreaterThan(50)
        expect(seconds).toBeLessThanOrEqual(60)
        expect((yield* post(`${ticket}/start`)).status).toBe(200)
        for (let n = 0; n < 4; n++) yield* call(ticket, { method: "DELETE" })
        expect((yield* post(`${ticket}/start`)).status).toBe(429)
      }),
  )

  servedTest(
    "polling a ticket's state by a session request that names the ticket is refused too, and new requests are not",
    given,
    ({ url }) =>
      Effect.gen(function* () {
        const asked = `${url}/api/session/request`
        const uniqueRequestId = textField(yield* post(asked), "uniqueRequestId")
        const again = () => post(asked, { uniqueRequestId })
        for (let n = 0; n < 5; n++) expect(textField(yield* again(), "uniqueRequestId")).toBe(uniqueRequestId)
        const refused = yield* again()
        expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"])
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50)
        // tickets that do not exist are counted by address
        for (let n = 0; n < 5; n++) yield* post(asked, { uniqueRequestId: `nothing ${n}` })
        const unknown = yield* post(asked, { uniqueRequestId: "nothing" })
        expect([unknown.status, unknown.body.code]).toEqual([429, "rate_limited"])
        expect(Number(unknown.headers.get("retry-after"))).toBeGreaterThan(50)
        for (const none of [{}, { uniqueRequestId: null }])
          expect([200, 202]).toContain((yield* post(asked, none)).status)
      }),
  )

  servedTest(
    "polling the state of unknown tickets, over the events, is refused beyond the limit; polling that of known tickets is not",
    given,
    (served) =>
      Effect.gen(function* () {
        const { port, url } = served
        const events = (ticket: string) =>
          Effect.map(rawCall(port, { path: `/api/session/${ticket}/events`, method: "GET" }), ({ status }) => status)
        const statuses: Array<number> = []
        for (let n = 0; n < 7; n++) statuses.push(yield* events(`${"guess".padEnd(25, "0")}${n}`))
        expect(statuses).toEqual([404, 404, 404, 404, 404, 429, 429])
        expect((yield* post(`${url}/api/session/request`)).status).toBe(200)
      }),
  )
})
