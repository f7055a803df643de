/**
 * Loaded into a server before it starts: SIGUSR2 collects its garbage and makes V8 give back the pages that it keeps for later, so
 * that what is resident afterwards is in use.
 */
process.on("SIGUSR2", () => {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })
})
