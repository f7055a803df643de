/**
 * What an operator sees and does about calls, budgets and events is the same at each gate of a store: in memory, on Redis, and on a Redis Cluster, where
 * the books of callers and of the campaign are on different servers.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Operator } from "../../src/operator/Operator.ts"
import { onSharedStores, type SharedStore } from "../harness/stores.ts"
import { startDyingGate } from "../support/dying-gates.ts"
import { ask, caller, hangUp, makeWorld, type World } from "../support/gate.ts"

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

const gate = Effect.fnUntraced(function* (world: World, { connect }: SharedStore) {
  const { on, path } = yield* startDyingGate(world, connect, GIVEN)
  return {
    operator: yield* on(Operator),
    path,
    call: (n: number) => on(ask(caller(n))),
    hangUp: (session: string) => on(hangUp(session)),
  }
})

describe("the console of control", () => {
  onSharedStores((makeStore, name) => {
    it.live(
      `${name}: both gates show the same, and carry an order out once, also one whose gate dies with it`,
      () =>
        Effect.gen(function* () {
          const store = yield* makeStore
          const world = makeWorld()
          world.end = () => Effect.succeed(true)
          const [a, b, dying] = [yield* gate(world, store), yield* gate(world, store), yield* gate(world, store)]
          for (let n = 1; n <= CALLS; n++)
            expect(yield* (n % 2 === 0 ? a : b).call(n)).toMatchObject({ _tag: "Started" })
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

          // all calls end, each once, and each is charged, although the gate dies that was to end them
          dying.path.kill(true, (rule) => rule === "operator.act")
          yield* Effect.forkDetach(dying.operator.act(undefined, "op", { type: "end_calls" }))
          yield* Effect.repeat(Effect.sync(dying.path.isDead), { until: (isDead) => isDead, schedule: PAUSE })
          yield* Effect.repeat(a.operator.budgets(undefined, {}), {
            until: (view) => typeof view === "object" && view.budgets[0]?.held === 0,
            schedule: PAUSE,
          }).pipe(Effect.timeout("20 seconds"))
          expect(yield* b.operator.view(undefined, { ...PAGE, firstSlot: 0, slots: 3 }, 0)).toMatchObject({
            queue: { held: 0, slotPage: [] },
          })
          expect(world.endings.toSorted()).toEqual(["web-2", "web-3", "web-4", "web-5"])
          expect(yield* a.operator.act(undefined, "op", { type: "end_calls" })).toMatchObject({
            result: "ending_calls",
          })
        }).pipe(Effect.scoped),
      60_000,
    )
  })
})
