/** Pages of waiting callers that note what they are shown, in a process of its own, because a process has a limit of open files. */
import { fork } from "node:child_process"
import { constants, setPriority } from "node:os"
import { fileURLToPath } from "node:url"
import { callerOf, connect, steadyNow } from "./crowd.ts"

const program = fileURLToPath(import.meta.url)
const AT_ONCE = 100

/** A caller by the order of acceptance, from 0. */
type Caller = number

/** What the pages were shown since the last report. */
export interface Shown {
  /** how many positions in all */
  readonly positions: number
  /** positions up to `near`, in the order in which they came; times as of `steadyNow` */
  readonly near: ReadonlyArray<readonly [caller: Caller, position: number, at: number]>
  /** a caller's position that was higher than the one before */
  readonly rises: ReadonlyArray<readonly [caller: Caller, from: number, to: number]>
}

type Order =
  | { readonly connect: ReadonlyArray<readonly [caller: Caller, path: string]>; readonly near: number }
  | { readonly report: true }
type Report =
  | { readonly connected: true }
  | { readonly called: Caller; readonly at: number }
  | { readonly shown: Shown }

export interface Followers {
  readonly pid: number
  readonly connect: (pages: ReadonlyArray<readonly [caller: Caller, path: string]>) => Promise<void>
  readonly shown: () => Promise<Shown>
  readonly close: () => void
}

/**
 * @param called is told at once of each start call, and when it arrived
 * @param last whether the servers go first on a shared core, because these pages would run on other machines
 */
export const makeFollowers = (
  url: string,
  near: number,
  called: (caller: Caller, at: number) => void,
  last: boolean,
): Followers => {
  const child = fork(program, [url])
  const pid = child.pid ?? 0
  if (last) setPriority(pid, constants.priority.PRIORITY_LOW)
  const waiting: Array<(report: Report) => void> = []
  child.on("message", (report: Report) => {
    if ("called" in report) called(report.called, report.at)
    else waiting.shift()?.(report)
  })
  const ask = (order: Order): Promise<Report> =>
    new Promise((answer, fail) => {
      if (child.exitCode !== null) fail(new Error("the followers' process has exited"))
      waiting.push(answer)
      child.send(order)
    })
  return {
    pid,
    connect: async (pages) => void (await ask({ connect: pages, near })),
    shown: async () => {
      const report = await ask({ report: true })
      if (!("shown" in report)) throw new Error("unexpected answer of the followers' process")
      return report.shown
    },
    close: () => void child.kill(),
  }
}

const follow = (url: URL, tell: (report: Report) => void): ((order: Order) => Promise<void>) => {
  const last = new Map<Caller, number>()
  let positions = 0
  let near: Array<Shown["near"][number]> = []
  let rises: Array<Shown["rises"][number]> = []
  const hear = (caller: Caller, upTo: number, text: string): void => {
    const at = steadyNow()
    const event: unknown = JSON.parse(text)
    const type: unknown = Reflect.get(Object(event), "type")
    if (type === "start_call") tell({ called: caller, at })
    if (type !== "position") return
    const position = Number(Reflect.get(Object(event), "position"))
    const before = last.get(caller)
    positions++
    if (before !== undefined && position > before) rises.push([caller, before, position])
    if (position <= upTo) near.push([caller, position, at])
    last.set(caller, position)
  }
  return async (order) => {
    if ("report" in order) {
      tell({ shown: { positions, near, rises } })
      positions = 0
      near = []
      rises = []
      return
    }
    for (let from = 0; from < order.connect.length; from += AT_ONCE) {
      const batch = order.connect.slice(from, from + AT_ONCE)
      await Promise.all(
        batch.map(([caller, path]) => connect(url, path, callerOf(caller), (text) => hear(caller, order.near, text))),
      )
    }
    tell({ connected: true })
  }
}

if (process.argv[1] === program) {
  const act = follow(new URL(process.argv[2] ?? ""), (report) => void process.send?.(report))
  process.on("message", (order: Order) => {
    act(order).catch((error: unknown) => {
      console.error(error)
      process.exit(1)
    })
  })
}
