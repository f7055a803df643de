/**
 * What control costs the hot path: requests per second of the built gate with all of it off, with identity alone, and with all of it (identity,
 * length, budgets, hours, events, overflow), each with its own Redis; with `before`, also of the build of a checkout that has no control. Every request is queued; with identity each has a signed token of its own caller.
 *
 * In a round all run at the same time and are loaded in short alternating turns.
 */
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type RedisServer, startRedis } from "../../test/harness/redis.ts"
import { load, type Measured, mean } from "./support/load.ts"
import { startPlatform } from "./support/platform.ts"
import { type Figures, type Found, type Ratio, ratio } from "./support/report.ts"
import { type Server, startGate } from "./support/servers.ts"

type Name = "before" | "off" | "identity" | "all"

const WARM_UP_SECONDS = 16
const TURN_SECONDS = 2
/** Callers with a token; they come again, within limits that are wide enough. */
const CALLERS = 30_000
const SECRET = "the-secret-of-the-benchmark-0123456789"

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const tokenOf = (caller: number): string => {
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    sub: `customer-${caller}`,
    iat,
    exp: iat + 3600,
    voicegate: { name: "Ada", variables: { plan: "gold" } },
  }
  const signed = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(claims)}`
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`
}

/** A host that takes every event. */
const startHost = async () => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(204).end()
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => void server.close() }
}

/** So large that nobody is refused. */
const budget = (n: number, name: string, of: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ Name: name, Of: of, Unit: "minutes", Per: "month", Cap: "1000000", OnLimit: "refuse" }).map(
      ([key, value]) => [`VoiceAiPlatform__Budgets__${n}__${key}`, value],
    ),
  )

const settingsOf = (name: Name, host: string): Readonly<Record<string, string>> => ({
  Security__RateLimitHourly: "1000",
  Security__RateLimitDaily: "1000",
  Security__RateLimitConcurrency: "1000",
  ...(name === "off" || name === "before" ? {} : { Identity__Secrets__0: SECRET }),
  ...(name === "all"
    ? {
        VoiceAiPlatform__MaxCallSeconds: "600",
        ...budget(0, "team", "campaign"),
        ...budget(1, "own", "caller"),
        VoiceAiPlatform__Hours__Zone: "Europe/Berlin",
        VoiceAiPlatform__Hours__Open__0: "Daily 00:00-24:00",
        VoiceAiPlatform__Events__Url: host,
        VoiceAiPlatform__Events__Secrets__0: `whsec_${Buffer.from(SECRET).toString("base64")}`,
        VoiceAiPlatform__Overflow__AfterSeconds: "60",
        VoiceAiPlatform__Overflow__Offers__0: "Call the shop tel:+49301234567",
      }
    : {}),
})

interface Side {
  readonly name: Name
  readonly server: Server
  readonly redis: RedisServer
}

const startSide = async (name: Name, platform: string, host: string, before: string | undefined): Promise<Side> => {
  const redis = await startRedis()
  const server = await startGate(
    redis.url,
    platform,
    settingsOf(name, host),
    name === "before" && before !== undefined ? { root: before } : {},
  )
  // occupies the slot
  await fetch(`${server.url}/api/session/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
  return { name, server, redis }
}

/** @param before a built checkout from before control; absent for none */
export const control = async (rounds: number, turns: number, before: string | undefined): Promise<Found> => {
  const names: ReadonlyArray<Name> = [...(before === undefined ? [] : (["before"] as const)), "off", "identity", "all"]
  const platform = await startPlatform()
  const host = await startHost()
  const directory = mkdtempSync(join(tmpdir(), "voicegate-bench-"))
  const tokens = join(directory, "tokens.txt")
  writeFileSync(tokens, Array.from({ length: CALLERS }, (_, caller) => tokenOf(caller)).join("\n"))
  const of = ({ name, redis, server }: Side, seconds: number): Promise<Measured> =>
    load(
      server.url,
      server.pids,
      redis.pid(),
      name === "off" || name === "before" ? "queue" : "signed",
      seconds,
      tokens,
    )
  const played: Array<Record<Name, Array<Measured>>> = []
  try {
    for (let round = 0; round < rounds; round++) {
      const taken: Record<Name, Array<Measured>> = { before: [], off: [], identity: [], all: [] }
      const sides: Array<Side> = []
      try {
        for (const name of names) sides.push(await startSide(name, platform.url, host.url, before))
        for (const side of sides) await of(side, WARM_UP_SECONDS)
        for (let turn = 0; turn < turns; turn++) {
          for (const side of sides) {
            const measured = await of(side, TURN_SECONDS)
            if (measured.refused > 0)
              throw new Error(`${side.name} refused ${measured.refused}\n${side.server.output()}`)
            taken[side.name].push(measured)
          }
        }
      } finally {
        for (const { redis, server } of sides) {
          await server.stop()
          await redis.dispose()
        }
      }
      played.push(taken)
    }
  } finally {
    platform.close()
    host.close()
    rmSync(directory, { recursive: true, force: true })
  }
  const figuresOf = (name: string, unit: string, pick: (measured: Measured) => number): Figures => ({
    name,
    unit,
    of: Object.fromEntries(names.map((side) => [side, played.map((taken) => mean(taken[side], pick))])),
  })
  const perSecond = figuresOf("control", "requests per second", (m) => m.perSecond)
  const cpu = figuresOf("control, CPU of the gate", "µs per request", (m) => m.micros)
  const store = figuresOf("control, CPU of Redis", "µs per request", (m) => m.storeMicros)
  const ratios: ReadonlyArray<Ratio> = [perSecond, cpu, store].flatMap((figures) => [
    ...(before === undefined ? [] : [ratio(figures, "off", "before", undefined)]),
    ratio(figures, "identity", "off", undefined),
    ratio(figures, "all", "off", undefined),
  ])
  return { figures: [perSecond, cpu, store], ratios }
}
