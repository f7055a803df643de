/** Gates without HTTP that hold waiting callers without sockets, each in a process of its own (`servers/holder.ts`). */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { RedisServer } from "../../../test/harness/redis.ts"
import type { HoldOrder, HoldReport } from "../servers/holder.ts"

const program = fileURLToPath(new URL("../servers/holder.ts", import.meta.url))

export interface Holders {
  readonly pids: ReadonlyArray<number>
  /** queues this many callers, evenly, the first of whom has this number (`FIRST` takes the only slot) */
  readonly hold: (from: number, callers: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** The number of the caller who gets the slot, if it is free. */
export const FIRST = 0

/** @param root a checkout whose build is measured */
export const startHolders = async (root: string, redis: RedisServer, count: number): Promise<Holders> => {
  const holders: Array<ChildProcess> = []
  const report = async (child: ChildProcess): Promise<HoldReport> => {
    const [found]: Array<HoldReport | undefined> = await Promise.race([
      once(child, "message"),
      once(child, "exit").then(() => [undefined]),
    ])
    if (found === undefined) throw new Error("a holder has exited")
    return found
  }
  const stop = async (): Promise<void> => {
    for (const child of holders) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = once(child, "exit")
      child.kill("SIGKILL")
      await gone
    }
  }
  try {
    for (let n = 0; n < count; n++) {
      const child = fork(program, [root, redis.url])
      holders.push(child)
      await report(child)
    }
  } catch (error) {
    await stop()
    throw error
  }
  return {
    pids: holders.map(({ pid = 0 }) => pid),
    hold: async (from, callers) => {
      const each = Math.ceil(callers / count)
      for (const [n, child] of holders.entries()) {
        const order: HoldOrder = { from: from + n * each, hold: Math.min(each, callers - n * each) }
        const done = report(child)
        child.send(order)
        await done
      }
    },
    stop,
  }
}
