/**
 * Ten thousand waiting callers lose their gate at once and reconnect: to the other one, then to the same one,
 * restarted.
 */

import { Chance } from "../../harness/chance.ts"
import { ask, textOf } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { judge, peaksInWords } from "../support/judge.ts"
import { seconds } from "../support/order.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Row, Scenario } from "../support/scenario.ts"
import { join, keep, leave, type Waiter } from "../support/waiting-line.ts"

const SIZES = { small: { count: 300, calls: 10 }, full: { count: 10_000, calls: 100 } }
const SLOTS = 10

/** Waits until all have received their position since they reconnected; returns the times of half, 99 % and all. */
export const allTold = async (line: ReadonlyArray<Waiter>, since: number): Promise<string> => {
  await eventually(
    "all have their position again",
    () => {
      const missing = line.filter(({ toldAt }) => toldAt === undefined || toldAt < since)
      if (missing.length === 0) return true
      const states = missing.map(({ over, socket, tries }) =>
        over === undefined ? `state ${socket?.readyState} at try ${tries}` : `over: ${over}`,
      )
      throw new Error(`${missing.length} were told nothing: ${[...new Set(states)].slice(0, 10).join(", ")}`)
    },
    180_000,
  )
  const times = line.map(({ toldAt }) => (toldAt ?? 0) - since).toSorted((a, b) => a - b)
  const at = (share: number): string => seconds(times[Math.ceil(times.length * share) - 1])
  return `half after ${at(0.5)}, 99 % after ${at(0.99)}, all after ${at(1)}`
}

/** The waiters that are not at their own place. */
const moved = (line: ReadonlyArray<Waiter>): ReadonlyArray<string> => {
  const wrong = line.filter(({ over, position }, i) => position !== i + 1 || over !== undefined)
  return wrong.length === 0 ? [] : [`I2: ${wrong.length} of ${line.length} came back to another place`]
}

/** Frees slots one after the other and checks who is called; the called tickets start and talk. */
export const callInOrder = async (rig: Rig, line: ReadonlyArray<Waiter>, calls: number, url: string) => {
  const times: Array<number> = []
  const wrongs: Array<string> = []
  const held = rig.platform.sessions.map(({ webId }) => webId)
  for (let n = 0; n < calls; n++) {
    const session = held.shift() ?? ""
    const freed = performance.now()
    await rig.platform.talk(session, 1)
    const waiter = line[n]
    if (waiter === undefined) break
    await eventually(`place ${n + 1} is called`, () => waiter.called, 30_000)
    times.push(performance.now() - freed)
    const early = line.slice(n + 1).filter(({ called }) => called).length
    if (early > 0) wrongs.push(`I2: ${early} were called before place ${n + 1}`)
    const answer = await ask("POST", `${url}/api/session/${waiter.ticket}/start`, { headers: waiter.headers })
    held.push(textOf(answer, "sessionId"))
  }
  return { longest: Math.max(...times), wrongs, held }
}

export const reconnect: Scenario = {
  name: "reconnect",
  run: async (size, seed, bench) => {
    const { calls, count } = SIZES[size]
    const redis = bench.own(await startRedis())
    const settings = {
      Queue__MaxLength: "20000",
      Queue__DisconnectGraceSeconds: "60",
      Queue__StartWindowSeconds: "60",
      Queue__MaxCallMinutes: "60",
    }
    const lookEveryMillis = size === "full" ? 2_000 : 200
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: 2,
      slots: SLOTS,
      settings,
      lookEveryMillis,
      joinMillis: 600_000,
    })
    const [a, b] = rig.seats
    if (a === undefined || b === undefined) throw new Error("there are two gates")
    // the slots are taken by calls that nobody has joined yet
    for (let n = 0; n < SLOTS; n++) await ask("POST", `${a.url}/api/session/request`, { body: {} })
    const line = await join(a.url, count)
    let entrance = a.url
    let stopped = false
    bench.own({
      dispose: async () => {
        stopped = true
        for (const { socket } of line) socket?.terminate()
      },
    })
    const opened = performance.now()
    for (const [n, waiter] of line.entries())
      keep(
        waiter,
        () => entrance,
        new Chance(seed + n),
        () => stopped,
      )
    const firstTold = await allTold(line, opened)

    entrance = b.url
    // measured before it dies: the other gate may answer the first before this process learns of the death
    const movedAt = performance.now()
    await a.kill("SIGKILL")
    const movedTold = await allTold(line, movedAt)
    const movedWrongs = moved(line)

    const killedAt = performance.now()
    await b.kill("SIGKILL")
    await b.start()
    const upAfter = performance.now() - killedAt
    const restartTold = await allTold(line, killedAt)
    const restartWrongs = moved(line)
    await a.start()
    await a.ready()

    const order = await callInOrder(rig, line, calls, b.url)
    stopped = true
    for (const { socket } of line) socket?.terminate()
    const left = performance.now()
    await leave(line.slice(calls), b.url)
    const emptied = performance.now() - left
    for (const session of order.held) await rig.platform.talk(session, 1)
    const verdict = await judge(rig, { outcomes: [] })
    const rows: ReadonlyArray<Row> = [
      {
        fault: `${count} waiting WebSockets at once, their gate killed: all move to the other instance`,
        promised: "every ticket keeps its place",
        seen: `${count - (movedWrongs.length > 0 ? 1 : 0)} at their own place again; at first, with nothing broken: ${firstTold}`,
        back: movedTold,
        wrongs: movedWrongs,
      },
      {
        fault: `${count} waiting WebSockets at once, their gate killed and started anew (up after ${seconds(upAfter)})`,
        promised: "every ticket keeps its place; then calls go in order",
        seen:
          `all at their own place again; then ${calls} calls one after the other, each to the first in line, the slowest start call ` +
          `${Math.round(order.longest)} ms after the end of a call; all left within ${seconds(emptied)}; ${peaksInWords(verdict, rig)}`,
        back: restartTold,
        wrongs: [...restartWrongs, ...order.wrongs, ...verdict.wrongs],
      },
    ]
    return rows
  },
}
