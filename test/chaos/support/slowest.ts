/** The slowest commands of Redis, by its slow log. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { Redis } from "ioredis"
import { lua } from "../../../src/store/rules/lua.generated.ts"

/** The most that the log keeps. */
const KEPT = 512
/** What is faster is not noted (µs). */
const NOTED_MICROS = 2_000

const names = new Map(
  Object.entries(lua).map(([name, text]) => [createHash("sha1").update(text, "latin1").digest("hex"), name]),
)

const listOf = (found: unknown): ReadonlyArray<unknown> => (Array.isArray(found) ? found : [])

export interface Slowest {
  /** forgets all so far */
  readonly begin: () => Promise<void>
  /** the longest step of each rule since then (ms), longest first */
  readonly steps: () => Promise<ReadonlyArray<readonly [rule: string, millis: number]>>
  readonly dispose: () => Promise<void>
}

/**
 * @param pid of Redis: it is scheduled in real time (`chrt`) where the system allows it, because the log counts the time in which other
 *   processes had the processor, and here these are the gates and ten thousand pages
 */
export const watchSlowest = (url: string, pid: number): Slowest => {
  try {
    execFileSync("chrt", ["--fifo", "--pid", "1", String(pid)], { stdio: "ignore" })
  } catch {
    console.error("Redis is not scheduled in real time, so its longest steps include those of other processes")
  }
  const client = new Redis(url)
  return {
    begin: async () => {
      await client.config("SET", "slowlog-log-slower-than", NOTED_MICROS)
      await client.config("SET", "slowlog-max-len", KEPT)
      await client.slowlog("RESET")
    },
    steps: async () => {
      const longest = new Map<string, number>()
      for (const entry of listOf(await client.slowlog("GET", KEPT))) {
        const [, , micros, words] = listOf(entry)
        const [command, sha] = listOf(words)
        const rule = names.get(String(sha))
        // what the test itself reads is not the gates'
        if (rule === undefined || !/^evalsha$/i.test(String(command))) continue
        longest.set(rule, Math.max(longest.get(rule) ?? 0, Number(micros) / 1_000))
      }
      return [...longest].toSorted(([, a], [, b]) => b - a)
    },
    dispose: async () => client.disconnect(),
  }
}
