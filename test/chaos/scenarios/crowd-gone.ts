/**
 * Gates with very many waiting connections die, or stand still. Who comes to another gate has the own place there; who does not is kept for as
 * long as `promises.md` says, and no longer.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { DEAD_MILLIS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import { Chance } from "../../harness/chance.ts"
import { ask } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { judge } from "../support/judge.ts"
import { seconds } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Row, Scenario } from "../support/scenario.ts"
import { watchSlowest } from "../support/slowest.ts"
import { join, keep, leave, type Waiter } from "../support/waiting-line.ts"
import { allTold, callInOrder } from "./reconnect.ts"

const SLOTS = 10
const GRACE_SECONDS = 30
/** Until all gates hold what is connected to them: three heartbeats. */
const HELD_MILLIS = 6_000
/** Later than promised by this much, an absent one is kept too long: sweeps end some hundred a second. */
const LATE_MILLIS = 20_000
/** Every tenth does not come back. */
const isAbsent = (n: number): boolean => n % 10 === 9
/** Of a gate that stands still, every second caller goes elsewhere. */
const moves = (n: number): boolean => n % 2 === 0

interface Fault {
  readonly name: string
  readonly fault: string
  /** the gates that it hits, of one more */
  readonly hit: number
  /** for how long they stand still; killed when absent */
  readonly stillMillis?: number
  readonly sizes: { readonly small: number; readonly full: number }
}

const run = async (
  { fault, hit, sizes, stillMillis }: Fault,
  ...[size, seed, bench]: Parameters<Scenario["run"]>
): Promise<ReadonlyArray<Row>> => {
  const count = sizes[size]
  const redis = bench.own(await startRedis())
  const rig = await makeRig({
    seed,
    bench,
    storeUrl: redis.url,
    gates: hit + 1,
    webhookGates: [hit],
    slots: SLOTS,
    settings: {
      Queue__MaxLength: "20000",
      Queue__DisconnectGraceSeconds: String(GRACE_SECONDS),
      Queue__StartWindowSeconds: "60",
      Queue__MaxCallMinutes: "60",
    },
    lookEveryMillis: size === "full" ? 5_000 : 500,
    joinMillis: 600_000,
  })
  const lost = rig.seats.slice(0, hit)
  const survivor = rig.seats[hit]
  if (survivor === undefined) throw new Error("one gate survives")
  const slowest = bench.own(watchSlowest(redis.url, redis.pid()))
  for (let n = 0; n < SLOTS; n++) await ask("POST", `${survivor.url}/api/session/request`, { body: {} })
  const line = await join(survivor.url, count)
  let down = false
  let stopped = false
  const close = (waiters: ReadonlyArray<Waiter>): void => {
    for (const { socket } of waiters) socket?.terminate()
  }
  bench.own({
    dispose: async () => {
      stopped = true
      close(line)
    },
  })
  const goesAway = (n: number): boolean => stillMillis === undefined || moves(n)
  for (const [n, waiter] of line.entries()) {
    const own = lost[n % hit]
    keep(
      waiter,
      () => (down && goesAway(n) ? survivor.url : (own?.url ?? "")),
      new Chance(seed + n),
      () => stopped || (down && stillMillis === undefined && isAbsent(n)),
    )
  }
  await allTold(line, performance.now())
  await sleep(HELD_MILLIS)
  await slowest.begin()

  const wrongs: Array<string> = []
  const stillThere = async (waiters: ReadonlyArray<Waiter>): Promise<number> => {
    const state = await rig.view.look()
    if (state === undefined) throw new Error("the store does not answer")
    return waiters.filter(({ ticket }) => state.waiting.has(ticket)).length
  }
  const placed = (waiters: ReadonlyArray<Waiter>): void => {
    const places = new Map(line.map((waiter, n) => [waiter, n + 1]))
    const wrong = waiters.filter((each) => each.position !== places.get(each) || each.over !== undefined)
    if (wrong.length > 0) wrongs.push(`I2: ${wrong.length} of ${waiters.length} came back to another place`)
  }
  const hitAt = performance.now()
  const since = (): number => performance.now() - hitAt
  down = true
  await Promise.all(lost.map((seat) => seat.kill(stillMillis === undefined ? "SIGKILL" : "SIGSTOP")))
  const returning = line.filter((_, n) => (stillMillis === undefined ? !isAbsent(n) : moves(n)))
  // a page notices that a gate stands still when its network does
  if (stillMillis !== undefined) close(returning)
  const away = line.filter((waiter) => !returning.includes(waiter))
  const back = await allTold(returning, hitAt)
  placed(returning)

  const notYet = Math.min(stillMillis ?? Number.POSITIVE_INFINITY, DEAD_MILLIS) - 5_000
  await sleep(Math.max(0, notYet - since()))
  const early = away.length - (await stillThere(away))
  if (early > 0) wrongs.push(`I2: ${early} who did not come back were gone after ${seconds(since())}`)
  if (stillMillis !== undefined) {
    await sleep(Math.max(0, stillMillis - since()))
    await Promise.all(lost.map((seat) => seat.kill("SIGCONT")))
    await Promise.all(lost.map((seat) => seat.ready()))
  }
  const isDead = stillMillis === undefined || stillMillis > DEAD_MILLIS
  let gone = ""
  if (isDead) {
    await eventually("whoever is away is gone", async () => (await stillThere(away)) === 0, 120_000)
    gone = `the ${away.length} who stayed away were gone after ${seconds(since())}`
    if (since() > Math.max(DEAD_MILLIS, stillMillis ?? 0) + GRACE_SECONDS * 1_000 + LATE_MILLIS) wrongs.push(gone)
  } else {
    await sleep(GRACE_SECONDS * 2_000)
    const left = await stillThere(away)
    gone = `${left} of the ${away.length} who stayed with it are in the queue`
    if (left < away.length) wrongs.push(gone)
  }
  if (isDead && stillMillis !== undefined) {
    await eventually("whoever stayed is told", () => away.every(({ over }) => over !== undefined), 60_000)
  }
  const present = isDead ? returning : line
  const missing = present.length - (await stillThere(present))
  if (missing > 0) wrongs.push(`I2: ${missing} who waited are gone`)

  const steps = (await slowest.steps()).slice(0, 3).map(([rule, millis]) => `${rule} ${millis.toFixed(1)} ms`)
  if (stillMillis === undefined) for (const seat of lost) await seat.start()
  const order = await callInOrder(rig, present, size === "full" ? 50 : 10, survivor.url)
  stopped = true
  close(line)
  await leave(present.slice(size === "full" ? 50 : 10), survivor.url)
  for (const session of order.held) await rig.platform.talk(session, 1)
  const verdict = await judge(rig, { outcomes: [] })
  return [
    {
      fault: `${fault}, ${count} waiting WebSockets in all`,
      promised:
        "every ticket whose caller comes to another gate keeps its place; who stays away keeps it until the gate is dead, and no longer",
      seen:
        `${gone}; the longest steps of Redis: ${steps.length === 0 ? "all below 2 ms" : steps.join(", ")}; then calls in order, the slowest start call ` +
        `${Math.round(order.longest)} ms after the end of a call`,
      back,
      wrongs: [...wrongs, ...order.wrongs, ...verdict.wrongs],
    },
  ]
}

const scenario = (fault: Fault): Scenario => ({
  name: fault.name,
  run: (size, seed, bench) => run(fault, size, seed, bench),
})

export const crowdKilled = scenario({
  name: "crowd-killed",
  fault: "kill -9 of one of 2 gates",
  hit: 1,
  sizes: { small: 200, full: 15_000 },
})

export const crowdKilledTwice = scenario({
  name: "crowd-killed-twice",
  fault: "kill -9 of two of 3 gates at once",
  hit: 2,
  sizes: { small: 200, full: 10_000 },
})

export const crowdFrozen = scenario({
  name: "crowd-frozen",
  fault: "SIGSTOP of one of 2 gates for 40 s",
  hit: 1,
  stillMillis: 40_000,
  sizes: { small: 200, full: 5_000 },
})

export const crowdFrozenLong = scenario({
  name: "crowd-frozen-long",
  fault: "SIGSTOP of one of 2 gates for 60 s, which is longer than a gate may be silent",
  hit: 1,
  stillMillis: 60_000,
  sizes: { small: 200, full: 5_000 },
})
