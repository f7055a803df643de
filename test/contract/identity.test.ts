/** Two gates on one store know a caller by a signed token alike: in memory, on Redis, and on a Redis Cluster. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Store } from "../../src/store/Store.ts"
import { startRedis } from "../harness/redis.ts"
import { redisCluster } from "../harness/redis-topologies.ts"
import { memoryStore, redisStore } from "../harness/stores.ts"
import { caller, type Given, gateLayer, makeWorld, outcomeOf, ticketIn, type World } from "../support/gate.ts"
import { claimsOf, SECRET, token } from "../support/tokens.ts"

/** A store for each gate: the same in memory, a connection of its own on Redis. */
const STORES: ReadonlyArray<
  readonly [name: string, make: Effect.Effect<() => Layer.Layer<Store>, never, Scope.Scope>]
> = [
  ["in memory", Effect.map(Layer.build(memoryStore), (built) => () => Layer.succeed(Store, Context.get(built, Store)))],
  [
    "on Redis",
    Effect.map(
      Effect.acquireRelease(
        Effect.promise(() => startRedis()),
        (server) => Effect.promise(() => server.dispose()),
      ),
      ({ url }) =>
        () =>
          redisStore(() => url),
    ),
  ],
  [
    "on a Cluster",
    Effect.map(
      redisCluster(),
      ({ url }) =>
        () =>
          redisStore(() => url),
    ),
  ],
]

const tokenOf = (sub: string, more: Readonly<Record<string, unknown>> = {}): string =>
  token(claimsOf(sub, more, Math.floor(Date.now() / 1000) * 1000))

interface Gate {
  readonly world: World
  readonly ask: (identity: string, n?: number) => ReturnType<typeof outcomeOf>
  readonly leave: (ticket: string) => Effect.Effect<void, unknown>
}

const gates = Effect.fnUntraced(function* (storeOf: () => Layer.Layer<Store>, given: Given) {
  const gate = Effect.gen(function* () {
    const world = makeWorld()
    const built = yield* Layer.build(Layer.fresh(gateLayer(world, given, { store: storeOf() })))
    const gatekeeper = Context.get(built, Gatekeeper)
    return {
      world,
      ask: (identity: string, n = 1) => outcomeOf(gatekeeper.request({ identity }, { address: caller(n) })),
      leave: gatekeeper.leave,
    } satisfies Gate
  })
  return [yield* gate, yield* gate] as const
})

const tags = (outcomes: ReadonlyArray<{ readonly _tag: string }>) => outcomes.map(({ _tag }) => _tag)

for (const [name, make] of STORES) {
  describe(`two gates ${name}`, () => {
    it.live("hold a subject's limit over all its addresses, and two subjects at one address do not share one", () =>
      Effect.gen(function* () {
        const Identity = { Secrets: [SECRET] }
        const [one, other] = yield* gates(yield* make, { Identity, Security: { RateLimitHourly: 3 } })
        const asked = yield* Effect.all(
          Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? one : other).ask(tokenOf("ada"), n)),
          { concurrency: "unbounded" },
        )
        assert.lengthOf(
          asked.filter(({ _tag }) => _tag !== "RateLimited"),
          3,
          String(tags(asked)),
        )
        for (const gate of [one, other]) assert.strictEqual((yield* gate.ask(tokenOf("bob"), 1))._tag, "Queued")
        const five = tokenOf("ada", { voicegate: { limits: { hour: 5 } } })
        for (const gate of [one, other]) assert.strictEqual((yield* gate.ask(five, 1))._tag, "Queued")
        for (const gate of [one, other]) assert.strictEqual((yield* gate.ask(five, 1))._tag, "RateLimited")
      }).pipe(Effect.scoped),
    )

    it.live("use a token once: whoever asks with it meanwhile gets its ticket, and later nobody", () =>
      Effect.gen(function* () {
        const Identity = { Secrets: [SECRET], SingleUse: true }
        const [one, other] = yield* gates(yield* make, { Identity })
        yield* one.ask(tokenOf("first", { jti: "0" }))
        // a time may have a fraction, and Redis takes no lifetime with one
        const given = tokenOf("ada", { jti: "1", exp: Math.floor(Date.now() / 1000) + 300.5 })
        const asked = yield* Effect.all(
          Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? one : other).ask(given, n)),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual([...new Set(tags(asked))], ["Queued"])
        const [ticket = "", ...more] = [...new Set(asked.map(ticketIn))]
        assert.deepStrictEqual(more, [])
        yield* other.leave(ticket)
        yield* Effect.sleep("3 seconds")
        for (const gate of [one, other]) {
          const replayed = yield* gate.ask(given)
          assert.strictEqual("reason" in replayed ? replayed.reason : replayed._tag, "replayed")
        }
      }).pipe(Effect.scoped),
    )
  })
}
