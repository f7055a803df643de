/**
 * Loaded into a gate before its program: at SIGUSR2 it collects garbage and writes what the process holds to the file named by
 * SOAK_PROBE; at SIGWINCH, for a gate at rest, it also makes V8 give back the pages that it keeps for later. Needs `--expose-gc`.
 */
import { renameSync, writeFileSync } from "node:fs"
import { setImmediate } from "node:timers/promises"

const file = process.env.SOAK_PROBE ?? ""

const look = async (collect: () => void): Promise<void> => {
  collect()
  await setImmediate()
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
  const resources: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  writeFileSync(`${file}.new`, JSON.stringify({ rss, heapUsed, external, arrayBuffers, resources, listeners }))
  renameSync(`${file}.new`, file)
}

// once: on a busy machine more at a time would hold everything up for seconds
process.on("SIGUSR2", () => void look(() => globalThis.gc?.()))
process.on(
  "SIGWINCH",
  () => void look(() => globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })),
)
