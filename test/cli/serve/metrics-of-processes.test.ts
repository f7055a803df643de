/** How the primary process collects the metrics of its workers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type AskedWorker, makeCollector } from "../../../src/cli/serve/metrics-of-processes.ts"
import { METRICS_MILLIS } from "../../../src/http/documents/metrics.ts"

const textOf = (count: number): string =>
  `# TYPE a_total counter\na_total ${count}\n# TYPE voicegate_waiting gauge\nvoicegate_waiting ${count}\n`

/** A worker that has counted `count`; undefined does not answer. */
interface FakeWorker extends AskedWorker {
  count: number | undefined
  dead: boolean
  asked: number
}

const start = Effect.fnUntraced(function* (counts: ReadonlyArray<number>) {
  const workers: Array<FakeWorker> = []
  const collector = yield* makeCollector(() => workers)
  const add = (count: number): FakeWorker => {
    const worker: FakeWorker = {
      id: workers.length + 1,
      count,
      dead: false,
      asked: 0,
      isConnected: () => !worker.dead,
      isDead: () => worker.dead,
      send: ({ id }) => {
        worker.asked++
        const { count } = worker
        if (count !== undefined) queueMicrotask(() => collector.heard(worker, id, textOf(count)))
      },
    }
    workers.push(worker)
    return worker
  }
  const numberOf = (text: string, name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1])
  const read = Effect.gen(function* () {
    yield* TestClock.adjust(METRICS_MILLIS)
    const fiber = yield* Effect.forkChild(collector.sum)
    yield* Effect.yieldNow
    yield* TestClock.adjust(1_000)
    const text = yield* Fiber.join(fiber)
    return { total: numberOf(text, "a_total"), waiting: numberOf(text, "voicegate_waiting") }
  })
  return { add, collector, read, workers: counts.map(add) }
})

describe("the metrics of several processes", () => {
  it.effect("are collected once for all who ask within a second", () =>
    Effect.gen(function* () {
      const { collector, workers } = yield* start([1, 2])
      yield* Effect.all(
        Array.from({ length: 64 }, () => collector.sum),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        workers.map(({ asked }) => asked),
        [1, 1],
      )
    }),
  )

  it.effect("keep what an ended process has counted, without its gauges", () =>
    Effect.gen(function* () {
      const { add, read, workers } = yield* start([100, 20])
      assert.deepStrictEqual(yield* read, { total: 120, waiting: 100 })
      const [first] = workers
      if (first !== undefined) first.dead = true
      assert.deepStrictEqual(yield* read, { total: 120, waiting: 20 })
      add(3)
      assert.deepStrictEqual(yield* read, { total: 123, waiting: 20 })
    }),
  )

  it.effect("keep the last answer of a process that does not answer in time", () =>
    Effect.gen(function* () {
      const { read, workers } = yield* start([100, 20])
      assert.strictEqual((yield* read).total, 120)
      const [first, second] = workers
      if (first !== undefined) first.count = undefined
      if (second !== undefined) second.count = 21
      assert.strictEqual((yield* read).total, 121)
    }),
  )

  it.effect("are empty without a process", () =>
    Effect.gen(function* () {
      const { collector } = yield* start([])
      assert.strictEqual(yield* collector.sum, "")
    }),
  )
})
