/**
 * Preloaded into a server: on SIGUSR2 it collects garbage and makes V8 release its reserved pages, so that resident memory is memory
 * in use.
 */
process.on("SIGUSR2", () => {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })
})
