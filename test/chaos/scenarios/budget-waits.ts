/**
 * Callers of a campaign with a budget for which they wait (`OnLimit: wait`), over 3 gates, which are killed with kill -9 meanwhile; on a single
 * Redis, behind Sentinels and on a Cluster, whose master dies too. The budget is soon used up; an operator adds to it again and again, a little
 * each time, and sends some of it twice; the last callers are served by the next hour. Afterwards all have talked, in order and each once,
 * settled, held and left add up, and the cap is passed only by calls that lasted longer than what was held for them.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { campaignBook } from "../../../src/budgets/keys.ts"
import type { Bench } from "../../harness/gate.ts"
import { ask } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { ledgerViolations } from "../../model/budgets.ts"
import { isDrained } from "../../model/over.ts"
import { type BookContent, type BooksView, uncharged, viewBooks } from "../support/books.ts"
import { type BudgetWatch, type Span, watchBudget } from "../support/budget-watch.ts"
import { FAILOVER_OUTCOMES } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { KEY, type Killable, onCluster, onRedis, onSentinel } from "../support/killable.ts"
import { type Crowd, makeRig, type Rig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

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
/** What a call is billed at least (s): these calls are shorter, so all are billed exactly this. */
const MINIMUM = 6
/** What a call holds at first (s): none uses it up. */
const BLOCK = 30
/** With less no call begins (s): `EndLeadSeconds`, and 10 more. */
const LEAST = 12
/** An operator reads and changes the budget with it. */
const TOKEN = "a-token-of-the-budgets"
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }

/** How long nobody may be called although somebody waits, a slot is free and the budget has time (ms): a second is promised, and a gate may have died. */
const MOST_IDLE_MILLIS = 5_000
/** How long after a failover nothing is promised of that (ms): the gates have to find the new master, and hold calls after the outage. */
const FAILOVER_MILLIS = 30_000

/** So long callers must have waited for the budget in all (ms). */
const LEAST_WAITED_MILLIS = 5_000

const HOUR_MILLIS = 3_600_000
const MINUTE_MILLIS = 60_000

/** The zone in which an hour ends at a minute's end, at the earliest after `soonest` ms. */
const zoneOf = (soonest: number): { readonly name: string; readonly aheadMillis: number } => {
  const end = new Date(Math.ceil((Date.now() + soonest) / MINUTE_MILLIS) * MINUTE_MILLIS).getUTCMinutes()
  const ahead = (60 - end) % 60
  return { name: `+00:${String(ahead).padStart(2, "0")}`, aheadMillis: ahead * MINUTE_MILLIS }
}

/** When the hour of a moment began (ms since 1970). */
const hourOf = (now: number, aheadMillis: number): number =>
  Math.floor((now + aheadMillis) / HOUR_MILLIS) * HOUR_MILLIS - aheadMillis

const settingsOf = (capMinutes: number, zone: string) => {
  const base = "VoiceAiPlatform__"
  const budget = { Name: "team", Of: "campaign", Unit: "minutes", Per: "hour", Cap: capMinutes, OnLimit: "wait" }
  return {
    [`${base}Price__MinimumSeconds`]: String(MINIMUM),
    [`${base}Budget__BlockSeconds`]: String(BLOCK),
    [`${base}Budget__EndLeadSeconds`]: String(LEAST - 10),
    [`${base}Budget__Zone`]: zone,
    [`${base}Budget__Token`]: TOKEN,
    ...Object.fromEntries(Object.entries(budget).map(([name, value]) => [`${base}Budgets__0__${name}`, `${value}`])),
    // callers are called in the order of their requests, wherever they come from
    Queue__NetworkShare: "1",
  }
}

/** An operator, who sends each addition until a gate has answered, and sometimes again. Returns how much was added (s). */
const makeOperator = ({ chance, seats }: Rig) => {
  let [count, added] = [0, 0]
  const send = async (id: string, minutes: number): Promise<boolean> => {
    const answer = await ask("POST", `${seats[chance.below(seats.length)]?.url}/api/budgets/team`, {
      headers: AUTHORIZED,
      body: { by: minutes, id, reason: "callers wait" },
    }).catch(() => undefined)
    return answer?.status === 200
  }
  return {
    add: async (minutes: number): Promise<void> => {
      const id = `addition-${count++}`
      added += minutes * 60
      while (!(await send(id, minutes))) await sleep(200)
      if (chance.percent(30)) await send(id, minutes)
    },
    counts: () => ({ count, added }),
  }
}

const unanswered = ({ callers }: Crowd): number => callers.filter(({ outcome }) => outcome === undefined).length

/** Adds a little at a time, but not what the last callers need: they wait for the next hour. */
const supply = async (
  { chance }: Rig,
  crowd: Crowd,
  operator: ReturnType<typeof makeOperator>,
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

const total = (spans: ReadonlyArray<Span>): number => spans.reduce((sum, { from, to }) => sum + to - from, 0)
const longest = (spans: ReadonlyArray<Span>): number => Math.max(0, ...spans.map(({ from, to }) => to - from))

/** How long nobody was called for no reason, but for the time of a failover. */
const idleMillis = (watch: BudgetWatch, failedAt: number | undefined): number =>
  longest(
    watch.idle().filter(({ from, to }) => failedAt === undefined || from > failedAt + FAILOVER_MILLIS || to < failedAt),
  )

/** What an operator reads of the present hour adds up. */
const wrongBalance = async (url: string, { lines }: BookContent): Promise<ReadonlyArray<string>> => {
  const answer = await ask("GET", `${url}/api/budgets/team`, { headers: AUTHORIZED })
  const seconds = (name: string): number => Math.round(Number(answer.json[name]) * 60)
  const line = lines.get(`team ${Date.parse(String(answer.json.windowFrom))}`)
  const { held = 0, settled = 0 } = line ?? {}
  const isSo =
    seconds("settled") === settled &&
    seconds("held") === held &&
    seconds("settled") + seconds("held") + seconds("left") - seconds("overrun") ===
      seconds("cap") + seconds("adjusted") &&
    Math.min(seconds("left"), seconds("overrun")) === 0
  return isSo ? [] : [`the balance is ${answer.text}, and its ledger has ${JSON.stringify(line)}`]
}

const sumOf = (all: Iterable<number>): number => [...all].reduce((sum, each) => sum + each, 0)

/** What each line may have beyond its cap: what calls used beyond the block that was held for them, since this budget ends none. */
const beyond = ({ holds }: BookContent, line: string): number =>
  sumOf(holds.filter((hold) => hold.line === line && hold.settled).map(({ amount }) => Math.max(0, amount - BLOCK)))

/** Gates die, and in the middle of it the campaign's master, where it has a replica. Returns when the master has (ms, by `performance.now`). */
const killThem = async (
  { chance, seats }: Rig,
  kills: number,
  killMaster: Killable["kill"],
): Promise<number | undefined> => {
  let failedAt: number | undefined
  for (let n = 0; n < kills; n++) {
    await sleep(chance.between(1_000, 2_000))
    if (n === 1 && killMaster !== undefined) {
      failedAt = performance.now()
      await killMaster()
    }
    const seat = seats[chance.below(seats.length)]
    await seat?.kill("SIGKILL")
    await sleep(chance.between(200, 1_000))
    await seat?.start()
    await seat?.ready()
  }
  return failedAt
}

/** Waits until nothing is held or owed any more. Returns how long that took (ms). */
const settle = async ({ view }: Rig, books: BooksView): Promise<number> => {
  const began = performance.now()
  // a lost end is found by the longest call or the audit; what nobody settles, a minute after
  await eventually(
    "everything is settled",
    async () => {
      const state = await view.look()
      const { holds } = await books.book(campaignBook(KEY))
      const open = holds.filter(({ settled }) => !settled).length
      if (state === undefined || !isDrained(state) || open > 0)
        throw new Error(`${open} holds, ${state?.leases.size} leases, ${state?.charges.size} charges`)
      return true
    },
    300_000,
  )
  return performance.now() - began
}

/** The sessions that were started, and those with a caller. */
const sessionsOf = ({ platform: { sessions } }: Rig) => ({
  started: sessions.length,
  had: sessions.filter(({ joinedAt }) => joinedAt !== undefined).length,
})

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
      ...{ seed, bench, storeUrl: url, gates: 3, slots, settings: settingsOf(cap / 60, zone.name) },
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
    const operator = makeOperator(rig)
    const crowd = rig.crowd({ callers, arriveMillis, talkMillis: [200, 1_000] })
    let isOver = false
    const supplying = supply(rig, crowd, operator, SIZES[size], hourEnds, () => isOver)
    const killing = killThem(rig, kills, kill)
    await crowd.done(600_000)
    isOver = true
    await supplying
    const failedAt = await killing
    const [awaited, idle] = [watch.awaited(), idleMillis(watch, failedAt)]
    // those who come at last find all slots, and the budget has enough for them
    await operator.add(Math.ceil((2 * (slots + 1) * BLOCK) / 60))
    const verdict = await judge(
      rig,
      failedAt === undefined ? { outcomes: [], putBack: true } : { outcomes: FAILOVER_OUTCOMES, rollback: true },
    )
    const took = await settle(rig, books)
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
      ...(await wrongBalance(rig.seats[0]?.url ?? "", book)),
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
