/** Serves with `PROCESSES` processes on one port, as the gate does with `--processes`. */
import cluster from "node:cluster"

export const inProcesses = (serve: () => void): void => {
  const count = Number(process.env.PROCESSES ?? 1)
  if (count === 1 || cluster.isWorker) {
    serve()
    return
  }
  for (let n = 0; n < count; n++) cluster.fork()
  process.on("SIGTERM", () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL")
    process.exit(0)
  })
}
