/**
 * Serves with several processes on one port (node:cluster), to use several cores. Each is an ordinary instance; they share state
 * through the store only. A process that dies is replaced; all stop together.
 */
import cluster from "node:cluster"
import { Data, Effect, Redacted, Result } from "effect"
import type { SettingsTree } from "../../settings/Settings.ts"
import { parseConnectionString } from "../../store/connection-string.ts"
import { answerMetrics } from "./metrics-of-processes.ts"
import { passRequestsOn } from "./reload-requests.ts"
import { onFurtherStop } from "./stop-signals.ts"

/** The processes cannot be started, or one ended before it served. */
class ProcessesFailed extends Data.TaggedError("ProcessesFailed")<{ readonly message: string }> {}

export const isWorker = (): boolean => cluster.isWorker

/** Serves as a worker and disconnects from the primary at the end, because the channel would keep this process alive. */
export const asWorker = <A, E>(serving: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.ensuring(
    serving,
    Effect.sync(() => cluster.worker?.disconnect()),
  )

interface WorkerExit {
  readonly description: string
  /** whether it had started to listen */
  readonly served: boolean
}

/**
 * Starts a worker and waits until it exits; interruption sends SIGTERM and waits for the exit. `serveWithProcesses` passes further signals
 * to stop on.
 */
const runWorker: Effect.Effect<WorkerExit> = Effect.callback((resume) => {
  const worker = cluster.fork()
  let served = false
  worker.once("listening", () => {
    served = true
  })
  const exited = (code: number | null, signal: string | null): void =>
    resume(Effect.succeed({ description: `process ${worker.process.pid} ended (${signal ?? code})`, served }))
  worker.once("exit", exited)
  return Effect.callback<void>((stopped) => {
    worker.once("exit", () => stopped(Effect.void))
    if (worker.isDead()) stopped(Effect.void)
    else worker.process.kill("SIGTERM")
  })
})

const stopWorkers = (): void => {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM")
}

/** Restarts a worker when it exits. Fails when it exits before it served, since that would happen again. */
const keepRunning: Effect.Effect<never, ProcessesFailed> = runWorker.pipe(
  Effect.flatMap(({ description, served }) =>
    served
      ? Effect.andThen(Effect.logWarning(`The ${description} and is replaced.`), Effect.sleep("1 second"))
      : Effect.fail(new ProcessesFailed({ message: `A ${description} before it served; its output is above.` })),
  ),
  Effect.forever,
)

/** With `memory:` each process would have its own queue and slots. */
const isShared = ({ StoreConnectionString }: SettingsTree): boolean => {
  const parsed = parseConnectionString(Redacted.value(StoreConnectionString))
  return Result.isSuccess(parsed) && parsed.success.connection.kind !== "memory"
}

/** Keeps `count` processes running until it is interrupted. They need a shared store. */
export const serveWithProcesses = (count: number, settings: SettingsTree): Effect.Effect<void, ProcessesFailed> =>
  isShared(settings)
    ? Effect.andThen(
        Effect.all([answerMetrics, Effect.sync(passRequestsOn), onFurtherStop(stopWorkers)]),
        Effect.all(
          Array.from({ length: count }, () => keepRunning),
          { concurrency: "unbounded", discard: true },
        ),
      ).pipe(Effect.scoped)
    : Effect.fail(
        new ProcessesFailed({
          message: "--processes: Expected 1, or Redis as StoreConnectionString: processes cannot share memory:.",
        }),
      )
