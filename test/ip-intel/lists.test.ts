import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { labelOf, parseList } from "../../src/ip-intel/list-source.ts"
import { type Answer, FakeHttp, FakeStore, type IpSettings, printed, settingsLayer } from "./support.ts"

const fixture = (name: string): string => join(import.meta.dirname, "../fixtures/ip", name)
const none: IpSettings["Lists"] = { Vpn: [], Datacenter: [], Tor: [], Relay: [], RefreshHours: 24 }
const files: IpSettings["Lists"] = {
  Vpn: [fixture("vpn.txt")],
  Datacenter: [fixture("datacenter.txt")],
  Tor: [fixture("tor.txt")],
  Relay: [fixture("relay.csv")],
  RefreshHours: 24,
}
const URL_A = "http://user:s3cret@lists.example/a.txt?token=s3cret"
const HOUR = 3_600_000

/** The service over lists, with its log. */
const start = (lists: Partial<IpSettings["Lists"]>, answer: (url: URL) => Answer = () => "refused") =>
  Effect.gen(function* () {
    const http = new FakeHttp(answer)
    const store = new FakeStore()
    const logs: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void logs.push(`${logLevel} ${String(message)}`))
    const context = yield* Layer.build(
      IpIntel.layer.pipe(
        Layer.provide([
          settingsLayer({ Provider: "lists", Lists: { ...none, ...lists } }),
          store.layer,
          http.layer,
          Logger.layer([logger]),
        ]),
      ),
    )
    const service = yield* IpIntel.pipe(Effect.provide(context))
    return { ...service, http, store, logs }
  })

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "voicegate-lists-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
)

/** Waits for the effect of reading a file, which takes real time. */
const eventually = <A>(effect: Effect.Effect<A>, isDone: (value: A) => boolean) =>
  TestClock.withLive(
    Effect.sleep("5 millis").pipe(
      Effect.andThen(effect),
      Effect.repeat({ until: isDone }),
      Effect.timeout("5 seconds"),
    ),
  )

describe("the list of privacy relays", () => {
  const withProvider = (settings: Partial<IpSettings>, answer: (url: URL) => Answer) =>
    Effect.gen(function* () {
      const http = new FakeHttp(answer)
      const context = yield* Layer.build(
        IpIntel.layer.pipe(Layer.provide([settingsLayer(settings), new FakeStore().layer, http.layer])),
      )
      return { ...(yield* IpIntel.pipe(Effect.provide(context))), http }
    })
  const vpnAndProxy = { is_vpn: true, is_proxy: true, is_tor: false, is_datacenter: true }

  it.effect("corrects any provider, which takes a relay for a VPN or a proxy", () =>
    Effect.gen(function* () {
      const ip = yield* withProvider({ Lists: { ...none, Relay: [fixture("relay.csv")] } }, () => ({
        body: vpnAndProxy,
      }))
      for (const [address, facts] of [
        ["172.224.224.1", { ...noFacts, relay: true, datacenter: true }],
        // a cached answer too
        ["172.224.224.1", { ...noFacts, relay: true, datacenter: true }],
        ["198.51.7.1", { ...noFacts, vpn: true, proxy: true, datacenter: true }],
      ] as const)
        expect(yield* ip.lookup(address)).toEqual(facts)
      expect(ip.http.requests).toHaveLength(2)
    }),
  )

  it.effect("leaves the provider's facts as they are until it is downloaded", () =>
    Effect.gen(function* () {
      let listed = false
      const list = { ...none, Relay: ["https://lists.example/relay.csv"] }
      const ip = yield* withProvider({ Lists: list }, ({ host }) =>
        host === "lists.example"
          ? { status: listed ? 200 : 503, body: "172.224.224.0/27,US\n" }
          : { body: vpnAndProxy },
      )
      expect(yield* ip.lookup("172.224.224.1")).toMatchObject({ vpn: true, relay: false })
      listed = true
      yield* TestClock.adjust("1 minute")
      expect(yield* ip.lookup("172.224.224.1")).toMatchObject({ vpn: false, proxy: false, relay: true })
    }),
  )
})

describe("facts from files", () => {
  it.effect.each<readonly [address: string, facts: Partial<typeof noFacts>]>([
    ["9.9.9.9", {}],
    ["8.8.8.8", { vpn: true, datacenter: true }],
    ["::ffff:8.8.8.200", { vpn: true, datacenter: true }],
    ["8.8.9.1", { datacenter: true }],
    ["185.220.101.2", { tor: true }],
    ["185.220.101.3", {}],
    ["2a09:bac1::1", { vpn: true }],
    ["2a09:bac0::1", { vpn: true, datacenter: true }],
    ["2a09:bac8::1", {}],
    ["2a02:26f7:c000::1", { relay: true }],
    ["172.224.224.65", { relay: true }],
    ["172.224.224.66", {}],
  ])("are reported for $0", ([address, facts]) =>
    Effect.gen(function* () {
      const ip = yield* start(files)
      expect(yield* ip.lookup(address)).toEqual({ ...noFacts, ...facts })
    }),
  )

  it.effect("distinguish a relay within the VPN list, which without the relay list is a VPN", () =>
    Effect.gen(function* () {
      const withRelay = yield* start(files)
      expect(yield* withRelay.lookup("172.224.224.5")).toEqual({ ...noFacts, relay: true })
      const without = yield* start({ ...files, Relay: [] })
      expect(yield* without.lookup("172.224.224.5")).toEqual({ ...noFacts, vpn: true })
    }),
  )

  it.effect("come from every file of a kind", () =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [fixture("tor.txt"), fixture("vpn.txt")] })
      expect((yield* ip.lookup("185.220.101.1")).vpn).toBe(true)
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
    }),
  )

  it.effect("need neither store nor network", () =>
    Effect.gen(function* () {
      const ip = yield* start(files)
      yield* ip.lookup("8.8.8.8")
      yield* ip.probe
      expect(ip.store.gets).toBe(0)
      expect(ip.http.requests).toEqual([])
    }),
  )

  it.effect("are all false without any list", () =>
    Effect.gen(function* () {
      const ip = yield* start({})
      expect(yield* ip.lookup("8.8.8.8")).toEqual(noFacts)
    }),
  )
})

describe("bad lists", () => {
  it.effect("bad lines are counted and reported, not fatal", () =>
    Effect.gen(function* () {
      const ip = yield* start(files)
      expect(ip.logs.filter((line) => line.startsWith("Warn"))).toEqual([
        "Warn IP list loaded without 2 bad lines; the first is line 7",
      ])
    }),
  )

  it.effect("a file that cannot be read fails the start, naming file and setting", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start({ Vpn: [fixture("vpn.txt"), fixture("missing.txt")] }))
      expect(error).toMatchObject({ _tag: "IpIntelSetupError", setting: "IpIntel.Lists.Vpn[1]" })
      expect(error.message).toContain("IpIntel.Lists.Vpn[1]")
      expect(error.message).toContain(fixture("missing.txt"))
    }),
  )

  it.effect("a file without a valid line fails the start", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start({ Tor: [import.meta.filename] }))
      expect(error.message).toContain("contains no address")
    }),
  )

  it.effect("lines are read with a byte order mark, carriage returns, quotes and comments", () =>
    Effect.gen(function* () {
      const list = yield* parseList(
        '\uFEFF8.8.8.8\r\n"9.9.9.9/32",x,y\r\n# note\r\n\r\n 1.1.1.1 ; note\r\nip_prefix\r\n',
      )
      expect(list.ranges.size).toBe(3)
      expect(list).toMatchObject({ badLines: 1, firstBadLine: 6 })
    }),
  )

  it("http addresses are printed without credentials and query", () => {
    expect(labelOf(URL_A)).toBe("http://lists.example/a.txt")
    expect(labelOf("http://s3cret@:bad")).not.toContain("s3cret")
    expect(labelOf("/etc/list.txt")).toBe("/etc/list.txt")
  })
})

describe("downloads", () => {
  it.effect("are loaded at start and again every RefreshHours", () =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [URL_A], RefreshHours: 6 }, () => ({ body: "8.8.8.8\n" }))
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      ip.http.answer = () => ({ body: "9.9.9.9\n" })
      yield* TestClock.adjust(6 * HOUR - 1)
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      expect(ip.http.requests).toHaveLength(1)
      yield* TestClock.adjust(1)
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(false)
      expect((yield* ip.lookup("9.9.9.9")).vpn).toBe(true)
      yield* TestClock.adjust(6 * HOUR)
      expect(ip.http.requests).toHaveLength(3)
    }),
  )

  it.effect.each<Answer>([
    "refused",
    { status: 500, body: "" },
    { body: "<html>\n<p>busy</p>\n</html>" },
    { body: "" },
  ])("keep the old list, log a warning and are retried within a minute when the refresh gets %j", (answer) =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [URL_A], RefreshHours: 6 }, () => ({ body: "8.8.8.8\n" }))
      ip.http.answer = () => answer
      yield* TestClock.adjust(6 * HOUR)
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      const warnings = ip.logs.filter((line) => line.startsWith("Warn"))
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain("IpIntel.Lists.Vpn[0]")
      expect(warnings[0]).toContain("not refreshed")
      ip.http.answer = () => ({ body: "9.9.9.9\n" })
      yield* TestClock.adjust(60_000)
      expect((yield* ip.lookup("9.9.9.9")).vpn).toBe(true)
      expect(ip.logs.join()).not.toContain("s3cret")
    }),
  )

  it.effect("keep the old list when a refresh never ends", () =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [URL_A], RefreshHours: 6 }, () => ({ body: "8.8.8.8\n" }))
      ip.http.answer = () => "never"
      yield* TestClock.adjust(6 * HOUR)
      yield* TestClock.adjust("20 seconds")
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      ip.http.answer = () => ({ body: "9.9.9.9\n" })
      yield* TestClock.adjust("1 minute")
      expect((yield* ip.lookup("9.9.9.9")).vpn).toBe(true)
    }),
  )

  it.effect("downloads that fail at start make lookups fail until they succeed, and are retried every minute", () =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [URL_A] })
      const error = yield* Effect.flip(ip.lookup("9.9.9.9"))
      expect(error).toMatchObject({ provider: "lists", reason: "unreachable" })
      expect(yield* Effect.flip(ip.probe)).toMatchObject({ reason: "unreachable" })
      expect(printed(error) + ip.logs.join()).not.toContain("s3cret")
      ip.http.answer = () => ({ body: "8.8.8.8\n" })
      yield* TestClock.adjust(60_000)
      expect(yield* ip.lookup("9.9.9.9")).toEqual(noFacts)
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      expect(ip.http.requests).toHaveLength(2)
    }),
  )

  it.effect("downloads that are missing do not hide what another list contains", () =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [fixture("vpn.txt")], Tor: [URL_A] })
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      expect((yield* Effect.flip(ip.lookup("9.9.9.9"))).reason).toBe("unreachable")
    }),
  )

  it.effect("downloads of relays that are missing leave it unknown whether an address is a VPN", () =>
    Effect.gen(function* () {
      const ip = yield* start({ Vpn: [fixture("vpn.txt")], Relay: [URL_A] })
      expect((yield* Effect.flip(ip.lookup("172.224.224.5"))).reason).toBe("unreachable")
    }),
  )
})

describe("files", () => {
  it.effect("are read again every RefreshHours, and the old list stays when one is gone", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "vpn.txt")
      yield* Effect.promise(() => copyFile(fixture("vpn.txt"), path))
      const ip = yield* start({ Vpn: [path], RefreshHours: 1 })
      yield* Effect.promise(() => rm(path))
      yield* TestClock.adjust(HOUR)
      yield* eventually(
        Effect.sync(() => ip.logs),
        (logs) => logs.some((line) => line.includes("not refreshed")),
      )
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      yield* Effect.promise(() => writeFile(path, "9.9.9.9\n"))
      yield* TestClock.adjust(60_000)
      const facts = yield* eventually(
        Effect.suspend(() => Effect.orDie(ip.lookup("9.9.9.9"))),
        ({ vpn }) => vpn === true,
      )
      expect(facts.vpn).toBe(true)
    }),
  )
})
