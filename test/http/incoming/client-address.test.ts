/** What the log says where a proxy's callers would all count as one address, and what of the settings is read for it. */
import type { IncomingMessage } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { currentAddressOf, watchAddresses } from "../../../src/http/incoming/client-address.ts"
import { settingsLayer } from "../../support/gate.ts"

const requestFrom = (
  remoteAddress: string,
  headers: Readonly<Record<string, string>> = {},
  url = "/api/session/request",
): IncomingMessage => {
  const request: Pick<IncomingMessage, "headers" | "url"> & { readonly socket: object } = {
    headers,
    url,
    socket: { remoteAddress },
  }
  return request as IncomingMessage
}

/** The warnings after these requests, and the addresses that they count as. */
const seen = (Security: Readonly<Record<string, unknown>>, requests: ReadonlyArray<IncomingMessage>) =>
  Effect.gen(function* () {
    const warnings: Array<string> = []
    const logger = Logger.layer([
      Logger.make<unknown, void>(({ message }) => {
        warnings.push(String(message))
      }),
    ])
    const addresses = yield* Effect.gen(function* () {
      const watch = yield* watchAddresses
      const addressOf = yield* currentAddressOf
      return requests.map((request) => {
        watch(request)
        return addressOf(request)
      })
    }).pipe(Effect.provide(Layer.merge(settingsLayer({ Security }), logger)))
    yield* Effect.yieldNow
    return { addresses, warnings }
  })

describe("one warning that names the setting is logged", () => {
  it.effect("one warning that names the setting is logged when a proxy is not trusted, whatever header it sends", () =>
    Effect.gen(function* () {
      for (const [header, value] of [
        ["x-forwarded-for", "198.51.100.7"],
        ["cf-connecting-ip", "198.51.100.7"],
        ["forwarded", "for=198.51.100.7"],
        ["x-real-ip", "198.51.100.7"],
        ["true-client-ip", "198.51.100.7"],
      ] as const) {
        const request = requestFrom("10.0.0.5", { [header]: value })
        const { addresses, warnings } = yield* seen({}, [request, request, request])
        assert.deepStrictEqual(addresses, ["10.0.0.5", "10.0.0.5", "10.0.0.5"])
        assert.lengthOf(warnings, 1)
        assert.match(warnings[0] ?? "", /^10\.0\.0\.5 sends .* is not one of Security\.TrustedProxies/)
        assert.include((warnings[0] ?? "").toLowerCase(), `sends ${header}`)
      }
    }),
  )

  it.effect(
    "one warning that names the setting is logged for few proxies only, however many addresses pretend to be one, and still for one of the own network",
    () =>
      Effect.gen(function* () {
        const forged = Array.from({ length: 50 }, (_, n) => requestFrom(`8.8.${n}.1`, { "x-forwarded-for": "1.1.1.1" }))
        const { warnings } = yield* seen({}, [...forged, requestFrom("10.0.0.5", { "x-forwarded-for": "1.1.1.1" })])
        assert.lengthOf(warnings, 4)
        assert.include(warnings[3], "10.0.0.5")
      }),
  )

  it.effect(
    "one warning that names the setting is logged when a trusted proxy sends another header than the one that is read",
    () =>
      Effect.gen(function* () {
        const trusted = { TrustedProxies: ["10.0.0.0/8"] }
        const request = requestFrom("10.0.0.5", { "cf-connecting-ip": "198.51.100.7" })
        const { warnings } = yield* seen(trusted, [request, request])
        assert.lengthOf(warnings, 1)
        assert.include(
          warnings[0],
          "sends CF-Connecting-IP, and no X-Forwarded-For: set Security.ClientAddressHeader to CF-",
        )
        // and with that setting it is right, and quiet
        const set = { ...trusted, ClientAddressHeader: "CF-Connecting-IP" }
        assert.deepStrictEqual(yield* seen(set, [request]), { addresses: ["198.51.100.7"], warnings: [] })
        const rfc = requestFrom("10.0.0.5", { forwarded: 'for="[2001:db8::9]:443"', "x-forwarded-for": "1.1.1.1" })
        assert.deepStrictEqual(yield* seen({ ...trusted, ClientAddressHeader: "Forwarded" }, [rfc]), {
          addresses: ["2001:db8::9"],
          warnings: [],
        })
      }),
  )

  it.effect(
    "one warning that names the setting is logged when a trusted proxy names nobody, or sends no header with a session request",
    () =>
      Effect.gen(function* () {
        const trusted = { TrustedProxies: ["10.0.0.0/8"] }
        const unknown = yield* seen(trusted, [requestFrom("10.0.0.5", { "x-forwarded-for": "198.51.100.7, unknown" })])
        assert.deepStrictEqual(unknown.addresses, ["10.0.0.5"])
        assert.match(
          unknown.warnings.join(),
          /a X-Forwarded-For that does not end with an address \(Security\.ClientAddr/,
        )
        const bare = yield* seen(trusted, [requestFrom("10.0.0.5", {}, "/health/live"), requestFrom("10.0.0.5")])
        assert.lengthOf(bare.warnings, 1)
        assert.include(bare.warnings[0], "sends no X-Forwarded-For")
      }),
  )

  it.effect("no warning is logged for callers without a proxy, and none for a proxy that is set up", () =>
    Effect.gen(function* () {
      const trusted = { TrustedProxies: ["10.0.0.0/8"] }
      const good = requestFrom("10.0.0.5", { "x-forwarded-for": "198.51.100.7," })
      assert.deepStrictEqual(yield* seen(trusted, [good, requestFrom("8.8.8.8")]), {
        addresses: ["198.51.100.7", "8.8.8.8"],
        warnings: [],
      })
      assert.deepStrictEqual((yield* seen({}, [requestFrom("10.0.0.5")])).warnings, [])
    }),
  )
})
