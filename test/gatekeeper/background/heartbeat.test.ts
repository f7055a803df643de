/** The heartbeats of the campaigns of one gate: none holds up another one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { ask, BEGIN, caller, enqueue, eventsOf, gateLayer, makeWorld } from "../../support/gate.ts"

const CAMPAIGNS = {
  one: { WebCampaignId: "one", MaxConcurrency: 1 },
  two: { WebCampaignId: "two", MaxConcurrency: 1 },
}
/** an interval, and how long one campaign waits for the other */
const AFTER_A_TICK = "3300 millis"

describe("a campaign is told where its callers stand while the heartbeat of another one", () => {
  const given = Latch.makeUnsafe(false)
  for (const [what, answer] of [
    ["is not answered", given.await],
    ["fails as nobody expects", Effect.die("an answer that cannot be read")],
  ] as const) {
    it.effect(what, () =>
      Effect.gen(function* () {
        let hindered = false
        const hindering = Layer.effect(
          Store,
          Effect.map(Store, (store) => ({
            ...store,
            run: (rule, asked) =>
              hindered && rule.name === "queue.heartbeat" && asked.keys[0]?.includes("one") === true
                ? Effect.andThen(answer, store.run(rule, asked))
                : store.run(rule, asked),
          })),
        ).pipe(Layer.provide(memory.layer))
        const world = makeWorld()
        yield* TestClock.setTime(BEGIN)
        yield* Effect.gen(function* () {
          for (const [n, campaignId] of ["one", "two"].entries()) yield* ask(caller(n), { campaignId })
          const other = yield* enqueue(caller(3), { campaignId: "one" })
          const first = yield* enqueue(caller(4), { campaignId: "two" })
          const second = yield* enqueue(caller(5), { campaignId: "two" })
          for (const ticket of [other, first, second]) world.connected.add(ticket)
          yield* TestClock.adjust(AFTER_A_TICK)
          hindered = true
          yield* TestClock.adjust("10 seconds")
          assert.deepInclude(eventsOf(world, second).at(-1), { type: "position", position: 2 })
          yield* Gatekeeper.use((gate) => gate.leave(first))
          yield* TestClock.adjust(AFTER_A_TICK)
          assert.deepInclude(eventsOf(world, second).at(-1), { type: "position", position: 1 })
          given.openUnsafe()
        }).pipe(Effect.provide(gateLayer(world, { VoiceAiPlatform: { Campaigns: CAMPAIGNS } }, { store: hindering })))
      }),
    )
  }
})

describe("many campaigns", () => {
  it.effect("have their sweeps and their heartbeats one group after the other", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 80 }, (_, n) => `c${n}`)
      /** by the rule, the times at which its steps were taken */
      const taken = { "queue.sweep": [] as number[], "queue.heartbeat": [] as number[] }
      const noting = Layer.effect(
        Store,
        Effect.map(Store, (store) => ({
          ...store,
          run: (rule, asked) => {
            if (rule.name === "queue.sweep" || rule.name === "queue.heartbeat") taken[rule.name].push(asked.now)
            return store.run(rule, asked)
          },
        })),
      ).pipe(Layer.provide(memory.layer))
      const mostAtOnce = (times: ReadonlyArray<number>) =>
        Math.max(...[...Map.groupBy(times, (time) => time).values()].map(({ length }) => length))
      const world = makeWorld()
      yield* TestClock.setTime(BEGIN)
      yield* Effect.gen(function* () {
        for (const [n, campaignId] of names.entries()) {
          yield* ask(caller(2 * n), { campaignId })
          world.connected.add(yield* enqueue(caller(2 * n + 1), { campaignId }))
        }
        yield* TestClock.adjust("3 seconds")
        for (const times of Object.values(taken)) times.length = 0
        yield* TestClock.adjust("10 seconds")
        assert.isAtMost(mostAtOnce(taken["queue.sweep"]), 8)
        assert.isAtMost(mostAtOnce(taken["queue.heartbeat"]), 16)
        assert.isAtLeast(taken["queue.sweep"].length, 9 * names.length)
        assert.isAtLeast(taken["queue.heartbeat"].length, 4 * names.length)
      }).pipe(
        Effect.provide(
          gateLayer(
            world,
            {
              VoiceAiPlatform: {
                Campaigns: Object.fromEntries(names.map((name) => [name, { WebCampaignId: name, MaxConcurrency: 1 }])),
              },
            },
            { store: noting },
          ),
        ),
      )
    }),
  )
})
