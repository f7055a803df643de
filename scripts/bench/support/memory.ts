/** Memory of a process after a garbage collection. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import type { Server } from "./servers.ts"

/** Node options for a server whose memory is measured. */
export const collecting = ["--expose-gc", "--import", new URL("./collect.ts", import.meta.url).href]

/** Resident bytes of all processes of the server. */
export const residentOf = async ({ pids }: Server): Promise<number> => {
  for (let n = 0; n < 3; n++) {
    for (const pid of pids) process.kill(pid, "SIGUSR2")
    await sleep(700)
  }
  return pids.reduce((sum, pid) => {
    const [, pages = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")
    return sum + Number(pages) * 4096
  }, 0)
}
