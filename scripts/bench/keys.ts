/**
 * The cost of a key check: `GET /api/v1/business/{id}` of the platform with a cached key (warm) and with a different key every time
 * (cold), compared with a route of the same framework that checks nothing and returns the same text. Alternating runs, medians: the
 * ratios count, not the figures.
 *
 *     node scripts/bench/keys.ts [postgres://…]      needs Debian's wrk; a SQLite file without a connection string
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { Businesses } from "../../src/platform/businesses/Businesses.ts"
import { ApiKeys } from "../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../src/platform/Platform.ts"
import { Users } from "../../src/platform/users/Users.ts"

const ROUNDS = 3
const SECONDS = 2
/** More than one round uses, so that each is used once within the cache's lifetime. */
const COLD_KEYS = 20_000
const directory = mkdtempSync(join(tmpdir(), "voicegate-bench-"))
const database = Redacted.make(process.argv[2] ?? `sqlite:${join(directory, "keys.db")}`)

/** Requests per second of wrk, which uses the keys in rotation. */
const measure = (url: string, keys: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const script = join(directory, "keys.lua")
    writeFileSync(
      script,
      `local keys, n = {${keys.map((key) => `"Token ${key}"`).join(",")}}, 0
function request()
  n = n % #keys + 1
  return wrk.format("GET", nil, {["Authorization"] = keys[n]})
end`,
    )
    const wrk = spawn("wrk", ["-t1", "-c16", `-d${SECONDS}s`, "-s", script, url])
    const output = await text(wrk.stdout)
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1] ?? Number.NaN)
  })

const median = (figures: ReadonlyArray<number>): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN

const bench = Effect.gen(function* () {
  const { baseUrl } = yield* Platform.Platform
  const bare = HttpServer.formatAddress((yield* HttpServer.HttpServer).address)
  const user = yield* (yield* Users).create({ name: "Bench", callConcurrency: 1 })
  const business = yield* (yield* Businesses).create(user.id, { name: "Bench" })
  const keys = yield* ApiKeys
  const made = yield* Effect.forEach(
    Array.from({ length: COLD_KEYS * ROUNDS }),
    () => keys.create(user.id, { name: "k", scope: { type: "Unrestricted" }, permissions: ["read"] }),
    { concurrency: 50 },
  )
  const secrets = made.map(({ secret }) => Redacted.value(secret))
  const [known = ""] = secrets
  const url = `${baseUrl}business/${business.id}`
  const figures: Record<string, Array<number>> = { bare: [], warm: [], cold: [] }
  for (let round = 0; round < ROUNDS; round++) {
    figures.bare?.push(yield* measure(`${bare}/bare`, [known]))
    figures.warm?.push(yield* measure(url, [known]))
    figures.cold?.push(yield* measure(url, secrets.slice(round * COLD_KEYS, (round + 1) * COLD_KEYS)))
  }
  const base = median(figures.bare ?? [])
  for (const [name, all] of Object.entries(figures)) {
    const shown = all.map(Math.round).join(", ")
    yield* Console.log(`${name.padEnd(9)} ${(median(all) / base).toFixed(2)}   (${shown} requests per second)`)
  }
})

const bareServer = HttpRouter.serve(
  HttpRouter.add(
    "GET",
    "/bare",
    Effect.sync(() =>
      HttpServerResponse.jsonUnsafe({
        success: true,
        code: null,
        message: null,
        data: { id: "4f35246d-4d74-4228-99ef-5ed417c21717", name: "Bench", createdAt: "2026-11-21T10:16:03.880Z" },
      }),
    ),
  ),
  { disableLogger: true, disableListenLog: true },
).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })))

bench.pipe(
  Effect.provide(
    Layer.merge(
      Layer.fresh(bareServer),
      Platform.layer({ database, limits: { requestsPerMinute: 0, startsPerMinute: 0 } }),
    ),
  ),
  Effect.ensuring(Effect.sync(() => rmSync(directory, { recursive: true, force: true }))),
  Effect.scoped,
  NodeRuntime.runMain,
)
