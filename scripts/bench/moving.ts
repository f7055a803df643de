/**
 * What waiting costs while calls end: one every 100 ms. The time from a webhook to the start call, with many waiting and with none, in
 * alternating turns; how many positions are pushed; and whether what callers are shown is right.
 *
 *     node scripts/bench/run.ts moving [--connected 12000] [--gates 3] [--behind 88000] [--calls 600] [--rounds 3]
 *                                                        [--before DIR [--before-connected 12000]]
 *
 * The pages of those who are not called in the run have the lowest priority of the machine, because they would run on others.
 *
 * Behind the connected ones, further callers are held without sockets (`servers/holder.ts`). `--before` is another built checkout, whose
 * pushed positions are counted in the same run, without those behind, whom it may not be able to hold. It pushes to everybody every 2 s; where
 * this machine cannot carry that for as many as are connected now, count fewer: positions are compared by the connected caller.
 */
import { resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { startRedis } from "../../test/harness/redis.ts"
import { cpuOfAll } from "./support/cpu.ts"
import { steadyNow } from "./support/crowd.ts"
import { type Followers, makeFollowers, type Shown } from "./support/followers.ts"
import { startHolders } from "./support/holders.ts"
import { startPlatform } from "./support/platform.ts"
import { post, queueCallers, takeSlot, text } from "./support/queue-up.ts"
import { type Figures, type Found, figure, ratio } from "./support/report.ts"
import { startGate, WEBHOOK_TOKEN } from "./support/servers.ts"

const here = resolve(import.meta.dirname, "../..")

const CALL_EVERY_MILLIS = 100
/** A start call that takes longer is lost. */
const LOST_MILLIS = 30_000
/** Each of so many first callers is told every change. */
const FIRST_PLACES = 100
/** Places up to this one are noted, because a caller comes to the first places from behind them. */
const NOTED_PLACES = 200
const SETTLE_MILLIS = 20_000
const HOLDERS = 2
/** Numbers of callers who are held, beyond those who are connected. */
const BEHIND = 4_000_000
/** How old a place of the first hundred may be: a tick, and the time in which it is pushed (s). */
const TICK_SECONDS = 2.5
const QUEUED_AT_ONCE = 1_000

interface Turn {
  /** from webhook to start call (ms) */
  readonly millis: ReadonlyArray<number>
  readonly shown: ReadonlyArray<Shown>
  /** when each caller was called, in order (`steadyNow`) */
  readonly calledAt: ReadonlyArray<number>
  /** the first caller of the turn */
  readonly first: number
  readonly seconds: number
  /** of the core time of this turn: gates, Redis and pages (shares of a core) */
  readonly cpu: { readonly gates: number; readonly redis: number; readonly pages: number }
}

interface Side {
  readonly turn: (calls: number) => Promise<Turn>
}

type Own = (stop: () => Promise<void> | void) => void

/** Gates, their Redis and this many connected callers in order; with none, each caller comes just before the call. */
const startSide = async (
  own: Own,
  platform: string,
  {
    behind,
    called,
    connected,
    gates: count,
    root,
  }: {
    root: string
    gates: number
    connected: number
    behind: number
    /** how many callers are called in all turns */
    called: number
  },
): Promise<Side> => {
  const redis = await startRedis()
  own(redis.dispose)
  const gates = await Promise.all(Array.from({ length: count }, () => startGate(redis.url, platform, {}, { root })))
  for (const gate of gates) own(gate.stop)
  const urlOf = (n: number): string => gates[n % count]?.url ?? ""
  const calledAt = new Map<number, number>()
  let heard: () => void = () => {}
  const follow = (last: boolean): ReadonlyArray<Followers> =>
    gates.map(({ url }) => {
      const isCalled = (caller: number, at: number): void => {
        calledAt.set(caller, at)
        heard()
      }
      return makeFollowers(url, NOTED_PLACES, isCalled, last)
    })
  /** the pages of those who are called, and of those who only wait */
  const [theirs, others] = [follow(false), follow(true)]
  const followers = [...theirs, ...others]
  for (const { close } of followers) own(close)
  let live = await takeSlot(urlOf(0))
  const line: Array<string> = []
  /** They wait and are connected, each to another gate than the one before. */
  const come = async (callers: number): Promise<void> => {
    const first = line.length
    line.push(...(await queueCallers(urlOf(first), first, callers)))
    const pages = line.slice(first).map((ticket, n) => [first + n, `/api/session/${ticket}/events`] as const)
    for (const [all, from, to] of [
      [theirs, 0, called],
      [others, called, Number.POSITIVE_INFINITY],
    ] as const) {
      const some = pages.filter(([caller]) => caller >= from && caller < to)
      if (some.length === 0) continue
      await Promise.all(all.map((each, n) => each.connect(some.filter(([caller]) => caller % count === n))))
    }
  }
  for (let n = 0; n < connected; n += QUEUED_AT_ONCE) await come(Math.min(QUEUED_AT_ONCE, connected - n))
  if (behind > 0) {
    const holders = await startHolders(root, redis, HOLDERS)
    own(holders.stop)
    await holders.hold(BEHIND, behind)
  }
  const isCalled = async (caller: number): Promise<number> => {
    const late = Date.now() + LOST_MILLIS
    for (;;) {
      const at = calledAt.get(caller)
      if (at !== undefined) return at
      if (Date.now() > late) throw new Error(`caller ${caller} was not called`)
      await Promise.race([
        new Promise<void>((resolve) => {
          heard = resolve
        }),
        sleep(1_000),
      ])
    }
  }
  const cpu = () => ({
    gates: cpuOfAll(gates.flatMap(({ pids }) => pids)),
    redis: cpuOfAll([redis.pid()]),
    pages: cpuOfAll(followers.map(({ pid }) => pid)),
  })
  let done = 0
  const call = async (): Promise<number> => {
    if (connected === 0) await come(1)
    const caller = done++
    const began = steadyNow()
    const ended = post(
      `${urlOf(caller + 1)}/api/webhook/session-ended`,
      { "x-api-token": WEBHOOK_TOKEN },
      { ConversationSessionId: live },
    )
    const at = await isCalled(caller)
    await ended
    live = text(await post(`${urlOf(caller)}/api/session/${line[caller]}/start`, {}, {}), "sessionId")
    return at - began
  }
  return {
    turn: async (calls) => {
      for (const each of followers) await each.shown()
      const first = done
      const millis: Array<number> = []
      const [before, began] = [cpu(), steadyNow()]
      for (let n = 0; n < calls; n++) {
        millis.push(await call())
        await sleep(Math.max(0, began + (n + 1) * CALL_EVERY_MILLIS - steadyNow()))
      }
      const [after, seconds] = [cpu(), (steadyNow() - began) / 1_000]
      const share = (of: (seen: typeof after) => number): number => (of(after) - of(before)) / seconds
      const shown: Array<Shown> = []
      for (const each of followers) shown.push(await each.shown())
      return {
        millis,
        shown,
        first,
        seconds,
        cpu: {
          gates: share(({ gates }) => gates),
          redis: share(({ redis }) => redis),
          pages: share(({ pages }) => pages),
        },
        calledAt: line.slice(0, done).map((_, n) => calledAt.get(n) ?? 0),
      }
    },
  }
}

const percentile = (all: ReadonlyArray<number>, share: number): number =>
  all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? Number.NaN

/** The longest time for which one of the first hundred was shown a place that was not theirs any more (s). */
const longestOld = ({ calledAt, first, shown }: Turn): number => {
  const byCaller = Map.groupBy(
    shown.flatMap(({ near }) => near),
    ([caller]) => caller,
  )
  let longest = 0
  for (const [caller, told] of byCaller) {
    for (const [n, [, position]] of told.entries()) {
      // the call after which the position was less, and the one with which the caller came to the first hundred
      const less = calledAt[caller + 1 - position]
      const came = calledAt[Math.max(first, caller - FIRST_PLACES)]
      const next = told[n + 1]?.[2] ?? calledAt[caller]
      if (less !== undefined && came !== undefined && next !== undefined) {
        longest = Math.max(longest, next - Math.max(less, came))
      }
    }
  }
  return longest / 1_000
}

export const moving = async (options: {
  readonly rounds: number
  readonly calls: number
  readonly gates: number
  readonly connected: number
  readonly behind: number
  readonly before: string | undefined
  readonly beforeConnected: number
}): Promise<Found> => {
  const { before, beforeConnected, behind, calls, connected, gates, rounds } = options
  if (rounds * calls + FIRST_PLACES > Math.min(connected, beforeConnected))
    throw new Error("fewer are connected than are called")
  const stops: Array<() => Promise<void> | void> = []
  const own: Own = (stop) => void stops.unshift(stop)
  try {
    const platform = await startPlatform()
    own(platform.close)
    const start = (root: string, connected: number, behind: number) =>
      startSide(own, platform.url, { root, gates, connected, behind, called: rounds * calls })
    const sides: Record<string, Side> = {
      none: await start(here, 0, 0),
      waiting: await start(here, connected, behind),
      ...(before === undefined ? {} : { before: await start(resolve(before), beforeConnected, 0) }),
    }
    await sleep(SETTLE_MILLIS)
    const turns: Record<string, Array<Turn>> = {}
    for (let round = 0; round < rounds; round++) {
      for (const [name, side] of Object.entries(sides)) {
        const turn = await side.turn(calls)
        turns[name] = [...(turns[name] ?? []), turn]
        const { cpu, millis, seconds, shown } = turn
        const positions = shown.reduce((sum, each) => sum + each.positions, 0)
        console.error(
          `moving ${name}: start call p50 ${percentile(millis, 0.5).toFixed(1)} ms, p99 ${percentile(millis, 0.99).toFixed(1)} ms, ${Math.round(positions / seconds)} positions a second, ${shown.reduce((sum, { rises }) => sum + rises.length, 0)} rises, oldest place ${longestOld(turn).toFixed(2)} s, of a core: gates ${cpu.gates.toFixed(2)}, Redis ${cpu.redis.toFixed(2)}, pages ${cpu.pages.toFixed(2)}`,
        )
      }
    }
    const of = (pick: (turn: Turn) => number) =>
      Object.fromEntries(Object.entries(turns).map(([name, all]) => [name, all.map(pick)]))
    const behindWords = behind === 0 ? "" : `, ${behind} held behind`
    const how = `a call every ${CALL_EVERY_MILLIS} ms, ${connected} connected to ${gates} gates${behindWords}`
    const p99: Figures = {
      name: `webhook to start call, p99 of ${calls}, ${how}`,
      unit: "ms",
      of: of(({ millis }) => percentile(millis, 0.99)),
    }
    const told = of(({ seconds, shown }) => shown.reduce((sum, each) => sum + each.positions, 0) / seconds)
    const positions: Figures = {
      name: `positions pushed, ${how}${before === undefined ? "" : `, before ${beforeConnected}`}`,
      unit: "a second and 1,000 connected",
      of: {
        waiting: (told.waiting ?? []).map((all) => (all * 1_000) / connected),
        ...(told.before === undefined ? {} : { before: told.before.map((all) => (all * 1_000) / beforeConnected) }),
      },
    }
    const now = turns.waiting ?? []
    return {
      figures: [p99, positions],
      ratios: [
        ratio(p99, "waiting", "none", { atMost: 1.25 }),
        ...(before === undefined ? [] : [ratio(positions, "waiting", "before", { atMost: 0.1 })]),
        figure("the oldest place shown to one of the first hundred, s", now.map(longestOld), { atMost: TICK_SECONDS }),
        figure(
          "places that rose although nobody returned",
          now.map(({ shown }) => shown.reduce((sum, { rises }) => sum + rises.length, 0)),
          { atMost: 0 },
        ),
      ],
    }
  } finally {
    for (const stop of stops) await stop()
  }
}
