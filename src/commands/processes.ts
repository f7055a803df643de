/**
 * Serves with several processes on one port (node:cluster), for those who want more than one core of a machine. Each is an
 * instance like any other: what they share is in the store. One that dies is replaced; all stop together.
 */
import cluster from "node:cluster"
import { Data, Effect, Redacted, Result } from "effect"
import type { SettingsTree } from "../Settings.ts"
import { parseConnectionString } from "../settings/connection-string.ts"

/** The processes cannot be started, or would not serve. */
export class ProcessesFailed extends Data.TaggedError("ProcessesFailed")<{ readonly message: string }> {}

/** Whether this is one of the processes, which serves alone. */
export const isOneOfSeveral = (): boolean => cluster.isWorker

/** Serves as one of them, and lets go of the others at the end: the channel to them would keep this process alive. */
export const asOneOfSeveral = <A, E>(serving: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.ensuring(
    serving,
    Effect.sync(() => cluster.worker?.disconnect()),
  )

interface Ended {
  readonly how: string
  /** it had listened before */
  readonly served: boolean
}

/** Starts a process of this program and waits until it ends; interrupted, it is told to stop, and waited for. */
const untilEnded: Effect.Effect<Ended> = Effect.callback((resume) => {
  const worker = cluster.fork()
  let served = false
  worker.once("listening", () => {
    served = true
  })
  const ended = (code: number | null, signal: string | null): void =>
    resume(Effect.succeed({ how: `process ${worker.process.pid} ended (${signal ?? code})`, served }))
  worker.once("exit", ended)
  return Effect.callback<void>((stopped) => {
    worker.once("exit", () => stopped(Effect.void))
    if (worker.isDead()) stopped(Effect.void)
    else worker.process.kill("SIGTERM")
  })
})

/** One process after the other. One that ends before it has served would do so again. */
const keptServing: Effect.Effect<never, ProcessesFailed> = untilEnded.pipe(
  Effect.flatMap(({ how, served }) =>
    served
      ? Effect.andThen(Effect.logWarning(`The ${how} and is replaced.`), Effect.sleep("1 second"))
      : Effect.fail(new ProcessesFailed({ message: `A ${how} before it served; what it said is above.` })),
  ),
  Effect.forever,
)

/** `memory:` is one process's own, so that each would have slots of its own. */
const isShared = ({ StoreConnectionString }: SettingsTree): boolean => {
  const parsed = parseConnectionString(Redacted.value(StoreConnectionString))
  return Result.isSuccess(parsed) && parsed.success.connection.kind !== "memory"
}

/** Keeps so many processes serving until it is interrupted. They need a store that they can share. */
export const serveWith = (count: number, settings: SettingsTree): Effect.Effect<void, ProcessesFailed> =>
  isShared(settings)
    ? Effect.all(
        Array.from({ length: count }, () => keptServing),
        { concurrency: "unbounded", discard: true },
      )
    : Effect.fail(
        new ProcessesFailed({
          message: "--processes: Expected 1, or Redis as StoreConnectionString: memory: is one process's own.",
        }),
      )
