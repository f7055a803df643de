/** A Redis that is suspended with requests in flight, and applies them when it resumes. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope } from "effect"
import { keysOf } from "../../src/fifo-queue/keys.ts"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import * as redis from "../../src/store/redis/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { eventually } from "../harness/process.ts"
import { type RedisServer, redisServer } from "../harness/redis.ts"
import { redisCluster } from "../harness/redis-topologies.ts"
import { answering, connectionTo } from "../harness/stores.ts"
import { type GateServices, gateLayer, hangUp, makeWorld, outcomeOf } from "../support/gate.ts"

const SLOTS = 3
const REQUESTS = 60
const STOPPED_MILLIS = 4_000
/** Well before the grace and the deadline of a start, 30 s each, which would end the tickets anyway. `chaos redis-stopped` measures it. */
const MOST_MILLIS = 10_000

const request = (address: string) => Gatekeeper.use((gate) => outcomeOf(gate.request({}, { address })))

/** More than `most` tickets, the first one included, are carried out, once the server goes on. */
const body = (server: RedisServer, most: number): Effect.Effect<void, unknown, GateServices> =>
  Effect.gen(function* () {
    yield* answering(yield* Store)
    // the server knows the scripts
    expect((yield* request("198.22.0.1"))._tag).toBe("Started")
    yield* hangUp("web-1")
    server.kill("SIGSTOP")
    const began = performance.now()
    const outcomes = yield* Effect.forEach(
      Array.from({ length: REQUESTS }, (_, n) => n),
      (n) => request(`198.20.${n}.1`),
      { concurrency: "unbounded" },
    )
    expect(new Set(outcomes.map(({ _tag }) => _tag))).toEqual(new Set(["StoreUnavailable"]))
    yield* Effect.sleep(STOPPED_MILLIS - (performance.now() - began))
    server.kill("SIGCONT")
    const resumedAt = performance.now()
    const [, tickets = "", , waiting = "", , leases = ""] = keysOf("business/campaign")
    const left = async () => [
      Number(await server.command("zcard", leases)),
      Number(await server.command("zcard", waiting)),
    ]
    yield* Effect.promise(() =>
      eventually(
        "the requests are carried out",
        async () => Number(await server.command("hlen", tickets)) > most,
        10_000,
      ),
    )
    yield* Effect.promise(() =>
      eventually("nothing is left", async () => (await left()).every((count) => count === 0), MOST_MILLIS),
    )
    const millis = performance.now() - resumedAt
    const carriedOut = Number(yield* Effect.promise(() => server.command("hlen", tickets))) - 1
    console.log(`${carriedOut} tickets were withdrawn ${Math.round(millis)} ms after the server went on`)
    expect(millis).toBeLessThan(MOST_MILLIS)
    // a cluster takes a moment until all its nodes agree that it is whole
    const later = Effect.repeat(Effect.delay(request("198.21.0.1"), 100), {
      while: ({ _tag }) => _tag === "StoreUnavailable",
    })
    for (let n = 0; n < SLOTS; n++) expect((yield* later)._tag).toBe("Started")
  })

const stopped = (
  name: string,
  most: number,
  open: Effect.Effect<{ readonly url: string; readonly server: RedisServer }, never, Scope.Scope>,
) =>
  it.live(name, () =>
    Effect.flatMap(open, ({ server, url }) =>
      Effect.provide(
        body(server, most),
        gateLayer(
          makeWorld(),
          { VoiceAiPlatform: { MaxConcurrency: SLOTS } },
          { store: Layer.orDie(redis.layer(connectionTo(url))) },
        ),
      ),
    ).pipe(Effect.provide(Logger.layer([]))),
  )

describe("requests that were answered 503 because the store was stopped leave nothing behind", () => {
  stopped(
    "on one Redis",
    REQUESTS,
    Effect.map(redisServer(), (server) => ({ server, url: server.url })),
  )
  stopped(
    "on a Cluster whose node of the campaign was stopped",
    // of the callers whose units are kept by that node nothing is carried out
    REQUESTS / 3,
    Effect.gen(function* () {
      const cluster = yield* redisCluster()
      const server = yield* Effect.promise(() => cluster.masterOf(keysOf("business/campaign")[0] ?? ""))
      return { server, url: cluster.url }
    }),
  )
})
