/**
 * Callers of a campaign with a budget for which they wait (`OnLimit: wait`), over 3 gates, which are killed with kill -9 meanwhile; on a single
 * Redis, behind Sentinels and on a Cluster, whose master dies too. The budget is soon used up; an operator adds to it again and again, a little
 * each time, and sends some of it twice; the last callers are served by the next hour. Afterwards all have talked, in order and each once,
 * settled, held and left add up, and the cap is passed only by calls that lasted longer than what was held for them.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { campaignBook } from "../../../src/budgets/keys.ts"
import type { Bench } from "../../harness/gate.ts"
import { ledgerViolations } from "../../model/budgets.ts"
import { type BookContent, uncharged, viewBooks } from "../support/books.ts"
import { watchBudget } from "../support/budget-watch.ts"
import { FAILOVER_OUTCOMES } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { KEY, type Killable, onCluster, onRedis, onSentinel } from "../support/killable.ts"
import { killGates } from "../support/kills.ts"
import { type Crowd, makeRig, type Rig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"
import {
  BLOCK,
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

/**
 * The cap of an hour and what is added each time, in minutes: a call is charged 6 seconds, so a minute is enough for ten. The last callers wait
 * for the next hour, which begins at the earliest after `hourMillis`.
 */
const SIZES = {
  small: { callers: 54, slots: 6, kills: 2, arriveMillis: 5_000, cap: 2, added: 1, last: 12, hourMillis: 40_000 },
  full: {
    callers: 1_000,
    slots: 30,
    kills: 20,
    arriveMillis: 60_000,
    cap: 20,
    added: 4,
    last: 150,
    hourMillis: 120_000,
  },
}
/** So long callers must have waited for the budget in all (ms). */
const LEAST_WAITED_MILLIS = 5_000

const unanswered = ({ callers }: Crowd): number => callers.filter(({ outcome }) => outcome === undefined).length

/** Adds a little at a time, but not what the last callers need: they wait for the next hour. */
const supply = async (
  { chance }: Rig,
  crowd: Crowd,
  operator: Operator,
  { added, callers, cap, last }: (typeof SIZES)["small"],
  hourEnds: number,
  isOver: () => boolean,
): Promise<void> => {
  const most = (callers - last) * MINIMUM - cap * 60
  while (!isOver()) {
    await sleep(chance.between(3_000, 5_000))
    // a failover may have lost what was added
    const isStuck = Date.now() > hourEnds + MINUTE_MILLIS
    if (unanswered(crowd) > 0 && (isStuck || operator.counts().added + added * 60 <= most)) await operator.add(added)
  }
}

/** What each line may have beyond its cap: what calls used beyond the block that was held for them, since this budget ends none. */
const beyond = ({ holds }: BookContent, line: string): number =>
  sumOf(holds.filter((hold) => hold.line === line && hold.settled).map(({ amount }) => Math.max(0, amount - BLOCK)))

/** What is wrong with what the book has, when everything is settled. */
const wrongBook = (
  rig: Rig,
  book: BookContent,
  cap: number,
  added: number,
  failedAt: number | undefined,
): ReadonlyArray<string> => {
  const { had, started } = sessionsOf(rig)
  const charged = book.billed.length
  const adjusted = sumOf([...book.lines.values()].map((line) => line.adjusted))
  // what a failover has lost is not bounded
  const isWhole = failedAt === undefined
  return [
    ...ledgerViolations(book.lines, book.holds, new Map(), (line, has) =>
      isWhole ? cap + has.adjusted + beyond(book, line) : undefined,
    ),
    ...uncharged(rig.platform.sessions, charged, failedAt),
    ...(charged > started ? [`${charged} calls were charged, and ${started} sessions were started`] : []),
    ...(isWhole && charged < had ? [`${charged} calls were charged, and callers had ${had}`] : []),
    ...((isWhole ? adjusted === added : adjusted <= added)
      ? []
      : [`an operator has added ${added} s, and the budget was given ${adjusted} s`]),
  ]
}

const scenario = (name: string, fault: string, start: (bench: Bench) => Promise<Killable>): Scenario => ({
  name,
  run: async (size, seed, bench) => {
    const { arriveMillis, callers, hourMillis, kills, slots } = SIZES[size]
    const cap = SIZES[size].cap * 60
    const { kill, url } = await start(bench)
    const zone = zoneOf(hourMillis)
    const hourEnds = hourOf(Date.now(), zone.aheadMillis) + HOUR_MILLIS
    const rig = await makeRig({
      ...{
        seed,
        bench,
        storeUrl: url,
        gates: 3,
        slots,
        settings: settingsOf({ Name: "team", Of: "campaign", Cap: cap / 60 }, zone.name),
      },
      ...{ joinMillis: 4_000, startMillis: 200, calledAnew: true },
    })
    const books = bench.own(viewBooks(url))
    const [ledger = ""] = campaignBook(KEY)
    const watch = bench.own(
      watchBudget(rig.view, slots, {
        ...{ ledger, cap, least: LEAST, block: BLOCK },
        lineAt: (now) => `team ${hourOf(now, zone.aheadMillis)}`,
      }),
    )
    const operator = makeOperator(rig, "team")
    const crowd = rig.crowd({ callers, arriveMillis, talkMillis: [200, 1_000] })
    let isOver = false
    const supplying = supply(rig, crowd, operator, SIZES[size], hourEnds, () => isOver)
    const killing = killGates(rig, kills, kill)
    await crowd.done(600_000)
    isOver = true
    await supplying
    const failedAt = await killing
    const [awaited, idle] = [watch.awaited(), longest(outsideFailover(watch.idle(), failedAt))]
    // those who come at last find all slots, and the budget has enough for them
    await operator.add(Math.ceil((2 * (slots + 1) * BLOCK) / 60))
    const verdict = await judge(
      rig,
      failedAt === undefined ? { outcomes: [], putBack: true } : { outcomes: FAILOVER_OUTCOMES, rollback: true },
    )
    const took = await settle(rig, books, [campaignBook(KEY)])
    const book = await books.book(campaignBook(KEY))
    const { added, count } = operator.counts()
    const waited = total(awaited)
    const long = book.billed.filter((seconds) => seconds > BLOCK).length
    const wrongs = [
      ...verdict.wrongs,
      // what a failover has lost may have been called for, and what a call used that lasted long
      ...(failedAt === undefined && long === 0 ? watch.wrongs() : []),
      ...(idle > MOST_IDLE_MILLIS + 2 * rig.stalled()
        ? [`W2: callers waited for ${Math.round(idle)} ms while a slot was free and the budget had time`]
        : []),
      ...wrongBook(rig, book, cap, added, failedAt),
      ...(await wrongBalance(rig, "team", book)),
      ...(waited < LEAST_WAITED_MILLIS || book.lines.size < 2
        ? [`nothing was shown: callers waited ${Math.round(waited)} ms for the budget, in ${book.lines.size} hours`]
        : []),
    ]
    const { had, started } = sessionsOf(rig)
    const lines = [...book.lines.values()]
    const settled = sumOf(lines.map((line) => line.settled))
    const over = sumOf(lines.map((line) => Math.max(0, line.settled - cap - line.adjusted)))
    const putBack = crowd.callers.filter((caller) => caller.putBack).length
    return [
      {
        fault: `${callers} callers who wait for a budget, kill -9 of one of 3 gates ${kills} times${fault}`,
        promised:
          "nobody is refused; who waits for the budget is called in order when it has time again, within a second; each call is charged once, within the cap",
        seen:
          `${inWords(verdict.outcomes)}; they waited for the budget ${Math.round(waited / 1000)} s in all, ${Math.round(longest(awaited) / 1000)} s at a time; ` +
          `an operator added to it ${count} times; for ${Math.round(idle)} ms at most nobody was called for no reason; ${putBack} were called again; ` +
          `${started} sessions, ${had} with a caller, ${book.billed.length} charged, ${long} of them more than they held at first: ${settled} s of ${lines.length * cap + added} s (${over} s over); ${peaksInWords(verdict, rig)}`,
        back: `all settled after ${Math.round(took / 1000)} s`,
        wrongs,
      },
    ]
  },
})

export const budgetWaits: Scenario = scenario("budget-waits", "", onRedis)

export const budgetWaitsSentinel: Scenario = scenario(
  "budget-waits-sentinel",
  " and of the master behind 3 Sentinels",
  onSentinel,
)

export const budgetWaitsCluster: Scenario = scenario(
  "budget-waits-cluster",
  " and of the campaign's master in a Cluster of 6",
  onCluster,
)
