/**
 * Preloaded into a gate: on SIGUSR2 it collects garbage and writes the process's resources to the file in SOAK_PROBE; on SIGWINCH,
 * for a gate at rest, it also makes V8 release its reserved pages. Needs `--expose-gc`.
 */
import { renameSync, writeFileSync } from "node:fs"
import { setImmediate } from "node:timers/promises"

const file = process.env.SOAK_PROBE ?? ""

const writeFigures = async (collect: () => void): Promise<void> => {
  collect()
  await setImmediate()
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
  const resources: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  writeFileSync(`${file}.new`, JSON.stringify({ rss, heapUsed, external, arrayBuffers, resources, listeners }))
  renameSync(`${file}.new`, file)
}

// only one collection: on a busy machine more would block the process for seconds
process.on("SIGUSR2", () => void writeFigures(() => globalThis.gc?.()))
process.on(
  "SIGWINCH",
  () => void writeFigures(() => globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })),
)
