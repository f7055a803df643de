/** Memory of a process after a garbage collection. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import type { Server } from "./servers.ts"

/** Node options for a server whose memory is measured. */
export const collecting = ["--expose-gc", "--import", new URL("./collect.ts", import.meta.url).href]

export interface Memory {
  /** resident bytes of all processes */
  readonly resident: number
  /** bytes of their JavaScript heaps in use */
  readonly heap: number
}

/** After a garbage collection; the server was started with `collecting`. */
export const memoryOf = async ({ pids }: Pick<Server, "pids">): Promise<Memory> => {
  for (let n = 0; n < 3; n++) {
    for (const pid of pids) process.kill(pid, "SIGUSR2")
    await sleep(700)
  }
  const sum = (of: (pid: number) => number): number => pids.reduce((all, pid) => all + of(pid), 0)
  return {
    resident: sum((pid) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096),
    heap: sum((pid) => Number(readFileSync(`/proc/${pid}/cwd/heap-${pid}`, "utf8"))),
  }
}

/** Resident bytes of all processes of the server. */
export const residentOf = async (server: Server): Promise<number> => (await memoryOf(server)).resident
