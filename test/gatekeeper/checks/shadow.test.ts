/** Shadow mode: limits and blocks of `Security.Shadow` are counted by campaign, logged once and then as a count, and refuse nobody. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import { IpIntelFailed, noFacts } from "../../../src/ip-intel/facts.ts"
import { makeCounts } from "../../../src/operator/counts.ts"
import { load, PROVIDER, reload, withGate } from "../../reload/support.ts"
import { ask, CALLER, caller, gateTest } from "../../support/gate.ts"

const counted = (counter: Metric.Counter<number>) => Effect.map(Metric.value(counter), ({ count }) => count)

/** How much a counter grows while an effect runs. */
const growthOf = <A, E, R>(counter: Metric.Counter<number>, part: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* counted(counter)
    yield* part
    return (yield* counted(counter)) - before
  })

/** The lines about shadow mode that an effect logs. */
const linesOf = Effect.fnUntraced(function* <A, E, R>(part: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => {
    if (/Shadow/.test(String(message))) lines.push(String(message))
  })
  yield* Effect.provide(part, Logger.layer([logger]))
  return lines
})

const NONE = { RateLimitHourly: 0, RateLimitDaily: 0, RateLimitConcurrency: 0 }
const passes = (outcome: { readonly _tag: string }) => expect(["Started", "Queued"]).toContain(outcome._tag)

describe("shadow mode", () => {
  gateTest(
    "counts what a limit would refuse, and logs it once and then once a minute as a count",
    { Security: { ...NONE, Shadow: { RateLimitHourly: 2 } } },
    () =>
      Effect.gen(function* () {
        const counts = yield* makeCounts
        const lines = yield* linesOf(
          Effect.gen(function* () {
            const grown = yield* growthOf(
              metrics.shadowRefused("default", "hour"),
              Effect.gen(function* () {
                for (let n = 0; n < 12; n++) passes(yield* ask(CALLER))
                passes(yield* ask(caller(1)))
              }),
            )
            assert.strictEqual(grown, 10)
            yield* TestClock.adjust("1 minute")
            yield* TestClock.adjust("3 minutes")
            passes(yield* ask(CALLER))
          }),
        )
        expect(lines).toEqual([
          "Security.Shadow.RateLimitHourly would have refused a request in campaign default. Further ones are counted, and the count is logged once a minute.",
          "Security.Shadow.RateLimitHourly would have refused 9 more requests in the last minute",
          "Security.Shadow.RateLimitHourly would have refused a request in campaign default. Further ones are counted, and the count is logged once a minute.",
        ])
        // the console gets them apart from the refusals
        expect(yield* counts.pending).toMatchObject({ "shadow.hour default": 11 })
        expect(Object.keys(yield* counts.pending).filter((name) => name.startsWith("refused."))).toEqual([])
      }),
  )

  gateTest(
    "counts addresses that a block would refuse, and blocks those that are in force",
    { Security: { ...NONE, BlockVpn: false, BlockProxy: true, Shadow: { BlockVpn: true, BlockDatacenter: true } } },
    (world) =>
      Effect.gen(function* () {
        const grown = (reason: metrics.ShadowReason) =>
          growthOf(
            metrics.shadowRefused("default", reason),
            Effect.flatMap(ask(), (outcome) => Effect.sync(() => passes(outcome))),
          )
        world.lookup = () => Effect.succeed({ ...noFacts, vpn: true })
        assert.strictEqual(yield* grown("vpn"), 1)
        world.lookup = () => Effect.succeed({ ...noFacts, datacenter: true })
        assert.strictEqual(yield* grown("datacenter"), 1)
        world.lookup = () => Effect.succeed(noFacts)
        assert.strictEqual(yield* grown("vpn"), 0)
        world.lookup = () => Effect.succeed({ ...noFacts, vpn: true, proxy: true })
        const blocked = growthOf(
          metrics.shadowRefused("default", "vpn"),
          Effect.map(ask(), (outcome) => expect(outcome).toMatchObject({ _tag: "Blocked", reason: "proxy" })),
        )
        assert.strictEqual(yield* blocked, 0)
      }),
  )

  gateTest(
    "lets callers through whom nobody could check, when blocks are only counted",
    {
      IpIntel: { OnError: "block" },
      Security: { ...NONE, BlockVpn: false, BlockProxy: false, BlockTor: false, Shadow: { BlockVpn: true } },
    },
    (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.fail(new IpIntelFailed({ provider: "script", reason: "timeout", message: "late" }))
        passes(yield* ask())
        world.lookup = () => Effect.succeed({ ...noFacts, vpn: null })
        passes(yield* ask())
        assert.strictEqual(world.lookedUp.length, 2)
      }),
  )

  gateTest(
    "gives units back, so that a place that is given up does not count",
    { Security: { ...NONE, Shadow: { RateLimitConcurrency: 1 } } },
    () =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        passes(yield* ask(caller(1)))
        const waiting = yield* ask()
        assert(waiting._tag === "Queued")
        assert.strictEqual(yield* growthOf(metrics.shadowRefused("default", "concurrent"), ask()), 1)
        yield* gate.leave(waiting.uniqueRequestId)
        assert.strictEqual(yield* growthOf(metrics.shadowRefused("default", "concurrent"), ask()), 0)
      }),
  )

  gateTest(
    "counts nothing of a request that was refused otherwise",
    { Queue: { MaxLength: 0 }, Security: { ...NONE, Shadow: { RateLimitHourly: 1 } } },
    () =>
      Effect.gen(function* () {
        passes(yield* ask())
        const full = Effect.map(ask(), (outcome) => assert.strictEqual(outcome._tag, "QueueFull"))
        assert.strictEqual(yield* growthOf(metrics.shadowRefused("default", "hour"), full), 0)
      }),
  )

  gateTest("counts callers near a limit in force", { Security: { ...NONE, RateLimitDaily: 5 } }, () =>
    Effect.gen(function* () {
      const counter = metrics.nearLimit("default", "day")
      const three = Effect.forEach([1, 2, 3], () => ask())
      assert.strictEqual(yield* growthOf(counter, three), 0)
      assert.strictEqual(yield* growthOf(counter, ask()), 1)
      assert.strictEqual(yield* growthOf(counter, ask()), 1)
      expect(yield* ask()).toMatchObject({ _tag: "RateLimited" })
    }),
  )

  it.effect("begins and ends with a reload", () =>
    withGate(load({}, 10, { BlockVpn: false }, { BaseUrl: PROVIDER }), ({ next }) =>
      Effect.gen(function* () {
        const counter = metrics.shadowRefused("default", "vpn")
        // a documentation address would not be looked up
        const here = () =>
          growthOf(
            counter,
            Gatekeeper.use((gate) => gate.request({}, { address: "8.8.8.8" })),
          )
        assert.strictEqual(yield* here(), 0)
        yield* next(load({}, 10, { BlockVpn: false, Shadow: { BlockVpn: true } }, { BaseUrl: PROVIDER }))
        expect(yield* reload).toMatchObject({ changed: ["Security.Shadow.BlockVpn"], kept: [] })
        assert.strictEqual(yield* here(), 1)
        yield* next(load({}, 10, { BlockVpn: false }, { BaseUrl: PROVIDER }))
        yield* reload
        assert.strictEqual(yield* here(), 0)
      }),
    ),
  )
})
