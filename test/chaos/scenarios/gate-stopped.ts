/**
 * SIGTERM of gates while calls are being started over every transport: by requests that start at once, by `POST
 * …/start`, over WebSockets and over the hub. The platform answers late, or not before the gate has exited.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { GONE_WITHIN_MILLIS, type Stopped, stopping } from "../../harness/stopping.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, seconds, inWords as timesInWords } from "../support/order.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Row, Scenario } from "../support/scenario.ts"
import type { Seat } from "../support/seats.ts"

const SIZES = { small: { callers: 48, slots: 6, stops: 2 }, full: { callers: 360, slots: 12, stops: 6 } }
/** How long slots may fill with starts that the platform does not answer, before the gate is stopped. */
const FILL_MILLIS = 2_000
/** When a slow platform answers; by then channels have been sent elsewhere. */
const LATE_MILLIS = 2_500
/** Starts of the gate that has exited must be resolved within this time. */
const DECIDED_MILLIS = 3_000

/** The starts in flight, each ticket with its lease. */
const starting = async ({ view }: Rig): Promise<ReadonlyMap<string, string>> => {
  const tickets = (await view.look())?.tickets ?? new Map()
  return new Map([...tickets].flatMap(([id, { lease, state }]) => (state === "starting" ? [[id, lease] as const] : [])))
}

/** Waits until none of these is starting any more; returns how long that took, or undefined if it does not happen. */
const decided = async (rig: Rig, before: ReadonlyMap<string, string>): Promise<number | undefined> => {
  const since = performance.now()
  const open = async (): Promise<boolean> => {
    const now = await starting(rig)
    return [...before].some(([id, lease]) => now.get(id) === lease)
  }
  while (await open()) {
    if (performance.now() - since > DECIDED_MILLIS) return undefined
    await sleep(50)
  }
  return performance.now() - since
}

interface Stop extends Stopped {
  readonly inFlight: number
  readonly decidedAfter: number | undefined
  readonly back: string
}

const stop = async (rig: Rig, seat: Seat, hangs: boolean): Promise<Stop> => {
  const { platform } = rig
  platform.hold = true
  await eventually("calls are being started", async () => (await starting(rig)).size > 0)
  await sleep(FILL_MILLIS)
  const inFlight = (await starting(rig)).size
  const stopped = stopping(seat.gate(), "SIGTERM")
  if (!hangs) {
    await sleep(LATE_MILLIS)
    platform.hold = false
  }
  const { exit, millis } = await stopped
  const left = await starting(rig)
  platform.hold = false
  const decidedAfter = await decided(rig, left)
  const back = orderBack(rig, performance.now())
  await seat.start()
  await seat.ready()
  return { exit, millis, inFlight, decidedAfter, back: timesInWords(await back) }
}

/** Callers, a stop during their starts, and their ends: fresh each time, so that it is known what is in flight. */
const round = async (rig: Rig, n: number, callers: number, hangs: boolean): Promise<Stop> => {
  const { platform, seats, view } = rig
  const seat = seats[n % seats.length]
  if (seat === undefined) throw new Error("there are gates")
  // every other time the first callers are being started by their requests when the gate is stopped
  const requests = n % 2 === 0
  platform.hold = requests
  const crowd = rig.crowd({
    callers,
    arriveMillis: 1_000,
    talkMillis: [200, 1_500],
    // when every start is to finish, requests would keep the process alive for the others
    startsOver: requests || hangs ? ["http", "websocket", "hub"] : ["websocket", "hub"],
  })
  await eventually("callers wait", async () => ((await view.look())?.waiting.size ?? 0) > 0)
  if (!requests) await eventually("no request is under way", async () => (await starting(rig)).size === 0)
  const stopped = await stop(rig, seat, hangs)
  await crowd.done(120_000)
  return stopped
}

const row = async (hangs: boolean, ...[size, seed, bench]: Parameters<Scenario["run"]>): Promise<Row> => {
  const { callers, slots, stops } = SIZES[size]
  const redis = bench.own(await startRedis())
  const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates: 2, slots, startMillis: 300, calledAnew: hangs })
  const all: Array<Stop> = []
  for (let n = 0; n < stops; n++) all.push(await round(rig, n, callers / stops, hangs))
  const verdict = await judge(rig, { outcomes: [], putBack: hangs })
  const slowest = Math.max(...all.map(({ millis }) => millis))
  const wrongs = all.flatMap(({ decidedAfter, exit, millis }, n) => [
    ...(exit.code === 0 ? [] : [`stop ${n + 1}: the gate ended with ${exit.code ?? exit.signal}`]),
    ...(millis < GONE_WITHIN_MILLIS ? [] : [`stop ${n + 1}: the gate was gone only after ${seconds(millis)}`]),
    ...(decidedAfter === undefined ? [`I4: stop ${n + 1}: a start of the gate that has gone holds its slot`] : []),
  ])
  return {
    fault: `SIGTERM of one of 2 gates, ${all.length} times, while calls are started over HTTP, WebSockets and the hub, and the platform ${hangs ? "hangs" : "takes its time"}`,
    promised: hangs
      ? "gone within 10 s; whoever was being started keeps the place, and is called again when it is known what became of the start"
      : "gone within 10 s; every start is finished",
    seen:
      `${inWords(verdict.outcomes)}; ${all.reduce((sum, { inFlight }) => sum + inFlight, 0)} were being started; gone after ${seconds(slowest)} at most, ` +
      `slots decided ${seconds(Math.max(0, ...all.map(({ decidedAfter }) => decidedAfter ?? 0)))} later at most; ${peaksInWords(verdict, rig)}`,
    back: all.map(({ back }) => back).join(" · "),
    wrongs: [...wrongs, ...verdict.wrongs],
  }
}

export const gateStopped: Scenario = {
  name: "gate-stopped",
  run: async (size, seed, bench) => {
    const rows = [() => row(false, size, seed, bench), () => row(true, size, seed + 1, bench)]
    // few callers mostly wait: both at once take half of the time
    if (size === "small") return Promise.all(rows.map((make) => make()))
    const all: Array<Row> = []
    for (const make of rows) all.push(await make())
    return all
  },
}
