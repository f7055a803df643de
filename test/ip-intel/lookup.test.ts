/** What is looked up, with which provider, and how a lookup fails. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { KEY, printed, start, vpn, vpnBody } from "./support.ts"

describe("what is looked up", () => {
  it.effect("skips private, loopback and other non-public addresses", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      for (const address of [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "::ffff:192.168.0.1",
        "fe80::1%eth0",
        "fd00::1",
        "0.0.0.0",
      ]) {
        expect(yield* ip.lookup(address)).toEqual(noFacts)
      }
      expect(ip.http.requests).toEqual([])
      expect(ip.store.gets).toBe(0)
    }),
  )

  it.effect("looks up IPv4-mapped IPv6 as the IPv4 address", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      expect(yield* ip.lookup("::ffff:8.8.8.8")).toEqual(vpn)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
      expect(ip.http.requests.map(({ url }) => new URL(url).searchParams.get("q"))).toEqual(["8.8.8.8"])
    }),
  )

  it.effect("refuses an invalid address", () =>
    Effect.gen(function* () {
      const ip = yield* start({})
      expect((yield* Effect.flip(ip.lookup("8.8.8.8/../x"))).reason).toBe("rejected")
      expect(ip.http.requests).toEqual([])
    }),
  )

  it.effect("reports no facts without a provider", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { Provider: "none" } })
      expect(ip.provider).toBe("none")
      expect(yield* ip.lookup("8.8.8.8")).toEqual(noFacts)
      yield* ip.probe
      expect(ip.http.requests).toEqual([])
      expect(ip.store.gets).toBe(0)
    }),
  )

  it.effect.each(["ipapi.is", "proxycheck.io", "vpnapi.io", "ip2location.io", "ipinfo.io"] as const)(
    "asks the configured provider: %s",
    (provider) =>
      Effect.gen(function* () {
        const ip = yield* start({ settings: { Provider: provider }, answer: () => ({ status: 429, body: "" }) })
        expect(ip.provider).toBe(provider)
        expect(yield* Effect.flip(ip.lookup("8.8.8.8"))).toMatchObject({ provider, reason: "quota" })
        expect(new URL(ip.http.requests[0]?.url ?? "").hostname).toContain(provider)
      }),
  )
})

describe("time-out", () => {
  it.effect("fails after TimeoutMillis, not before", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { TimeoutMillis: 700 }, answer: () => "never" })
      const waiting = yield* Effect.forkChild(Effect.flip(ip.lookup("8.8.8.8")))
      yield* TestClock.adjust(699)
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      const error = yield* Fiber.join(waiting)
      expect(error).toMatchObject({ provider: "ipapi.is", reason: "timeout" })
      expect(printed(error)).not.toContain(KEY)
    }),
  )
})

describe("probe", () => {
  it.effect("asks the provider each time, without cache, budget and circuit", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { LookupsPerMinute: 0 } })
      yield* ip.probe
      yield* ip.probe
      expect(ip.http.requests).toHaveLength(2)
      expect(ip.store.gets).toBe(0)
    }),
  )

  it.effect("fails like a lookup", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ status: 401, body: "" }) })
      expect(yield* Effect.flip(ip.probe)).toMatchObject({ provider: "ipapi.is", reason: "unauthorized" })
      ip.http.answer = () => "never"
      const waiting = yield* Effect.forkChild(Effect.flip(ip.probe))
      yield* TestClock.adjust(2_000)
      expect((yield* Fiber.join(waiting)).reason).toBe("timeout")
    }),
  )
})
