/** What is known of an address is kept in the process and in the store; an IPv6 address by its /64. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { FORGOTTEN_CHANNEL } from "../../src/ip-intel/forget.ts"
import { clean, cleanBody, FakeStore, settle, start, vpn, vpnBody } from "./support.ts"

const DAY = 86_400_000

describe("caches", () => {
  it.effect("looks an address up once within CacheDays, and again afterwards", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { CacheDays: 2 }, answer: () => vpnBody })
      yield* ip.lookup("8.8.8.8")
      yield* TestClock.adjust(2 * DAY - 1)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
      expect(ip.http.requests).toHaveLength(1)
      ip.http.answer = () => clean
      yield* TestClock.adjust(1)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(noFacts)
      expect(ip.http.requests).toHaveLength(2)
    }),
  )

  it.effect("answers from the process without the store", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      yield* ip.lookup("8.8.8.8")
      expect(ip.store.gets).toBe(1)
      yield* ip.lookup("8.8.8.8")
      expect(ip.store.gets).toBe(1)
    }),
  )

  it.effect("shares facts through the store while they are fresh", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      const first = yield* start({ store, settings: { CacheDays: 2 }, answer: () => vpnBody })
      yield* first.lookup("8.8.8.8")
      yield* settle
      expect([...store.values.keys()]).toEqual(["vg:ip:ipapi.is:8.8.8.8"])
      expect(store.values.get("vg:ip:ipapi.is:8.8.8.8")?.ttlMillis).toBe(2 * DAY)
      yield* TestClock.adjust(DAY)
      const second = yield* start({ store, settings: { CacheDays: 2 } })
      expect(yield* second.lookup("8.8.8.8")).toEqual(vpn)
      expect(second.http.requests).toEqual([])
      // the store does not extend the lifetime of facts
      yield* TestClock.adjust(DAY)
      expect(yield* second.lookup("8.8.8.8")).toEqual(noFacts)
      expect(second.http.requests).toHaveLength(1)
    }),
  )

  it.effect("forgets an address that an operator has forgotten, at every instance", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      const instances = [yield* start({ store, answer: () => vpnBody }), yield* start({ store, answer: () => vpnBody })]
      for (const { lookup } of instances) for (const address of ["8.8.8.8", "9.9.9.9"]) yield* lookup(address)
      store.values.clear()
      yield* store.service.publish(FORGOTTEN_CHANNEL, "8.8.8.8")
      const gets = store.gets
      for (const { lookup } of instances) yield* lookup("9.9.9.9")
      expect(store.gets).toBe(gets)
      for (const { lookup } of instances) yield* lookup("8.8.8.8")
      expect(store.gets).toBe(gets + 2)
    }),
  )

  it.effect("keeps the facts of different providers apart", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      const first = yield* start({ store, answer: () => vpnBody })
      yield* first.lookup("8.8.8.8")
      yield* settle
      const second = yield* start({
        store,
        settings: { Provider: "vpnapi.io" },
        answer: () => ({ body: { security: { vpn: false, proxy: false, tor: true, relay: false } } }),
      })
      expect(yield* second.lookup("8.8.8.8")).toEqual({ ...noFacts, tor: true })
    }),
  )

  it.effect("treats a failing store as a miss", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      store.isDown = true
      const ip = yield* start({ store, answer: () => vpnBody })
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
      expect(ip.http.requests).toHaveLength(1)
    }),
  )

  it.effect.each(["", "nonsense", "{}", '{"facts":{"vpn":1},"at":0}', '{"facts":null,"at":0}'])(
    "treats the stored value %j as a miss",
    (value) =>
      Effect.gen(function* () {
        const store = new FakeStore()
        store.values.set("vg:ip:ipapi.is:8.8.8.8", { value, ttlMillis: DAY })
        const ip = yield* start({ store, answer: () => vpnBody })
        expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
        expect(ip.http.requests).toHaveLength(1)
      }),
  )

  it.effect("caches unknown facts as unknown, and looks them up again after a day", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      const ip = yield* start({ store, answer: () => ({ body: { ...cleanBody, is_tor: null } }) })
      const open = { ...noFacts, tor: null }
      expect(yield* ip.lookup("8.8.8.8")).toEqual(open)
      yield* settle
      const second = yield* start({ store, answer: () => vpnBody })
      expect(yield* second.lookup("8.8.8.8")).toEqual(open)
      yield* TestClock.adjust(DAY - 1)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(open)
      expect(ip.http.requests).toHaveLength(1)
      ip.http.answer = () => clean
      yield* TestClock.adjust(1)
      expect(yield* ip.lookup("8.8.8.8")).toEqual(noFacts)
    }),
  )

  it.effect("ignores facts from older versions, which stored unknown facts as clean", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      store.values.set("vg:ip:ipapi.is:8.8.8.8", { value: JSON.stringify({ facts: noFacts, at: 0 }), ttlMillis: DAY })
      const ip = yield* start({ store, answer: () => vpnBody })
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
      expect(ip.http.requests).toHaveLength(1)
    }),
  )

  it.effect("caches nothing when CacheDays is 0", () =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { CacheDays: 0 } })
      yield* ip.lookup("8.8.8.8")
      yield* ip.lookup("8.8.8.8")
      expect(ip.http.requests).toHaveLength(2)
      expect(ip.store.values.size).toBe(0)
    }),
  )

  it.effect("does not cache failures", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ status: 429, body: "" }) })
      yield* Effect.flip(ip.lookup("8.8.8.8"))
      ip.http.answer = () => vpnBody
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
    }),
  )
})

describe("IPv6", () => {
  it.effect("is cached by /64, in the process and in the store", () =>
    Effect.gen(function* () {
      const store = new FakeStore()
      const ip = yield* start({ store, answer: () => vpnBody })
      expect(yield* ip.lookup("2606:4700:1:2::1")).toEqual(vpn)
      expect(yield* ip.lookup("2606:4700:1:2:3:4:5:6")).toEqual(vpn)
      expect(ip.http.requests).toHaveLength(1)
      yield* settle
      expect([...store.values.keys()]).toEqual(["vg:ip:ipapi.is:2606:4700:1:2::/64"])
      const second = yield* start({ store })
      expect(yield* second.lookup("2606:4700:1:2:ffff::")).toEqual(vpn)
      expect(second.http.requests).toEqual([])
      yield* second.lookup("2606:4700:1:3::1")
      expect(second.http.requests).toHaveLength(1)
    }),
  )

  it.effect("shares one lookup per /64, with the address of the first caller", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      const facts = yield* Effect.all(
        Array.from({ length: 50 }, (_, host) => ip.lookup(`2606:4700:1:2::${host + 1}`)),
        { concurrency: "unbounded" },
      )
      expect(facts).toEqual(Array.from({ length: 50 }, () => vpn))
      expect(ip.http.requests.map(({ url }) => new URL(url).searchParams.get("q"))).toEqual(["2606:4700:1:2::1"])
    }),
  )

  it.effect("an IPv6 address that embeds an IPv4 address is treated as that address", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      for (const address of ["64:ff9b::808:808", "2002:808:808::1", "2001:0:1::f7f7:f7f7", "::8.8.8.8", "8.8.8.8"]) {
        expect(yield* ip.lookup(address)).toEqual(vpn)
      }
      expect(ip.http.requests.map(({ url }) => new URL(url).searchParams.get("q"))).toEqual(["8.8.8.8"])
    }),
  )
})
