import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { IpIntel } from "../../src/ip-intel/IpIntel.ts"
import { mmdb } from "./mmdb.ts"
import { FakeHttp, FakeStore, settingsLayer } from "./support.ts"

const DAY = 86_400
const records = {
  "8.8.8.0/24": { is_anonymous: true, is_anonymous_vpn: true },
  "9.9.0.0/16": { is_anonymous: true, is_public_proxy: true, is_hosting_provider: true },
  "9.8.0.0/16": { is_anonymous: true, is_residential_proxy: true },
  "185.220.101.1/32": { is_anonymous: true, is_tor_exit_node: true },
  "5.0.0.0/8": { is_hosting_provider: true },
}
const sixRecords = { ...records, "2a09:bac0::/29": { is_anonymous_vpn: true } }
const database = (overrides: Partial<Parameters<typeof mmdb>[0]> = {}): Buffer =>
  mmdb({
    type: "GeoIP2-Anonymous-IP",
    ipVersion: 6,
    buildEpochSeconds: 0,
    records: sixRecords,
    ...overrides,
  })

const fileOf = (bytes: Buffer | undefined) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "voicegate-mmdb-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true })),
  ).pipe(
    Effect.map((directory) => join(directory, "ip.mmdb")),
    Effect.tap((path) => Effect.promise(async () => bytes === undefined || (await writeFile(path, bytes)))),
  )

const start = (path: string | undefined) =>
  Effect.gen(function* () {
    const logs: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void logs.push(`${logLevel} ${String(message)}`))
    const store = new FakeStore()
    const http = new FakeHttp(() => "refused")
    const context = yield* Layer.build(
      IpIntel.layer.pipe(
        Layer.provide([
          settingsLayer({ Provider: "maxmind", BaseUrl: path }),
          store.layer,
          http.layer,
          Logger.layer([logger]),
        ]),
      ),
    )
    const service = yield* IpIntel.pipe(Effect.provide(context))
    return { ...service, logs, store, http }
  })

describe("MaxMind Anonymous-IP", () => {
  it.effect("reports VPN, proxies, Tor and datacenters for IPv4 and IPv6", () =>
    Effect.gen(function* () {
      const ip = yield* start(yield* fileOf(database()))
      expect(yield* ip.lookup("8.8.8.8")).toEqual({ ...noFacts, vpn: true })
      expect(yield* ip.lookup("::ffff:8.8.8.8")).toEqual({ ...noFacts, vpn: true })
      expect(yield* ip.lookup("9.9.9.9")).toEqual({ ...noFacts, proxy: true, datacenter: true })
      expect(yield* ip.lookup("9.8.9.9")).toEqual({ ...noFacts, proxy: true })
      expect(yield* ip.lookup("185.220.101.1")).toEqual({ ...noFacts, tor: true })
      expect(yield* ip.lookup("5.6.7.8")).toEqual({ ...noFacts, datacenter: true })
      expect(yield* ip.lookup("2a09:bac1::1")).toEqual({ ...noFacts, vpn: true })
      expect(yield* ip.lookup("8.8.9.1")).toEqual(noFacts)
      expect(yield* ip.lookup("2a09:bac8::1")).toEqual(noFacts)
      yield* ip.probe
      expect(ip.store.gets).toBe(0)
      expect(ip.http.requests).toEqual([])
    }),
  )

  it.effect("fails for IPv6 when the database contains only IPv4", () =>
    Effect.gen(function* () {
      const ip = yield* start(
        yield* fileOf(database({ ipVersion: 4, records: { "36.0.0.0/8": { is_anonymous_vpn: true } } })),
      )
      expect(yield* ip.lookup("36.1.1.1")).toEqual({ ...noFacts, vpn: true })
      // its first 32 bits are those of 36.x
      expect(yield* Effect.flip(ip.lookup("2400:cb00::1"))).toMatchObject({ provider: "maxmind", reason: "rejected" })
    }),
  )

  it.effect("does not start without a path, a file, a database, or with a database of another type", () =>
    Effect.gen(function* () {
      const missing = yield* fileOf(undefined)
      const text = yield* fileOf(Buffer.from("no database"))
      const city = yield* fileOf(database({ type: "GeoLite2-City" }))
      const errors = yield* Effect.forEach([undefined, missing, text, city], (path) => Effect.flip(start(path)))
      expect(new Set(errors.map(({ setting }) => setting))).toEqual(new Set(["IpIntel.BaseUrl"]))
      const [withoutPath, ofMissing, ofText, ofCity] = errors.map(({ message }) => message)
      expect(withoutPath).toContain("needs the path")
      expect(ofMissing).toContain(missing)
      expect(ofMissing).toContain("cannot be read")
      expect(ofText).toContain("not a MaxMind database")
      expect(ofCity).toContain("GeoLite2-City")
    }),
  )

  it.effect("warns of a database older than 30 days", () =>
    Effect.gen(function* () {
      const path = yield* fileOf(database())
      yield* TestClock.setTime(30 * DAY * 1000)
      expect((yield* start(path)).logs).toEqual([])
      yield* TestClock.setTime(31 * DAY * 1000)
      expect((yield* start(path)).logs).toEqual([expect.stringMatching(/^Warn .*old/)])
    }),
  )

  it.effect("reads a replaced file within the hour, and keeps the old data when the new is broken", () =>
    Effect.gen(function* () {
      const path = yield* fileOf(database())
      const ip = yield* start(path)
      const replace = (bytes: Buffer, seconds: number) =>
        Effect.promise(async () => {
          await writeFile(path, bytes)
          await utimes(path, seconds, seconds)
        })
      const untilLogged = (text: string) =>
        TestClock.withLive(
          Effect.sleep("5 millis").pipe(
            Effect.repeat({ until: () => ip.logs.some((line) => line.includes(text)) }),
            Effect.timeout("5 seconds"),
          ),
        )
      yield* replace(Buffer.from("broken"), 1_000)
      yield* TestClock.adjust("1 hour")
      yield* untilLogged("not refreshed")
      expect((yield* ip.lookup("8.8.8.8")).vpn).toBe(true)
      yield* replace(database({ records: { "8.8.8.0/24": { is_tor_exit_node: true } } }), 2_000)
      yield* TestClock.adjust("1 hour")
      yield* untilLogged("read again")
      expect(yield* ip.lookup("8.8.8.8")).toEqual({ ...noFacts, tor: true })
    }),
  )
})
