/** Gates on one store, with and without a campaign. */
import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import type { Store } from "../../../src/store/Store.ts"
import { BEGIN, begin, caller, enqueue, type Given, makeWorld, type World } from "../../support/gate.ts"
import { makeStore, type RunningGate, startGate } from "../../support/gates.ts"

export const SALES = { campaignId: "sales" }
/** Settings with the campaign `sales`, of one slot, beside the default one. */
export const withSales: Given = {
  VoiceAiPlatform: { Campaigns: { sales: { WebCampaignId: "sales-1", MaxConcurrency: 1 } } },
  Queue: { StartWindowSeconds: 120, DisconnectGraceSeconds: 300 },
}
export const without: Given = { Queue: { StartWindowSeconds: 120, DisconnectGraceSeconds: 300 } }

interface Bench {
  readonly world: World
  readonly store: Store["Service"]
  /** Starts a gate with the campaign, or without it. */
  readonly start: (given: Given) => Effect.Effect<RunningGate, never, Scope.Scope>
}

export const test = (name: string, body: (bench: Bench) => Effect.Effect<void, unknown, Scope.Scope>): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const world = makeWorld()
      const store = yield* makeStore
      yield* body({ world, store, start: (given) => startGate(world, store, given) })
    }).pipe(Effect.scoped),
  )
}

/** One call runs in the campaign and two callers wait; then only a gate runs that has never served it. */
export const removedUnder = ({ start }: Bench, waiting = 2, given = withSales) =>
  Effect.gen(function* () {
    const old = yield* start(given)
    const call = yield* old.on(begin(caller(1), SALES))
    const line: Array<string> = []
    for (let n = 0; n < waiting; n++) line.push(yield* old.on(enqueue(caller(2 + n), SALES)))
    yield* old.stop
    return { call, line, gate: yield* start(without) }
  })

/** A store that can lose heartbeats: on a Cluster the node that keeps them may be down while others serve. */
export const loseHeartbeats = (store: Store["Service"]) => {
  let lost = false
  return {
    setLost: (now: boolean) => {
      lost = now
    },
    store: {
      ...store,
      run: (rule, asked) =>
        lost && rule.name.startsWith("gates.")
          ? Effect.fail(new StoreUnavailable({ message: "this node is away" }))
          : store.run(rule, asked),
    } satisfies Store["Service"],
  }
}

export const status = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
