/**
 * Callers who wait for budgets of their own (`OnLimit: wait`, `Of: caller`), over 3 gates, which are killed with kill -9 meanwhile; on a single
 * Redis, behind Sentinels and on a Cluster, whose master dies too. A few callers ask for many calls each, from as many tabs: their budgets are
 * enough for some of them. An operator adds to the budgets again and again, a little each time, and sends some of it twice; the next hour is enough
 * for the rest. Others ask for one call each, and do not wait for any of that. Afterwards all have talked, each once, the others in order;
 * settled, held and left add up for each caller, and the cap is passed only by calls that lasted longer than what was held for them.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { callerBook, campaignBook } from "../../../src/budgets/keys.ts"
import { limitKey } from "../../../src/lib/ip/address.ts"
import type { Bench } from "../../harness/gate.ts"
import { ledgerViolations } from "../../model/budgets.ts"
import { type BookContent, uncharged, viewBooks } from "../support/books.ts"
import { FAILOVER_OUTCOMES } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { KEY, type Killable, onCluster, onRedis, onSentinel } from "../support/killable.ts"
import { killGates } from "../support/kills.ts"
import { watchOwnBudgets } from "../support/own-budget-watch.ts"
import { type Crowd, makeRig, type Rig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"
import {
  HOUR_MILLIS,
  hourOf,
  LEAST,
  longest,
  MINIMUM,
  MINUTE_MILLIS,
  MOST_IDLE_MILLIS,
  makeOperator,
  type Operator,
  outsideFailover,
  sessionsOf,
  settingsOf,
  settle,
  sumOf,
  total,
  wrongBalance,
  zoneOf,
} from "../support/waits-for-budgets.ts"

/** So many callers with budgets that are used up, and others. At most 100 tickets may wait for such budgets. All must be served in time. */
const SIZES = {
  small: {
    people: 6,
    others: 24,
    slots: 6,
    kills: 3,
    arriveMillis: 6_000,
    hourMillis: 80_000,
    longestMillis: 240_000,
  },
  full: {
    people: 12,
    others: 900,
    slots: 30,
    kills: 20,
    arriveMillis: 60_000,
    hourMillis: 120_000,
    longestMillis: 600_000,
  },
}
/** How many calls each of these callers asks for. */
const EACH = 8
/** What such a caller has for an hour (s): a call is charged 6 of it and needs 12 to begin, so it is enough for six, two at a time at most. */
const CAP = 42
/** What an operator adds each time (s): enough for two calls more. */
const ADDED = 12
/** What an operator adds at most of what is missing: the rest waits for the next hour. */
const SHARE = 0.5

/** How long nobody may find that the budget of a caller has time again (ms): 5 seconds are promised, and gates may have died that looked. */
const MOST_UNFOUND_MILLIS = 10_000
/** So long somebody must have waited for a budget of his own (ms). */
const LEAST_WAITED_MILLIS = 10_000

const addressOf = (person: number): string => `198.51.100.${person + 1}`
const bookOf = (person: number): ReadonlyArray<string> => callerBook(limitKey(addressOf(person)))

const isWaitedFor = ({ callers }: Crowd): boolean => callers.some(({ outcome }) => outcome === undefined)

/** Adds a little at a time to one or another, but not all that is missing: some wait for the next hour. */
const supply = async (
  { chance }: Rig,
  crowd: Crowd,
  operator: Operator,
  people: number,
  hourEnds: number,
  isOver: () => boolean,
): Promise<void> => {
  const most = (people * EACH * MINIMUM - people * CAP) * SHARE
  while (!isOver()) {
    await sleep(chance.between(2_000, 4_000))
    // a failover may have lost what was added, and a gate that died what was held
    const isStuck = Date.now() > hourEnds + MINUTE_MILLIS
    if (isWaitedFor(crowd) && (isStuck || operator.counts().added + ADDED <= most))
      await operator.add(ADDED / 60, addressOf(chance.below(people)))
  }
}

/** What each line may have beyond its cap: what calls used beyond the least that was held for them, since this budget ends none. */
const beyond = ({ holds }: BookContent, line: string): number =>
  sumOf(holds.filter((hold) => hold.line === line && hold.settled).map(({ amount }) => Math.max(0, amount - LEAST)))

/** What is wrong with what the callers' books have, when everything is settled. */
const wrongBooks = (
  rig: Rig,
  own: ReadonlyArray<BookContent>,
  charged: number,
  added: number,
  failedAt: number | undefined,
): ReadonlyArray<string> => {
  const { had, started } = sessionsOf(rig)
  // what a failover has lost is not bounded
  const isWhole = failedAt === undefined
  const adjusted = sumOf(own.flatMap(({ lines }) => [...lines.values()].map((line) => line.adjusted)))
  return [
    ...own.flatMap((book) =>
      ledgerViolations(book.lines, book.holds, new Map(), (line, has) =>
        isWhole ? CAP + has.adjusted + beyond(book, line) : undefined,
      ),
    ),
    ...uncharged(rig.platform.sessions, charged, failedAt),
    ...(charged > started ? [`${charged} calls were charged, and ${started} sessions were started`] : []),
    ...(isWhole && charged < had ? [`${charged} calls were charged, and callers had ${had}`] : []),
    ...((isWhole ? adjusted === added : adjusted <= added)
      ? []
      : [`an operator has added ${added} s, and the budgets were given ${adjusted} s`]),
  ]
}

const scenario = (name: string, fault: string, start: (bench: Bench) => Promise<Killable>): Scenario => ({
  name,
  run: async (size, seed, bench) => {
    const { arriveMillis, hourMillis, kills, longestMillis, others, people, slots } = SIZES[size]
    const { kill, url } = await start(bench)
    const zone = zoneOf(hourMillis)
    const hourEnds = hourOf(Date.now(), zone.aheadMillis) + HOUR_MILLIS
    const settings = settingsOf({ Name: "own", Of: "caller", Cap: CAP / 60 }, zone.name)
    const rig = await makeRig({
      ...{ seed, bench, storeUrl: url, gates: 3, slots, settings },
      ...{ joinMillis: 4_000, startMillis: 200, calledAnew: true },
    })
    const books = bench.own(viewBooks(url))
    const lineAt = (now: number): string => `own ${hourOf(now, zone.aheadMillis)}`
    const watch = bench.own(watchOwnBudgets(rig.view, books, slots, { cap: CAP, least: LEAST, lineAt }))
    const operator = makeOperator(rig, "own")
    const talkMillis = [200, 1_000] as const
    const tabs = rig.crowd({
      callers: people * EACH,
      arriveMillis,
      talkMillis,
      addressOf: (i) => addressOf(i % people),
    })
    const single = rig.crowd({ callers: others, arriveMillis, talkMillis })
    let isOver = false
    const supplying = supply(rig, tabs, operator, people, hourEnds, () => isOver)
    const killing = killGates(rig, kills, kill)
    await Promise.all([tabs.done(longestMillis), single.done(longestMillis)])
    isOver = true
    await supplying
    const failedAt = await killing
    const idle = longest(outsideFailover(watch.idle(), failedAt))
    const unfound = longest(outsideFailover(watch.unfound(), failedAt))
    const passedOver = new Set(tabs.callers)
    const verdict = await judge(
      rig,
      failedAt === undefined
        ? { outcomes: [], putBack: true, passedOver }
        : { outcomes: FAILOVER_OUTCOMES, rollback: true },
    )
    const all = Array.from({ length: people }, (_, person) => bookOf(person))
    const took = await settle(rig, books, [...all, campaignBook(KEY)])
    const own = await Promise.all(all.map((keys) => books.book(keys)))
    const { billed } = await books.book(campaignBook(KEY))
    const { added, count } = operator.counts()
    const waited = total(watch.awaited())
    const waiters = watch.tickets().size
    const hours = new Set(own.flatMap(({ lines }) => [...lines.keys()])).size
    const long = billed.filter((seconds) => seconds > LEAST).length
    const allowance = 2 * rig.stalled()
    const balance = await wrongBalance(rig, "own", own[0] ?? { lines: new Map(), holds: [], billed: [] }, addressOf(0))
    const wrongs = [
      ...verdict.wrongs,
      ...watch.wrongs(),
      ...(failedAt === undefined && long === 0 ? watch.overdrawn() : []),
      ...(idle > MOST_IDLE_MILLIS + allowance
        ? [`W5: callers waited for ${Math.round(idle)} ms while a slot was free and their budgets had time`]
        : []),
      ...(unfound > MOST_UNFOUND_MILLIS + allowance
        ? [`W8: the budget of a caller who waited for it had time again for ${Math.round(unfound)} ms`]
        : []),
      ...wrongBooks(rig, own, billed.length, added, failedAt),
      ...balance,
      ...(waited < LEAST_WAITED_MILLIS || waiters < people || hours < 2
        ? [`nothing was shown: ${waiters} tickets waited for ${Math.round(waited)} ms, in ${hours} hours`]
        : []),
    ]
    const { had, started } = sessionsOf(rig)
    const putBack = tabs.callers.filter((caller) => caller.putBack).length
    const settled = sumOf(own.flatMap(({ lines }) => [...lines.values()].map((line) => line.settled)))
    return [
      {
        fault: `${people} callers with ${EACH} calls each who wait for budgets of their own, and ${others} others, kill -9 of one of 3 gates ${kills} times${fault}`,
        promised:
          "nobody is refused; who waits for a budget of his own holds up nobody, and is called when it has time again, within 5 seconds; each call is charged once, within the cap",
        seen:
          `${inWords(verdict.outcomes)}; ${waiters} tickets waited for such a budget, ${Math.round(waited / 1000)} s in all; an operator added to budgets ${count} times; ` +
          `nobody found for ${Math.round(unfound)} ms at most that one had time again; for ${Math.round(idle)} ms at most nobody else was called for no reason; ` +
          `${putBack} of these tickets were called again; ${started} sessions, ${had} with a caller, ${billed.length} charged, ${long} of them more than the least that is held; ` +
          `these callers ${settled} s of ${people * hours * CAP + added} s; ${peaksInWords(verdict, rig)}`,
        back: `all settled after ${Math.round(took / 1000)} s`,
        wrongs,
      },
    ]
  },
})

export const ownBudgetWaits: Scenario = scenario("own-budget-waits", "", onRedis)

export const ownBudgetWaitsSentinel: Scenario = scenario(
  "own-budget-waits-sentinel",
  " and of the master behind 3 Sentinels",
  onSentinel,
)

export const ownBudgetWaitsCluster: Scenario = scenario(
  "own-budget-waits-cluster",
  " and of the campaign's master in a Cluster of 6",
  onCluster,
)
