/** Measures the CPU use of processes. */
import { readFileSync } from "node:fs"

/** Clock ticks per second in /proc, the same on every Linux. */
const TICKS = 100

const secondsOf = (pid: number): number => {
  // the name may contain spaces, but ends with the last parenthesis
  const fields = (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop() ?? "").split(" ")
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/** Starts a measurement; the returned function gives percent of one core, by name. */
export const cpuSince = (pids: Readonly<Record<string, number>>): (() => Readonly<Record<string, number>>) => {
  const began = performance.now()
  const before = new Map(Object.entries(pids).map(([name, pid]) => [name, secondsOf(pid)]))
  return () => {
    const seconds = (performance.now() - began) / 1_000
    return Object.fromEntries(
      Object.entries(pids).map(([name, pid]) => [name, (100 * (secondsOf(pid) - (before.get(name) ?? 0))) / seconds]),
    )
  }
}
