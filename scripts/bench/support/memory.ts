/** Memory of a process after a garbage collection. */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../../test/harness/process.ts"
import type { Server } from "./servers.ts"

/** Node options for a server whose memory is measured. */
export const collecting = ["--expose-gc", "--import", new URL("./collect.ts", import.meta.url).href]

/** What a collection frees may be all that keeps something else alive. */
const COLLECTIONS = 3

/** Written after each collection (`collect.ts`). */
const heapFile = (pid: number): string => `/proc/${pid}/cwd/heap-${pid}`

export interface Memory {
  /** resident bytes of all processes */
  readonly resident: number
  /** bytes of their JavaScript heaps in use */
  readonly heap: number
}

/** After a garbage collection; the server was started with `collecting`. */
export const memoryOf = async ({ pids }: Pick<Server, "pids">): Promise<Memory> => {
  for (let n = 0; n < COLLECTIONS; n++) {
    for (const pid of pids) rmSync(heapFile(pid), { force: true })
    for (const pid of pids) process.kill(pid, "SIGUSR2")
    await eventually("the garbage is collected", () => pids.every((pid) => existsSync(heapFile(pid))))
    await sleep(300)
  }
  const sum = (of: (pid: number) => number): number => pids.reduce((all, pid) => all + of(pid), 0)
  return {
    resident: sum((pid) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096),
    heap: sum((pid) => Number(readFileSync(heapFile(pid), "utf8"))),
  }
}

/** Resident bytes of all processes of the server. */
export const residentOf = async (server: Server): Promise<number> => (await memoryOf(server)).resident
