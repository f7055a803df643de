/**
 * Callers who wait for a budget (`OnLimit: wait`) of the campaign, the account or their own, at two gates of a store: in memory, on Redis, and on a Redis
 * Cluster, where the books of callers and of the campaign are on different servers. One of the gates stops meanwhile.
 */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schedule, Scope } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { Store } from "../../src/store/Store.ts"
import { redisServer } from "../harness/redis.ts"
import { redisCluster } from "../harness/redis-topologies.ts"
import { memoryStore, redisStore } from "../harness/stores.ts"
import { caller, gateLayer, makeWorld, outcomeOf, ticketIn, type World } from "../support/gate.ts"

/** Connects a gate to the store; in memory all have the same. */
type Connect = () => Layer.Layer<Store>

const STORES: ReadonlyArray<readonly [name: string, make: Effect.Effect<Connect, never, Scope.Scope>]> = [
  ["in memory", Effect.map(Layer.build(memoryStore), (built) => () => Layer.succeed(Store, Context.get(built, Store)))],
  ["on Redis", Effect.map(redisServer(), (server) => () => redisStore(() => server.url))],
  ["on a Cluster", Effect.map(redisCluster(), (cluster) => () => redisStore(() => cluster.url))],
]
const SPENDERS = ["campaign", "account", "caller"] as const

/** A zone in which it is about noon, so that no day begins during the test. */
const noonZone = (): string => {
  const hours = 12 - new Date().getUTCHours()
  return `${hours < 0 ? "-" : "+"}${String(Math.abs(hours)).padStart(2, "0")}:00`
}

const givenOf = (Of: (typeof SPENDERS)[number]) => ({
  VoiceAiPlatform: {
    MaxConcurrency: 3,
    Account: { Name: "account", MaxConcurrency: 3 },
    Budget: { WaitMinutes: 1440, Zone: noonZone() },
    Budgets: [{ Name: "budget", Of, Unit: "minutes", Per: "day", Cap: 1, OnLimit: "wait" }],
  },
})

/** A gate, which stops when the scope closes. */
const gate = Effect.fnUntraced(function* (world: World, connect: Connect, of: (typeof SPENDERS)[number]) {
  const scope = yield* Scope.make()
  const built = yield* Layer.buildWithScope(Layer.fresh(gateLayer(world, givenOf(of), { store: connect() })), scope)
  const gatekeeper = Context.get(built, Gatekeeper)
  return {
    operator: Context.get(built, Operator),
    call: (n: number) => outcomeOf(gatekeeper.request({}, { address: caller(n) })),
    start: (ticket: string) => outcomeOf(gatekeeper.start(ticket)),
    hangUp: (session: string) => gatekeeper.sessionEnded([session]),
    stateOf: (ticket: string) => Effect.map(gatekeeper.status(ticket), ({ state }) => state),
    status: gatekeeper.status,
    stop: Scope.close(scope, Exit.void),
  }
})

describe("waiting for a budget", () => {
  for (const of of SPENDERS) {
    it.live.each(STORES)(
      `of the ${of}, %s`,
      ([, make]) =>
        Effect.gen(function* () {
          const connect = yield* make
          const world = makeWorld()
          const [a, b] = [yield* gate(world, connect, of), yield* gate(world, connect, of)]
          /** Asks as a page does that polls, until it is this caller's turn. */
          const isCalled = (at: typeof a, ticket: string) =>
            Effect.repeat(at.stateOf(ticket), {
              until: (state) => state === "called",
              schedule: Schedule.spaced("100 millis"),
            }).pipe(Effect.timeout("15 seconds"))

          // it holds the only minute
          expect(yield* a.call(1)).toMatchObject({ _tag: "Started" })
          const second = yield* b.call(1)
          expect(second).toMatchObject({ _tag: "Queued", queuePosition: 1, paused: true })
          const ticket = ticketIn(second)
          for (const each of [a, b]) {
            const found = yield* each.status(ticket)
            expect(found).toMatchObject({ state: "waiting", queuePosition: 1, paused: true })
            expect(found).toHaveProperty("resumesAt")
          }
          // others wait for a shared budget, and start beside one who waits for his own
          const other = yield* a.call(2)
          expect(other).toMatchObject(
            of === "caller" ? { _tag: "Started" } : { _tag: "Queued", queuePosition: 2, paused: true },
          )

          // an operator adds a minute at one gate, and the caller starts at the other one
          const order = { budget: "budget", by: 1, id: "top-up", reason: "more" }
          const whose = of === "caller" ? { caller: caller(1) } : {}
          expect(yield* b.operator.adjustBudget(undefined, "op", { ...order, ...whose })).toMatchObject({ made: true })
          yield* isCalled(a, ticket)
          expect(yield* a.start(ticket)).toMatchObject({ _tag: "Started" })

          // the gate stops at which the next one came; his turn comes at the other one, when a call gives back what it held
          const third = yield* a.call(1)
          expect(third).toMatchObject({ _tag: "Queued", paused: true })
          yield* a.stop
          expect(yield* b.hangUp("web-1")).toBe(true)
          const next = of === "caller" ? ticketIn(third) : ticketIn(other)
          yield* isCalled(b, next)
          expect(yield* b.start(next)).toMatchObject({ _tag: "Started" })
          yield* b.stop
        }).pipe(Effect.scoped),
      60_000,
    )
  }
})
