/**
 * What an operator sees and does about calls, budgets and events is the same at each gate of a store: in memory, on Redis, and on a Redis Cluster, where
 * the books of callers and of the campaign are on different servers.
 */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Schedule, type Scope } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { Store } from "../../src/store/Store.ts"
import { redisServer } from "../harness/redis.ts"
import { redisCluster } from "../harness/redis-topologies.ts"
import { memoryStore, redisStore } from "../harness/stores.ts"
import { caller, gateLayer, makeWorld, outcomeOf, type World } from "../support/gate.ts"

/** Connects a gate to the store; in memory all have the same. */
type Connect = () => Layer.Layer<Store>

const STORES: ReadonlyArray<readonly [name: string, make: Effect.Effect<Connect, never, Scope.Scope>]> = [
  ["in memory", Effect.map(Layer.build(memoryStore), (built) => () => Layer.succeed(Store, Context.get(built, Store)))],
  ["on Redis", Effect.map(redisServer(), (server) => () => redisStore(() => server.url))],
  ["on a Cluster", Effect.map(redisCluster(), (cluster) => () => redisStore(() => cluster.url))],
]

const GIVEN = {
  VoiceAiPlatform: {
    MaxConcurrency: 10,
    MaxCallSeconds: 600,
    Budgets: [
      { Name: "team", Of: "campaign", Unit: "minutes", Per: "month", Cap: 100 },
      { Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: 10 },
    ],
    Events: { Token: ["a-token-of-16-characters"] },
  },
}
const CALLS = 5
const PAGE = { firstPlace: 0, places: 10 }
const PAUSE = Schedule.spaced("100 millis")

const gate = (world: World, connect: Connect) =>
  Effect.gen(function* () {
    const built = yield* Layer.build(Layer.fresh(gateLayer(world, GIVEN, { store: connect() })))
    const gatekeeper = Context.get(built, Gatekeeper)
    return {
      operator: Context.get(built, Operator),
      call: (n: number) => outcomeOf(gatekeeper.request({}, { address: caller(n) })),
      hangUp: (session: string) => gatekeeper.sessionEnded([session]),
    }
  })

describe("the console of control", () => {
  it.live.each(STORES)(
    "%s: both gates show the same, and carry an order out once",
    ([, make]) =>
      Effect.gen(function* () {
        const connect = yield* make
        const world = makeWorld()
        world.end = () => Effect.succeed(true)
        const [a, b] = [yield* gate(world, connect), yield* gate(world, connect)]
        for (let n = 1; n <= CALLS; n++) expect(yield* (n % 2 === 0 ? a : b).call(n)).toMatchObject({ _tag: "Started" })
        expect(yield* a.hangUp("web-1")).toBe(true)

        // lengths: the slots in pages, by deadline
        for (const { operator } of [a, b]) {
          const [first, second] = [
            yield* operator.view(undefined, { ...PAGE, firstSlot: 0, slots: 3 }, 0),
            yield* operator.view(undefined, { ...PAGE, firstSlot: 3, slots: 3 }, 0),
          ]
          expect([first?.queue?.slotPage.length, second?.queue?.slotPage.length]).toEqual([3, 1])
          expect(first?.queue).toMatchObject({ held: CALLS - 1, live: CALLS - 1, waiting: 0 })
        }

        // budgets: of the campaign and of a caller
        const calls = CALLS - 1
        for (const { operator } of [a, b]) {
          expect(yield* operator.budgets(undefined, {})).toMatchObject({
            budgets: [{ budget: "team", cap: 100, held: calls, adjusted: 0, overrun: 0 }],
          })
          expect(yield* operator.budgets(undefined, { caller: caller(2) })).toMatchObject({
            budgets: [{ budget: "team" }, { budget: "own", cap: 10, held: 1, left: 9 }],
          })
          expect(yield* operator.budgets(undefined, { caller: caller(1) })).toMatchObject({
            budgets: [{ budget: "team" }, { budget: "own", held: 0 }],
          })
        }
        const order = { budget: "team", by: 5, id: "top-up-1", reason: "more" }
        const ofCaller = { budget: "own", by: -2, id: "take-away-1", reason: "less", caller: caller(3) }
        expect(yield* a.operator.adjustBudget(undefined, "op", order)).toMatchObject({ result: "done", made: true })
        expect(yield* b.operator.adjustBudget(undefined, "op", order)).toMatchObject({
          made: false,
          balance: { adjusted: 5 },
        })
        expect(yield* b.operator.adjustBudget(undefined, "op", ofCaller)).toMatchObject({
          ...{ result: "done", made: true },
          balance: { budget: "own", adjusted: -2, held: 1, left: 7 },
        })
        expect(yield* a.operator.budgets(undefined, { caller: caller(3) })).toMatchObject({
          budgets: [{ adjusted: 5 }, { adjusted: -2 }],
        })

        // events: pages of deliveries, newest first
        const written = 2 * CALLS + 1
        const seqs: Array<number> = []
        for (let before = 0, more = true; more; before = seqs.at(-1) ?? 0) {
          const page = yield* (seqs.length % 2 === 0 ? a : b).operator.deliveries(undefined, "all", before, 4)
          seqs.push(...(page?.rows.map(({ event }) => event.seq) ?? []))
          expect(page).toMatchObject({ stored: written, reports: true, sends: false, failed: 0 })
          more = page?.more === true
        }
        expect(seqs).toEqual(Array.from({ length: written }, (_, n) => written - n))
        expect(yield* b.operator.redeliver(undefined, "op", { type: "one", seq: 999 })).toMatchObject({
          result: "gone",
        })

        // all calls end, and each is charged
        expect(yield* b.operator.act(undefined, "op", { type: "end_calls" })).toMatchObject({ result: "ending_calls" })
        yield* Effect.repeat(a.operator.budgets(undefined, {}), {
          until: (view) => typeof view === "object" && view.budgets[0]?.held === 0,
          schedule: PAUSE,
        }).pipe(Effect.timeout("20 seconds"))
        expect(yield* b.operator.view(undefined, { ...PAGE, firstSlot: 0, slots: 3 }, 0)).toMatchObject({
          queue: { held: 0, slotPage: [] },
        })
      }).pipe(Effect.scoped),
    60_000,
  )
})
