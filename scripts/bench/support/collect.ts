/**
 * Preloaded into a server: on SIGUSR2 it collects garbage and makes V8 release its reserved pages, so that resident memory is memory
 * in use. What of it is the JavaScript heap is written to a file in the server's directory.
 */
import { writeFileSync } from "node:fs"

process.on("SIGUSR2", () => {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })
  writeFileSync(`heap-${process.pid}`, String(process.memoryUsage().heapUsed))
})
