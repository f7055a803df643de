/** Lookups are limited a minute, in all and of one network. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { noFacts } from "../../src/ip-intel/facts.ts"
import type { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { type Answer, clean, start, vpn, vpnBody } from "./support.ts"

describe("a hostile crowd", () => {
  /** Makes this many requests, ten per second; returns their outcomes. */
  const flood = (
    ip: { readonly lookup: IpIntel["Service"]["lookup"] },
    requests: number,
    address: (request: number) => string,
  ) =>
    Effect.forEach(Array.from({ length: requests }), (_, request) =>
      Effect.andThen(
        TestClock.adjust(100),
        Effect.match(ip.lookup(address(request)), {
          onFailure: ({ reason }) => reason,
          onSuccess: () => "known" as const,
        }),
      ),
    )
  /** VPN users come from 9.x and from 2a00::/16. */
  const answer = (url: URL): Answer => (/^(9\.|2a00:)/.test(url.searchParams.get("q") ?? "") ? vpnBody : clean)

  it.effect(
    "a hostile crowd of one /64 at ten requests per second uses one lookup, and a VPN elsewhere is still detected",
    () =>
      Effect.gen(function* () {
        const ip = yield* start({ answer })
        const outcomes = yield* flood(ip, 1_200, (request) => `2606:4700:1:2::${(request + 1).toString(16)}`)
        expect(new Set(outcomes)).toEqual(new Set(["known"]))
        expect(ip.http.requests).toHaveLength(1)
        expect(yield* ip.lookup("9.1.2.3")).toEqual(vpn)
      }),
  )

  it.effect("a hostile crowd of one /48, each from a different /64, uses NetworkLookupsPerMinute", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { NetworkLookupsPerMinute: 60 }, answer })
      const outcomes = yield* flood(ip, 600, (request) => `2606:4700:1:${(request + 1).toString(16)}::1`)
      expect(outcomes.filter((outcome) => outcome === "network_budget")).toHaveLength(540)
      expect(ip.http.requests).toHaveLength(60)
      expect(yield* ip.lookup("2a00:1:2:3::1")).toEqual(vpn)
      // addresses that were looked up before stay cached
      expect(yield* ip.lookup("2606:4700:1:1::7")).toEqual(noFacts)
      yield* TestClock.adjust(60_000)
      expect(yield* ip.lookup("2606:4700:1:ffff::1")).toEqual(noFacts)
    }),
  )

  it.effect("a hostile crowd of one /48 that keeps asking uses ten times NetworkLookupsPerMinute in a day", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { NetworkLookupsPerMinute: 60 }, answer })
      const address = (request: number) => `2606:4700:1:${(request + 1).toString(16)}::1`
      for (let minute = 0; minute < 30; minute++) {
        for (let n = 0; n < 70; n++) yield* Effect.ignore(ip.lookup(address(100 * minute + n)))
        yield* TestClock.adjust("1 minute")
      }
      expect(ip.http.requests).toHaveLength(600)
      expect(yield* ip.lookup("2606:4700:2:1::1")).toEqual(noFacts)
      yield* TestClock.adjust("1 day")
      expect(yield* ip.lookup(address(60_000))).toEqual(noFacts)
    }),
  )

  it.effect("a hostile crowd of one /24 uses NetworkLookupsPerMinute", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { NetworkLookupsPerMinute: 20 }, answer })
      yield* flood(ip, 200, (request) => `8.8.8.${request}`)
      expect(ip.http.requests).toHaveLength(20)
      expect(yield* ip.lookup("8.8.9.1")).toEqual(noFacts)
    }),
  )

  it.effect.each([
    ["/32", (request: number) => `2606:4700:${(request + 1).toString(16)}::1`, "2606:4701::1"],
    ["/16", (request: number) => `8.8.${request % 256}.${Math.floor(request / 256)}`, "8.9.1.1"],
  ] as const)("a hostile crowd of many networks of one %s spends half of LookupsPerMinute", ([, address, other]) =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { LookupsPerMinute: 600, NetworkLookupsPerMinute: 60 }, answer })
      const outcomes = yield* flood(ip, 590, address)
      expect(ip.http.requests).toHaveLength(300)
      expect(outcomes.filter((outcome) => outcome === "network_budget")).toHaveLength(290)
      expect(yield* ip.lookup(other)).toEqual(noFacts)
      expect(yield* ip.lookup("2a00:1:2:3::1")).toEqual(vpn)
    }),
  )

  it.effect("a hostile crowd of one network does not open the circuit for others, whatever the provider answers", () =>
    Effect.gen(function* () {
      for (const odd of [{ status: 500, body: "" }, { body: "<html>" }, { body: {} }, "refused"] as const) {
        const ip = yield* start({
          answer: (url) => (url.searchParams.get("q")?.startsWith("2606:") === true ? odd : answer(url)),
        })
        yield* flood(ip, 100, (request) => `2606:4700:1:${(request + 1).toString(16)}::1`)
        expect(yield* ip.lookup("9.1.2.3")).toEqual(vpn)
      }
    }),
  )
})

describe("budget", () => {
  it.effect("allows LookupsPerMinute in any minute, and cached answers beyond that", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { LookupsPerMinute: 3 } })
      yield* ip.lookup("8.8.8.1")
      yield* TestClock.adjust(30_000)
      yield* ip.lookup("8.8.8.2")
      yield* ip.lookup("8.8.8.3")
      const error = yield* Effect.flip(ip.lookup("8.8.8.4"))
      expect(error).toMatchObject({ provider: "ipapi.is", reason: "budget" })
      yield* ip.lookup("8.8.8.1")
      yield* TestClock.adjust(29_999)
      expect((yield* Effect.flip(ip.lookup("8.8.8.4"))).reason).toBe("budget")
      // the first lookup is a minute old now, the other two are not
      yield* TestClock.adjust(1)
      yield* ip.lookup("8.8.8.4")
      expect((yield* Effect.flip(ip.lookup("8.8.8.5"))).reason).toBe("budget")
      expect(ip.http.requests).toHaveLength(4)
    }),
  )

  it.effect("does not open the circuit when it is used up", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { LookupsPerMinute: 1 } })
      yield* ip.lookup("8.8.8.1")
      for (let host = 2; host < 30; host++) {
        expect((yield* Effect.flip(ip.lookup(`8.8.8.${host}`))).reason).toBe("budget")
      }
      yield* TestClock.adjust(60_000)
      expect(yield* ip.lookup("8.8.8.30")).toEqual(noFacts)
    }),
  )

  it.effect("allows nothing when it is 0", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { LookupsPerMinute: 0 } })
      expect((yield* Effect.flip(ip.lookup("8.8.8.8"))).reason).toBe("budget")
    }),
  )
})
