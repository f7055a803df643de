/**
 * Loaded into a gate before its program: at SIGUSR2 it collects garbage and writes what the process holds to the file named by
 * SOAK_PROBE. Needs `--expose-gc`.
 */
import { renameSync, writeFileSync } from "node:fs"
import { setImmediate } from "node:timers/promises"

const file = process.env.SOAK_PROBE ?? ""

const look = async (): Promise<void> => {
  // once: on a busy machine more at a time would hold everything up for seconds
  globalThis.gc?.()
  await setImmediate()
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
  const resources: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  writeFileSync(`${file}.new`, JSON.stringify({ rss, heapUsed, external, arrayBuffers, resources, listeners }))
  renameSync(`${file}.new`, file)
}

process.on("SIGUSR2", () => void look())
