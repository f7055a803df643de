/** The settlements of a step are carried out independently for each caller. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Budgets from "../../src/budgets/layer.ts"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import * as Campaigns from "../../src/gatekeeper/Campaigns.ts"
import * as NotGivenBack from "../../src/gatekeeper/calls/NotGivenBack.ts"
import * as FollowUps from "../../src/gatekeeper/FollowUps.ts"
import * as Steps from "../../src/gatekeeper/Steps.ts"
import { Successor } from "../../src/gatekeeper/Successor.ts"
import * as TicketLog from "../../src/gatekeeper/TicketLog.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import type { Settlement } from "../../src/protocol/settlements.ts"
import { RateLimiter } from "../../src/rate-limiter/RateLimiter.ts"
import { BEGIN, gateLayer, makeWorld } from "../support/gate.ts"

const settlement = (n: number): Settlement => ({ kind: "release", ticket: `t${n}`, caller: `c${n}` })

const needs = Layer.mergeAll(
  Campaigns.layer,
  FollowUps.layer,
  NotGivenBack.layer,
  TicketLog.layer,
  Budgets.layer,
  Layer.succeed(Successor, { set: () => {}, serves: () => false, slots: () => 1, account: () => undefined }),
)

describe("settlements", () => {
  it.effect("settlements that fail do not stop others", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const released: Array<string> = []
      const settled: Array<string> = []
      yield* Effect.gen(function* () {
        const limiter = yield* RateLimiter
        const queue = yield* FifoQueue
        yield* Effect.flatMap(Steps.Steps, ({ settle }) =>
          settle({ campaign: "", slots: 1, instance: "" }, [1, 2, 3].map(settlement)),
        ).pipe(
          Effect.provide(Layer.fresh(Steps.layer).pipe(Layer.provide(Layer.fresh(needs)))),
          Effect.provideService(
            RateLimiter,
            RateLimiter.of({
              ...limiter,
              release: (caller) =>
                Effect.suspend(() => {
                  if (caller === "c1") return Effect.fail(new StoreUnavailable({ message: "this node is away" }))
                  released.push(caller)
                  return Effect.void
                }),
            }),
          ),
          Effect.provideService(
            FifoQueue,
            FifoQueue.of({
              ...queue,
              acknowledge: (_at, done) => Effect.sync(() => void settled.push(...done.map(({ ticket }) => ticket))),
            }),
          ),
        )
      }).pipe(Effect.provide(gateLayer(makeWorld(), {})))
      assert.deepStrictEqual(
        [released, settled],
        [
          ["c2", "c3"],
          ["t2", "t3"],
        ],
      )
    }),
  )
})
