import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { start, vpn, vpnBody } from "./support.ts"

describe("circuit breaker", () => {
  const failTimes = (ip: { readonly lookup: IpIntel["Service"]["lookup"] }, times: number) =>
    Effect.forEach(
      Array.from({ length: times }, (_, network) => `8.8.${network}.4`),
      (address) => Effect.map(Effect.flip(ip.lookup(address)), ({ reason }) => reason),
    )

  it.effect("pauses a provider that failed five times in a row, and recovers", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ status: 500, body: "" }) })
      expect(yield* failTimes(ip, 7)).toEqual([
        ...Array.from({ length: 5 }, () => "unreachable"),
        "circuit_open",
        "circuit_open",
      ])
      expect(ip.http.requests).toHaveLength(5)
      ip.http.answer = () => vpnBody
      yield* TestClock.adjust(29_999)
      expect(yield* failTimes(ip, 1)).toEqual(["circuit_open"])
      yield* TestClock.adjust(1)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
      expect(yield* ip.lookup("9.9.9.9")).toEqual(vpn)
    }),
  )

  it.effect("opens again at once when the probe fails", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ status: 500, body: "" }) })
      yield* failTimes(ip, 5)
      yield* TestClock.adjust(30_000)
      expect(yield* failTimes(ip, 2)).toEqual(["unreachable", "circuit_open"])
    }),
  )

  it.effect("still answers from the cache while it is open", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      yield* ip.lookup("8.8.8.8")
      ip.http.answer = () => "refused"
      yield* failTimes(ip, 6)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
    }),
  )

  it.effect("opens on time-outs and quota answers", () =>
    Effect.gen(function* () {
      const slow = yield* start({ answer: () => "never" })
      const waiting = yield* Effect.forkChild(failTimes(slow, 6))
      for (let call = 0; call < 5; call++) yield* TestClock.adjust(2_000)
      expect((yield* Fiber.join(waiting)).at(-1)).toBe("circuit_open")
      const spent = yield* start({ answer: () => ({ status: 429, body: "" }) })
      expect((yield* failTimes(spent, 6)).at(-1)).toBe("circuit_open")
    }),
  )

  it.effect.each<readonly [answer: string, body: unknown, reason: string]>([
    ["a message alone", { message: "Something went wrong" }, "refused"],
    ["a message about the key", { message: "Invalid API Key" }, "unauthorized"],
    ["an error", { error: "Temporary problem" }, "refused"],
    ["a status", { status: 503, message: "down" }, "unreachable"],
    ["success false", { success: false }, "refused"],
    ["no fact", { ip: "8.8.8.8" }, "malformed"],
    ["a page", "<html>Sign in to the network</html>", "malformed"],
  ])("opens on answers with status 200 that are errors: %s", ([, body, reason]) =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ body }) })
      expect(yield* failTimes(ip, 6)).toEqual([...Array.from({ length: 5 }, () => reason), "circuit_open"])
    }),
  )

  it.effect("does not open on answers that one network alone provokes", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ body: { message: "Something went wrong" } }) })
      const reasons = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, i) => `8.8.8.${i + 1}`),
        (address) => Effect.map(Effect.flip(ip.lookup(address)), ({ reason }) => reason),
      )
      expect(new Set(reasons)).toEqual(new Set(["refused"]))
    }),
  )

  it.effect("does not open on addresses that the provider rejects in a body", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ body: { message: "Invalid IP address" } }) })
      expect(new Set(yield* failTimes(ip, 20))).toEqual(new Set(["rejected"]))
    }),
  )

  it.effect("does not open on addresses that the provider rejects", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ status: 400, body: "" }) })
      expect(new Set(yield* failTimes(ip, 20))).toEqual(new Set(["rejected"]))
      expect(ip.http.requests).toHaveLength(20)
    }),
  )
})
