/**
 * `/metrics` of several processes on one port: the process that is scraped asks the primary, which asks all for theirs and answers with
 * their sum. A process that does not answer within a second counts with its last answer.
 */
import cluster, { type Worker } from "node:cluster"
import { Effect, Option, Schema } from "effect"
import { METRICS_MILLIS, type MetricsSource } from "../../http/documents/metrics.ts"
import { cachedFor } from "../../lib/cached-for.ts"
import { sumMetrics } from "../../serving/sum-metrics.ts"

/** How long a process may take to tell its metrics (ms). */
const ANSWER_MILLIS = 1_000

/** What the processes say to each other: a scraped one asks for the sum; the primary asks each; each answers. */
const Message = Schema.Struct({
  voicegate: Schema.Literals(["sum?", "metrics?", "metrics", "sum"]),
  id: Schema.Int,
  text: Schema.optionalKey(Schema.String),
})
const isMessage = Schema.is(Message)
type Message = typeof Message.Type

export type AskedWorker = Pick<Worker, "id" | "isConnected" | "isDead"> & {
  readonly send: (message: Message, sent: () => void) => unknown
}

/** A failed message is not an error of this process: its receiver has ended, which is noticed otherwise. */
const ignoreFailure = (): void => {}

export interface Collector {
  /** The metrics of all workers, collected at most once within `METRICS_MILLIS`, however many ask. */
  readonly sum: Effect.Effect<string>
  readonly heard: (worker: AskedWorker, id: number, text: string) => void
}

/**
 * Collects the metrics in the primary process. What ended workers counted stays in the sum: a sum that falls would be a restart to
 * Prometheus, which then counts everything again.
 */
export const makeCollector = (workers: () => ReadonlyArray<AskedWorker>): Effect.Effect<Collector> =>
  Effect.gen(function* () {
    const open = new Map<number, (worker: number) => void>()
    /** the last answers by worker */
    const answers = new Map<number, string>()
    let ended = ""
    let last = 0
    const collect = Effect.suspend(() => {
      const id = ++last
      const asked = workers().filter((each) => each.isConnected() && !each.isDead())
      const missing = new Set(asked.map((each) => each.id))
      return Effect.callback<void>((resume) => {
        if (asked.length === 0) return resume(Effect.void)
        open.set(id, (worker) => {
          missing.delete(worker)
          if (missing.size === 0) resume(Effect.void)
        })
        for (const each of asked) each.send({ voicegate: "metrics?", id }, ignoreFailure)
      }).pipe(Effect.timeoutOption(ANSWER_MILLIS), Effect.ensuring(Effect.sync(() => open.delete(id))))
    })
    const retire = (): void => {
      const alive = new Set(workers().flatMap((each) => (each.isDead() ? [] : each.id)))
      for (const [id, text] of answers) {
        if (alive.has(id)) continue
        ended = sumMetrics([ended, text], { gauges: false })
        answers.delete(id)
      }
    }
    const sum = yield* cachedFor(
      Effect.map(collect, () => {
        retire()
        return sumMetrics([...answers.values(), ended])
      }),
      METRICS_MILLIS,
    )
    return {
      sum,
      heard: (worker, id, text) => {
        if (worker.isDead()) return
        answers.set(worker.id, text)
        open.get(id)?.(worker.id)
      },
    }
  })

/** To be called in the primary process. */
export const answerMetrics: Effect.Effect<void> = Effect.gen(function* () {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const { heard, sum } = yield* makeCollector(() =>
    Object.values(cluster.workers ?? {}).flatMap((each) => (each === undefined ? [] : each)),
  )
  const answer = (worker: Worker, id: number): Effect.Effect<void> =>
    Effect.map(sum, (text) => {
      if (worker.isConnected()) worker.send({ voicegate: "sum", id, text } satisfies Message, ignoreFailure)
    })
  cluster.on("message", (worker, message: unknown) => {
    if (!isMessage(message)) return
    if (message.voicegate === "sum?") run(answer(worker, message.id))
    if (message.voicegate === "metrics") heard(worker, message.id, message.text ?? "")
  })
})

/** The sum over all processes, in a worker. The metrics of this process alone when the primary does not answer. */
export const sumOfProcesses: MetricsSource = (local) =>
  Effect.sync(() => {
    const waiting = new Map<number, (text: string) => void>()
    let last = 0
    const send = (message: Message): void => void process.send?.(message, undefined, undefined, ignoreFailure)
    process.on("message", (message: unknown) => {
      if (!isMessage(message)) return
      if (message.voicegate === "metrics?") send({ voicegate: "metrics", id: message.id, text: local() })
      if (message.voicegate === "sum") waiting.get(message.id)?.(message.text ?? "")
    })
    return Effect.suspend(() => {
      const id = ++last
      return Effect.callback<string>((resume) => {
        waiting.set(id, (text) => resume(Effect.succeed(text)))
        send({ voicegate: "sum?", id })
      }).pipe(
        Effect.timeoutOption(2 * ANSWER_MILLIS),
        Effect.ensuring(Effect.sync(() => waiting.delete(id))),
        Effect.map(Option.getOrElse(local)),
      )
    })
  })
