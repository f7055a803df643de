/** Who a caller is, over the wire: the nearest hop that is no trusted proxy, whatever else a request claims. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { rawCall, servedTest } from "../support/gate-server.ts"

const PROXIES = {
  // no limits, because refused callers are not looked up, and one caller sends many requests here
  Security: { TrustedProxies: ["loopback", "10.0.0.0/8", "fd00::/8"], RateLimitConcurrency: 0 },
}
const CALLER = "203.0.113.9"

/** Headers that other software believes, and this gate never. */
const OTHERS = {
  forwarded: "for=192.0.2.66",
  "x-real-ip": "192.0.2.66",
  "x-client-ip": "192.0.2.66",
  "true-client-ip": "192.0.2.66",
  "cf-connecting-ip": "192.0.2.66",
  "x-cluster-client-ip": "192.0.2.66",
  "x-forwarded-host": "192.0.2.66",
  via: "1.1 192.0.2.66",
}

const request = (port: number, headers: Readonly<Record<string, string | ReadonlyArray<string>>>) =>
  rawCall(
    port,
    {
      method: "POST",
      path: "/api/session/request",
      headers: {
        "content-type": "application/json",
        ...Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]]),
        ),
      },
    },
    "{}",
  )

describe("the address of a caller", { timeout: 60_000 }, () => {
  servedTest("is the socket's where nobody is trusted, whatever is claimed", {}, ({ log, port, world }) =>
    Effect.gen(function* () {
      yield* request(port, { ...OTHERS, "x-forwarded-for": CALLER })
      assert.deepStrictEqual(world.lookedUp, ["127.0.0.1"])
      assert.notInclude(log(), "192.0.2.66")
    }),
  )

  const chains: ReadonlyArray<readonly [chain: string | ReadonlyArray<string>, expected: string]> = [
    [CALLER, CALLER],
    [`192.0.2.66, ${CALLER}`, CALLER],
    [`${CALLER}, 10.1.2.3`, CALLER],
    [`192.0.2.66, ${CALLER}, 10.1.2.3, fd00::7`, CALLER],
    [["192.0.2.66", `${CALLER}, 10.9.9.9`], CALLER],
    [`${CALLER}:4711`, CALLER],
    [`::ffff:${CALLER}`, CALLER],
    [`[::ffff:cb00:7109]:80`, CALLER],
    ["2001:DB8:0:0::9", "2001:db8::9"],
    ["[2001:db8::9]:443", "2001:db8::9"],
    ["[2001:db8::9%eth0]", "2001:db8::9"],
    // not an address: entries left of it come from an unknown source
    [`192.0.2.66, unknown`, "127.0.0.1"],
    [`192.0.2.66, 203.0.113.009`, "127.0.0.1"],
    ["192.0.2.66, 0xcb.0.113.9", "127.0.0.1"],
    ["192.0.2.66, 3405803785", "127.0.0.1"],
    ["192.0.2.66, 1.2.3.4/../../admin?key=", "127.0.0.1"],
    ["192.0.2.66, evil.example", "127.0.0.1"],
    // a comma at the end is no entry
    ["192.0.2.66,", "192.0.2.66"],
    [", ,,", "127.0.0.1"],
    ["192.0.2.66; 203.0.113.9", "127.0.0.1"],
    [`${"192.0.2.66, ".repeat(1_200)}${CALLER}`, CALLER],
    [`${"10.0.0.1, ".repeat(1_200)}10.0.0.2`, "10.0.0.1"],
    [`${CALLER}${", 10.0.0.1".repeat(1_200)}`, CALLER],
    [",".repeat(15_000), "127.0.0.1"],
  ]
  servedTest(
    "is found from the right over trusted proxies, and nothing else is ever looked up",
    // without limits, because refused callers are not looked up
    { Security: { ...PROXIES.Security, RateLimitHourly: 0, RateLimitDaily: 0, RateLimitConcurrency: 0 } },
    ({ port, world }) =>
      Effect.gen(function* () {
        for (const [chain, expected] of chains) {
          world.lookedUp.length = 0
          yield* request(port, { ...OTHERS, "x-forwarded-for": chain })
          assert.deepStrictEqual(world.lookedUp, [expected], String(chain).slice(0, 80))
        }
      }),
  )

  servedTest(
    "an address of a caller that is forged does not give a fresh budget",
    { Security: { ...PROXIES.Security, RateLimitHourly: 2 } },
    ({ port }) =>
      Effect.gen(function* () {
        const statuses: Array<number> = []
        for (let n = 0; n < 6; n++) {
          statuses.push(
            (yield* request(port, { "x-forwarded-for": `192.0.2.${n}, 198.51.100.${n}, ${CALLER}` })).status,
          )
        }
        assert.deepStrictEqual(statuses, [200, 202, 429, 429, 429, 429])
      }),
  )
})
