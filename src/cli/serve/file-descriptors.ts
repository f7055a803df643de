/**
 * The open file descriptors of the process. When none is left, the system closes new connections before Node hears of them: callers get no
 * answer, and nothing else tells of it. So they are looked at every few seconds, and the log says when they run out.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { Context, Effect, Layer, Schedule } from "effect"

const LOOK_MILLIS = 5_000
const OPEN = "/proc/self/fd"
/** From this share on, the log warns. */
const SCARCE = 0.8

export interface Descriptors {
  /** 0 where the system does not tell */
  readonly open: number
  /** how many may be open; 0 where the system does not tell */
  readonly max: number
}

const readMax = (): number => {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Reads the limit at the first call, because it needs a descriptor itself. */
const makeRead = (): (() => Descriptors) => {
  const max = readMax()
  return () => {
    try {
      // Linux 6.2 and later tell the number as a size; reading the list takes 1 ms for each 1,000
      return { max, open: statSync(OPEN).size || readdirSync(OPEN).length }
    } catch (error) {
      // the list itself needs a descriptor
      const none = error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE")
      return { max, open: none ? max : 0 }
    }
  }
}

/** How the descriptors are read. Tests replace it. */
export const ReadDescriptors = Context.Reference<() => Descriptors>("voicegate/cli/ReadDescriptors", {
  defaultValue: makeRead,
})

type State = "enough" | "scarce" | "none"

const stateOf = ({ max, open }: Descriptors): State => {
  if (max === 0) return "enough"
  if (open >= max) return "none"
  return open >= SCARCE * max ? "scarce" : "enough"
}

const report = (state: State, { max, open }: Descriptors): Effect.Effect<void> => {
  const remedy = "Raise the limit of open files: LimitNOFILE of systemd, or ulimit -n."
  switch (state) {
    case "none":
      return Effect.logError(
        `No file descriptor is left (${max} are open): new connections are closed without an answer. ${remedy}`,
      )
    case "scarce":
      return Effect.logWarning(
        `${open} of ${max} file descriptors are open. Without any, connections are closed. ${remedy}`,
      )
    case "enough":
      return Effect.logInfo(`Enough file descriptors are free again: ${open} of ${max} are open.`)
  }
}

/** Logs when descriptors become scarce, when none is left, and when there are enough again. */
export const layer: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const read = yield* ReadDescriptors
    let last: State = "enough"
    yield* Effect.suspend(() => {
      const found = read()
      const state = stateOf(found)
      if (state === last) return Effect.void
      last = state
      return report(state, found)
    }).pipe(Effect.schedule(Schedule.spaced(LOOK_MILLIS)), Effect.forkScoped)
  }),
)
