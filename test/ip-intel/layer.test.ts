import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { IpIntel, noFacts } from "../../src/IpIntel.ts"
import { type Answer, FakeHttp, FakeStore, type IpSettings, KEY, printed, settingsLayer } from "./support.ts"

const cleanBody = { is_vpn: false, is_proxy: false, is_tor: false, is_datacenter: false }
const clean: Answer = { body: cleanBody }
const vpnBody: Answer = { body: { ...cleanBody, is_vpn: true } }
const vpn = { ...noFacts, vpn: true }
const DAY = 86_400_000

/** The service as an application gets it, on a fake network and a fake store. */
const start = (options: {
  readonly settings?: Partial<IpSettings>
  readonly store?: FakeStore
  readonly answer?: (url: URL) => Answer
}) =>
  Effect.gen(function* () {
    const http = new FakeHttp(options.answer ?? (() => clean))
    const store = options.store ?? new FakeStore()
    const context = yield* Layer.build(
      IpIntel.layer.pipe(Layer.provide([settingsLayer(options.settings), store.layer, http.layer])),
    )
    const service = yield* IpIntel.pipe(Effect.provide(context))
    return { ...service, http, store }
  })

/** Runs forked fibers. */
const settle = TestClock.adjust(0)

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

  it.effect("that embeds an IPv4 address is treated as that address", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      for (const address of ["64:ff9b::808:808", "2002:808:808::1", "2001:0:1::f7f7:f7f7", "::8.8.8.8", "8.8.8.8"]) {
        expect(yield* ip.lookup(address)).toEqual(vpn)
      }
      expect(ip.http.requests.map(({ url }) => new URL(url).searchParams.get("q"))).toEqual(["8.8.8.8"])
    }),
  )
})

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

  it.effect("of one /64 at ten requests per second uses one lookup, and a VPN elsewhere is still detected", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer })
      const outcomes = yield* flood(ip, 1_200, (request) => `2606:4700:1:2::${(request + 1).toString(16)}`)
      expect(new Set(outcomes)).toEqual(new Set(["known"]))
      expect(ip.http.requests).toHaveLength(1)
      expect(yield* ip.lookup("9.1.2.3")).toEqual(vpn)
    }),
  )

  it.effect("of one /48, each from a different /64, uses NetworkLookupsPerMinute", () =>
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

  it.effect("of one /24 uses NetworkLookupsPerMinute", () =>
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
  ] as const)("of many networks of one %s spends half of LookupsPerMinute", ([, address, other]) =>
    Effect.gen(function* () {
      const ip = yield* start({ settings: { LookupsPerMinute: 600, NetworkLookupsPerMinute: 60 }, answer })
      const outcomes = yield* flood(ip, 590, address)
      expect(ip.http.requests).toHaveLength(300)
      expect(outcomes.filter((outcome) => outcome === "network_budget")).toHaveLength(290)
      expect(yield* ip.lookup(other)).toEqual(noFacts)
      expect(yield* ip.lookup("2a00:1:2:3::1")).toEqual(vpn)
    }),
  )

  it.effect("of one network does not open the circuit for others, whatever the provider answers", () =>
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

describe("one lookup at a time", () => {
  it.effect("makes one lookup for many callers with one address", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      const facts = yield* Effect.all(
        Array.from({ length: 50 }, () => ip.lookup("8.8.8.8")),
        { concurrency: "unbounded" },
      )
      expect(facts).toEqual(Array.from({ length: 50 }, () => vpn))
      expect(ip.http.requests).toHaveLength(1)
      yield* Effect.all([ip.lookup("9.9.9.9"), ip.lookup("1.1.1.1")], { concurrency: 2 })
      expect(ip.http.requests).toHaveLength(3)
    }),
  )

  it.effect("continues for the others when the caller who started it disconnects", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => "never" })
      const first = yield* Effect.forkChild(ip.lookup("8.8.8.8"))
      yield* settle
      const second = yield* Effect.forkChild(Effect.flip(ip.lookup("8.8.8.8")))
      yield* settle
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust(2_000)
      expect((yield* Fiber.join(second)).reason).toBe("timeout")
      expect(ip.http.requests).toHaveLength(1)
    }),
  )

  it.effect("reports one failure to all waiting callers, and starts a new lookup afterwards", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => "refused" })
      const errors = yield* Effect.all([Effect.flip(ip.lookup("8.8.8.8")), Effect.flip(ip.lookup("8.8.8.8"))], {
        concurrency: 2,
      })
      expect(errors.map(({ reason }) => reason)).toEqual(["unreachable", "unreachable"])
      expect(ip.http.requests).toHaveLength(1)
      ip.http.answer = () => vpnBody
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
    }),
  )

  it.effect("interrupts lookups in flight when the service stops", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const ip = yield* start({ answer: () => "never" }).pipe(Scope.provide(scope))
      const waiting = yield* Effect.forkChild(ip.lookup("8.8.8.8"))
      yield* settle
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.await(waiting)
      expect(Exit.hasInterrupts(exit)).toBe(true)
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

  it.effect("does not open on addresses that the provider rejects", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => ({ status: 400, body: "" }) })
      expect(new Set(yield* failTimes(ip, 20))).toEqual(new Set(["rejected"]))
      expect(ip.http.requests).toHaveLength(20)
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
