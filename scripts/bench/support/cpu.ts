/** CPU time of processes, from Linux' `/proc`. */
import { readFileSync } from "node:fs"

/** The kernel counts CPU time in ticks of 10 ms. */
const TICKS_PER_SECOND = 100
/** Where the fields of user and system time stand behind the name of the program. */
const [USER, SYSTEM] = [11, 12]

/** User and system time of a process so far (s). */
export const cpuOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[USER]) + Number(fields[SYSTEM])) / TICKS_PER_SECOND
}

/** The same of several processes together. */
export const cpuOfAll = (pids: ReadonlyArray<number>): number => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
