/**
 * Calls of a campaign with budgets over 3 gates, which are killed with kill -9 meanwhile; on a single Redis, behind Sentinels and on a Cluster,
 * whose master dies too. Whoever is refused asks again, until the cap is reached. Afterwards settled, held and left add up, none is lost and none
 * counted twice, and the caps are kept; what is beyond them is counted.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { callerBook, campaignBook } from "../../../src/budgets/keys.ts"
import { limitKey } from "../../../src/lib/ip/address.ts"
import type { Bench } from "../../harness/gate.ts"
import { type Answer, type Ask, ask, field } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { ledgerViolations } from "../../model/budgets.ts"
import { isDrained } from "../../model/over.ts"
import { uncharged, viewBooks } from "../support/books.ts"
import { KEY, type Killable, onCluster, onRedis, onSentinel } from "../support/killable.ts"
import { killGates } from "../support/kills.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Scenario, Size } from "../support/scenario.ts"

/**
 * So many calls are asked for; the caps allow a share of them, so that the others are refused. At least `talks` callers must talk. Each tries for so
 * long to get a call (ms).
 */
const SIZES = {
  small: { calls: 80, share: 0.4, talks: 10, slots: 8, kills: 2, everyMillis: 60, longestTry: 90_000 },
  full: { calls: 1_800, share: 0.62, talks: 1_000, slots: 30, kills: 20, everyMillis: 90, longestTry: 60_000 },
}
const CALLERS = 25
/** What a call is billed at least (s): most of these calls are shorter, so most are billed exactly this. */
const MINIMUM = 6

const addressOf = (n: number): string => `198.51.100.${(n % CALLERS) + 1}`

/** With less no call begins (s): `EndLeadSeconds`, and 10 more. */
const LEAST = 12
/** An operator reads the balance with it. */
const TOKEN = "a-token-of-the-budgets"

/** What the caps allow, in seconds. */
const capOf = (size: Size) => ({
  team: Math.floor((SIZES[size].calls * SIZES[size].share * MINIMUM) / 60) * 60,
  own: 600,
})

const settingsOf = (size: Size) => {
  const { own, team } = capOf(size)
  const base = "VoiceAiPlatform__"
  return {
    [`${base}Price__MinimumSeconds`]: String(MINIMUM),
    [`${base}Budget__BlockSeconds`]: "30",
    [`${base}Budget__EndLeadSeconds`]: String(LEAST - 10),
    [`${base}Budget__Token`]: TOKEN,
    ...Object.fromEntries(
      [
        { Name: "team", Of: "campaign", Unit: "minutes", Per: "month", Cap: team / 60 },
        { Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: own / 60 },
      ].flatMap((budget, n) =>
        Object.entries(budget).map(([key, value]) => [`${base}Budgets__${n}__${key}`, `${value}`]),
      ),
    ),
    Security__RateLimitHourly: "0",
    Security__RateLimitDaily: "0",
  }
}

const codeOf = (answer: Answer | undefined): string | undefined =>
  answer === undefined ? undefined : field(answer, "code")

/** One caller after the other asks for a call, waits for a turn where all lines are busy, and asks again after a refusal. */
const play = async ({ chance, platform, seats }: Rig, size: Size) => {
  const { calls, everyMillis, longestTry } = SIZES[size]
  const counts = { talked: 0, refused: 0, waited: 0, broken: 0 }
  const send = (method: string, path: string, body?: Ask): Promise<Answer | undefined> =>
    ask(method, `${seats[chance.below(seats.length)]?.url}/api/session/${path}`, body).catch(() => undefined)
  /** Starts when it is the ticket's turn; undefined if the ticket is over. */
  const turn = async (ticket: string, until: number): Promise<Answer | undefined> => {
    while (performance.now() < until) {
      await sleep(chance.between(300, 700))
      const standing = await send("GET", ticket)
      if (standing === undefined || standing.status >= 500) continue
      const state = field(standing, "state")
      if (state === "called" || state === "live") {
        const started = await send("POST", `${ticket}/start`)
        if (started?.status === 200 || codeOf(started) === "budget_exhausted") return started
      } else if (state !== "waiting" && state !== "starting") return undefined
    }
    await send("DELETE", ticket)
    return undefined
  }
  const one = async (n: number): Promise<void> => {
    let wasRefused = false
    const until = performance.now() + longestTry
    for (let tries = 0; performance.now() < until; tries++) {
      const asked = await send("POST", "request", {
        headers: { "x-forwarded-for": addressOf(n) },
        body: { clientIdentifier: `call-${n}-${tries}` },
      })
      if (asked?.status === 202) counts.waited++
      const answer = asked?.status === 202 ? await turn(String(field(asked, "uniqueRequestId")), until) : asked
      if (answer?.status === 200) {
        const talked = await platform.talk(String(field(answer, "sessionId")), chance.between(200, 1_000))
        counts[talked ? "talked" : "broken"]++
        return
      }
      if (codeOf(answer) === "budget_exhausted") {
        // what others hold and do not use is free again
        if (!wasRefused) counts.refused++
        wasRefused = true
        await sleep(chance.between(3_000, 7_000))
      } else {
        counts.broken++
        await sleep(chance.between(200, 800))
      }
    }
  }
  const all: Array<Promise<void>> = []
  for (let n = 0; n < calls; n++) {
    all.push(one(n))
    await sleep(everyMillis)
  }
  return { counts, done: Promise.all(all) }
}

/** How often in a row a call must be refused before the budget counts as used up. */
const REFUSALS = 5

/** One call after the other, until the budget has no more: what calls held at the last is free again. Returns how many talked. */
const useUp = async ({ platform, seats }: Rig, size: Size): Promise<number> => {
  let [n, talked, refused] = [SIZES[size].calls, 0, 0]
  while (refused < REFUSALS) {
    const answer = await ask("POST", `${seats[0]?.url}/api/session/request`, {
      headers: { "x-forwarded-for": addressOf(n) },
      body: { clientIdentifier: `call-${n++}-0` },
    }).catch(() => undefined)
    const talks = answer?.status === 200 && (await platform.talk(String(field(answer, "sessionId")), 200))
    if (talks) talked++
    refused = talks ? 0 : refused + 1
    await sleep(500)
  }
  return talked
}

/** What an operator reads adds up, and what is beyond the cap is counted as overrun. */
const wrongBalance = async (url: string, cap: number, settled: number): Promise<ReadonlyArray<string>> => {
  const answer = await ask("GET", `${url}/api/budgets/team`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const seconds = (name: string): number => Math.round(Number(answer.json[name]) * 60)
  const [held, left, overrun] = [seconds("held"), seconds("left"), seconds("overrun")]
  const told = `the balance is ${answer.text}`
  return [
    ...(seconds("settled") === settled && held === 0 ? [] : [`${told}, and ${settled} s are settled`]),
    ...(settled + left - overrun === cap && Math.min(left, overrun) === 0 ? [] : [`${told}, of ${cap} s`]),
  ]
}

const scenario = (name: string, fault: string, start: (bench: Bench) => Promise<Killable>): Scenario => ({
  name,
  run: async (size, seed, bench) => {
    const { calls, kills, slots, talks } = SIZES[size]
    const caps = capOf(size)
    const { kill, url } = await start(bench)
    const rig = await makeRig({
      ...{ seed, bench, storeUrl: url, gates: 3, slots, settings: settingsOf(size) },
      ...{ joinMillis: 4_000, startMillis: 200, calledAnew: true },
    })
    const { platform, seats, view } = rig
    const books = bench.own(viewBooks(url))
    const playing = play(rig, size)
    const killing = killGates(rig, kills, kill)
    const { counts, done } = await playing
    const [failedAt] = await Promise.all([killing, done])
    const began = performance.now()
    // a lost end is found by the longest call or the audit; what nobody settles, a minute after
    const rest = () =>
      eventually(
        "everything is settled",
        async () => {
          const state = await view.look()
          const { holds } = await books.book(campaignBook(KEY))
          const open = holds.filter(({ settled }) => !settled).length
          if (state === undefined || !isDrained(state) || open + platform.running() + platform.untold() > 0)
            throw new Error(
              `${open} holds, ${state?.leases.size} leases, ${platform.running()} sessions, ${platform.untold()} untold`,
            )
          return true
        },
        300_000,
      )
    await rest()
    const took = performance.now() - began
    counts.talked += await useUp(rig, size)
    await rest()
    const wrongs: Array<string> = [...rig.wrongs]
    const { billed, holds, lines } = await books.book(campaignBook(KEY))
    wrongs.push(...ledgerViolations(lines, holds, new Map(), () => (kill === undefined ? caps.team : undefined)))
    const settled = [...lines.values()].reduce((sum, line) => sum + line.settled, 0)
    const started = platform.sessions.length
    const had = platform.sessions.filter(({ joinedAt }) => joinedAt !== undefined).length
    let ofCallers = 0
    for (let n = 0; n < CALLERS; n++) {
      const own = await books.book(callerBook(limitKey(addressOf(n))))
      wrongs.push(
        ...ledgerViolations(own.lines, own.holds, new Map(), () => (kill === undefined ? caps.own : undefined)),
      )
      for (const [line, { held }] of own.lines) if (held !== 0) wrongs.push(`${line} of a caller still holds ${held} s`)
      ofCallers += [...own.lines.values()].reduce((sum, line) => sum + line.settled, 0)
    }
    if (billed.length > started)
      wrongs.push(`${billed.length} calls were charged, and ${started} sessions were started`)
    if (kill === undefined && billed.length < had)
      wrongs.push(`${billed.length} calls were charged, and callers had ${had}`)
    if (counts.talked < talks || (kill === undefined && counts.refused === 0))
      wrongs.push(`nothing was shown: ${JSON.stringify(counts)}`)
    const over = Math.max(0, settled - caps.team)
    if (caps.team - settled >= LEAST) wrongs.push(`the cap is not reached: ${settled} s of ${caps.team} s are settled`)
    wrongs.push(...uncharged(platform.sessions, billed.length, failedAt))
    wrongs.push(...(await wrongBalance(seats[0]?.url ?? "", caps.team, settled)))
    return [
      {
        fault: `${calls} calls with budgets, kill -9 of one of 3 gates ${kills} times${fault}`,
        promised:
          "each call is charged once; the caps are kept, but for what a failover has lost, and that is counted as overrun",
        seen:
          `${counts.talked} talked, ${counts.refused} were refused by a budget, ${counts.waited} times somebody waited, ${counts.broken} requests broke; ` +
          `${started} sessions, ${had} with a caller, ${billed.length} charged: ${settled} s of ${caps.team} s (${over} s over), callers ${ofCallers} s`,
        back: `all settled after ${Math.round(took / 1000)} s`,
        wrongs,
      },
    ]
  },
})

export const budgetsKilled: Scenario = scenario("budgets-killed", "", onRedis)

export const budgetsSentinel: Scenario = scenario(
  "budgets-sentinel",
  " and of the master behind 3 Sentinels",
  onSentinel,
)

export const budgetsCluster: Scenario = scenario(
  "budgets-cluster",
  " and of the campaign's master in a Cluster of 6",
  onCluster,
)
