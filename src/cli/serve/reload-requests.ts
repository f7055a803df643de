/**
 * Requests to read the settings again: SIGHUP, and in a worker also a message of the primary. SIGHUP ends a process without a handler, so
 * `noteRequests` installs it before anything else; a request that comes before the gate serves is not lost.
 */
import cluster, { type Worker } from "node:cluster"

/** From the primary to a worker. */
const RELOAD = "voicegate: reload"
/** From a worker to the primary. */
const RELOAD_OTHERS = "voicegate: reload others"

/** A failed message is not an error of this process: its receiver has ended, which is noticed otherwise. */
const ignoreFailure = (): void => {}

let requested = false
let reload = (): void => {
  requested = true
}

/** Notes requests from now on. */
export const noteRequests = (): void => {
  process.on("SIGHUP", () => reload())
  if (!cluster.isWorker) return
  process.on("message", (message: unknown) => {
    if (message === RELOAD) reload()
  })
}

/** Runs `next` at every request from now on, and at once if there was one. */
export const onRequest = (next: () => void): void => {
  reload = next
  if (requested) next()
}

const tellWorkers = (except?: Worker): void => {
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker !== undefined && worker !== except && worker.isConnected()) worker.send(RELOAD, ignoreFailure)
  }
}

/** In the primary process: passes requests on to the workers, and those of a worker to the others. */
export const passRequestsOn = (): void => {
  onRequest(() => tellWorkers())
  cluster.on("message", (worker, message: unknown) => {
    if (message === RELOAD_OTHERS) tellWorkers(worker)
  })
}

/** Has the other processes on this port read the settings again; does nothing when this is the only one. */
export const askOthersToReload = (): void => {
  if (cluster.isWorker) process.send?.(RELOAD_OTHERS, undefined, undefined, ignoreFailure)
}
