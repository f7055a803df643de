/** A reload while programs read and adjust budgets over HTTP, and what becomes of the budgets' books. */
import { once } from "node:events"
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import { Listeners } from "../../src/http/Listeners.ts"
import * as ListenersLayer from "../../src/http/server/listeners.ts"
import { call, post } from "../support/gate-server.ts"
import { load, reload, request, withGate } from "./support.ts"

const TOKEN = "a-token-of-the-budgets"
const headers = { authorization: `Bearer ${TOKEN}` }
const BUDGETS = {
  Budget: { Token: TOKEN },
  Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 1 }],
}
const settings = (hourly: number) => load(BUDGETS, 3, { RateLimitHourly: hourly })

/** Serves the gate of the test, and answers with the address of its budget. */
const served = Effect.gen(function* () {
  const listeners = Context.get(yield* Layer.build(ListenersLayer.layer()), Listeners)
  const server = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const own = createServer(listeners.request).listen(0, "127.0.0.1")
      await once(own, "listening")
      return own
    }),
    (own) =>
      Effect.sync(() => {
        own.close()
        own.closeAllConnections()
      }),
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return `http://127.0.0.1:${port}/api/budgets/team`
})

describe("the budgets over HTTP after a reload", () => {
  it.effect("are those from which calls hold, in whatever generation", () =>
    withGate(settings(100), ({ next }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const budget = yield* served
          yield* request(1)
          assert.deepInclude((yield* call(budget, { headers })).body, { held: 1, left: 0, adjusted: 0 })
          yield* next(settings(200))
          assert.deepInclude(yield* reload, { changed: ["Security.RateLimitHourly"] })
          assert.deepInclude((yield* call(budget, { headers })).body, { held: 1, left: 0, adjusted: 0 })
          const topUp = { by: 2, id: "top-up-1", reason: "a busy day" }
          assert.deepInclude((yield* post(budget, topUp, headers)).body, { held: 1, left: 2, adjusted: 2 })
          yield* request(2)
          assert.deepInclude((yield* call(budget, { headers })).body, { held: 2, left: 1, adjusted: 2 })
        }),
      ),
    ),
  )
})

describe("the metrics of budgets after a reload", () => {
  const refuses = Effect.map(Metric.snapshot, (all) =>
    all.flatMap((each) =>
      each.id === "voicegate_budget_refusing" && each.type === "Gauge" && Object(each.attributes).budget === "spent"
        ? [each.state.value]
        : [],
    ),
  )
  it.effect("say of a budget that the settings have no more that it refuses nobody", () => {
    const [team] = BUDGETS.Budgets
    return withGate(load({ Budgets: [{ ...team, Name: "spent", Cap: 0.1 }] }), ({ next }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refuses, [1])
        yield* next(load(BUDGETS))
        yield* reload
        assert.deepStrictEqual(yield* refuses, [0])
        yield* next(load())
        yield* reload
        assert.deepStrictEqual(yield* refuses, [0])
      }),
    ).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  })
})
