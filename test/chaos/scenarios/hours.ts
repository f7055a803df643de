/**
 * Callers of a campaign that closes by its hours, and that offers something else to those who wait long, over 3 gates, which are killed with
 * kill -9 meanwhile, one of them while waits are ended; on a single Redis, behind Sentinels and on a Cluster, whose master dies too. Nobody is
 * let in after the close, those who wait are served for a minute, then each wait ends once and counts no more; what is offered is told to
 * whoever waits long, and nothing that is closed is offered.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Bench } from "../../harness/gate.ts"
import { ask, field } from "../../harness/http.ts"
import { addressOf, type Caller } from "../support/caller.ts"
import { FAILOVER_OUTCOMES } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { type Killable, onCluster, onRedis, onSentinel } from "../support/killable.ts"
import { killGates } from "../support/kills.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Scenario, Size } from "../support/scenario.ts"

/** `late` callers come until some time after the close. There are too many calls for the slots, so that some still wait in the end. */
const SIZES = {
  small: { callers: 36, late: 20, slots: 4, kills: 3, arriveMillis: 6_000 },
  full: { callers: 400, late: 200, slots: 20, kills: 12, arriveMillis: 15_000 },
}
const TALK_MILLIS = [15_000, 25_000] as const
/** How long the gates may need to start, before the first caller comes. */
const START_MILLIS = 20_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** The campaign serves those who wait for so long after the close. */
const SERVED_MILLIS = MINUTE
/** Nobody is let in from so long after the close on: clocks differ, and a request takes its time. */
const CLOSED_MILLIS = 1_000
/** How late a page may learn that its wait has ended: its gate may have died. After a failover, gates have to find the new master. */
const TOLD_MILLIS = 15_000
const FAILOVER_MILLIS = 30_000
/** A wait of so many seconds is long. How late a page may learn of an offer (ms). */
const LONG = 20
const OFFERED_MILLIS = 12_000
const TOKEN = "a-token-of-the-events"
const OFFERED = ["number tel:+4930123456", "campaign sales"]
/** What a caller may ask for in an hour, and of how many callers it is counted what is left. */
const HOURLY = 5
const COUNTED = 20

/** Settings by which the campaign closes at a minute's end, at the earliest after `soonest` ms, in a zone in which it is about noon. */
const closing = (soonest: number) => {
  const closesAt = Math.ceil((Date.now() + soonest) / MINUTE) * MINUTE
  const ahead = 12 - new Date().getUTCHours()
  const [date = "", time = ""] = new Date(closesAt + ahead * HOUR).toISOString().split("T")
  const base = "VoiceAiPlatform__"
  return {
    closesAt,
    settings: {
      [`${base}Hours__Zone`]: ahead === 0 ? "Etc/GMT" : `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`,
      [`${base}Hours__Open__0`]: `Daily 00:00-${time.slice(0, 5)}`,
      [`${base}Hours__AfterCloseMinutes`]: String(SERVED_MILLIS / MINUTE),
      [`${base}Overflow__AfterSeconds`]: String(LONG),
      [`${base}Overflow__Offers__0`]: "Call us tel:+4930123456",
      [`${base}Overflow__Offers__1`]: "Ask sales campaign:sales",
      [`${base}Overflow__Offers__2`]: "Ask the others campaign:night",
      [`${base}Campaigns__sales__WebCampaignId`]: "campaign-2",
      [`${base}Campaigns__sales__MaxConcurrency`]: "1000",
      [`${base}Campaigns__sales__Hours__Open__0`]: "always",
      [`${base}Campaigns__night__WebCampaignId`]: "campaign-3",
      [`${base}Campaigns__night__Hours__Open__0`]: "always",
      [`${base}Campaigns__night__Hours__Closed__0`]: date,
      [`${base}Events__Token__0`]: TOKEN,
      Security__RateLimitHourly: String(HOURLY),
      // whoever asks again and again while the store fails gets each unit back
      Security__RefundsPerHour: "1000",
      // callers are called in the order of their requests, wherever they come from
      Queue__NetworkShare: "1",
    },
  }
}

/** The wall clock, of a moment by `performance.now`. */
const timeOf = (at: number): number => at + Date.now() - performance.now()

/** What is wrong with when a caller was let in or not, and with when the wait ended. */
const wrongHours = (caller: Caller, closesAt: number, toldMillis: number): ReadonlyArray<string> => {
  const { endedAt = 0, name, outcome, refusal = "", ticket } = caller
  const [asked, answered, ended] = [caller.askedAt, caller.answeredAt, endedAt].map((at) => timeOf(at) - closesAt)
  const sinceEnd = (ended ?? 0) - SERVED_MILLIS
  return [
    ...(ticket !== undefined && (asked ?? 0) > CLOSED_MILLIS ? [`H3: caller ${name} was let in ${asked} ms late`] : []),
    ...(outcome === "not let in" && (answered ?? 0) < 0 && !refusal.includes("before your turn")
      ? [`H3: caller ${name} was not let in ${-(answered ?? 0)} ms before the close: ${refusal}`]
      : []),
    ...(outcome === "closed" && sinceEnd < 0
      ? [`H1: the wait of caller ${name} ended ${Math.ceil(-sinceEnd)} ms early`]
      : []),
    ...(outcome === "closed" && sinceEnd > toldMillis
      ? [`H1: caller ${name} learnt ${sinceEnd} ms late that the wait had ended`]
      : []),
  ]
}

/**
 * What is wrong with what a caller was offered. A caller whom a gate lets in when the first calls have ended may expect a long wait.
 *
 * @param firstEnd when a call ended first (`performance.now`): before, nobody expects anything
 */
const wrongOffers = (
  { askedAt, endedAt, name, offered, queued, startedAt }: Caller,
  firstEnd: number,
  late: number,
) => {
  const waited = (startedAt ?? endedAt ?? askedAt) - askedAt
  const early = offered.find(({ at }) => at < firstEnd && at - askedAt < LONG * 1_000 - 100)
  const wrong = offered.find(({ offers }) => offers.join() !== OFFERED.join())
  const connections = offered.flatMap(({ connection }) => (connection === 0 ? [] : connection))
  return [
    ...(early === undefined || !queued
      ? []
      : [`O1: caller ${name} was offered something after ${Math.round(early.at - askedAt)} ms`]),
    ...(wrong === undefined ? [] : [`O3: caller ${name} was offered ${wrong.offers.join(", ")}`]),
    ...(queued && waited > LONG * 1_000 + late && offered.length === 0
      ? [`O2: caller ${name} was offered nothing in ${Math.round(waited)} ms`]
      : []),
    ...(new Set(connections).size === connections.length ? [] : [`O2: caller ${name} was offered something twice`]),
  ]
}

interface Ended {
  readonly type: string
  readonly ticketHash: string
  readonly reason?: string
}

/** The ends that the campaign's log has, by ticket. */
const endsIn = async (url: string): Promise<ReadonlyMap<string, ReadonlyArray<string>>> => {
  const ends = new Map<string, ReadonlyArray<string>>()
  for (let after = ""; ; ) {
    const { json } = await ask("GET", `${url}/api/events?limit=200${after}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    const events: ReadonlyArray<Ended> = Array.isArray(json.events) ? json.events : []
    for (const { reason = "", ticketHash, type } of events) {
      if (type === "call.ended") ends.set(ticketHash, [...(ends.get(ticketHash) ?? []), reason])
    }
    if (json.more !== true) return ends
    after = `&after=${json.next}`
  }
}

/** Each wait has ended once, and the log says so; read before the gates are restarted, of a store that has lost nothing. */
const wrongEnds = async (rig: Rig): Promise<ReadonlyArray<string>> => {
  const ends = await endsIn(rig.seats[0]?.url ?? "")
  const state = await rig.view.look()
  const closed = [...(state?.tickets.values() ?? [])].filter((ticket) => ticket.state === "closed").length
  const told = [...ends.values()].flat().filter((reason) => reason === "closed").length
  const twice = [...ends.values()].filter((reasons) => reasons.length > 1).length
  return [
    ...(told === closed ? [] : [`H2: ${closed} waits ended as closed, and the log has ${told}`]),
    ...(twice === 0 ? [] : [`E1: ${twice} tickets have ended twice`]),
  ]
}

/** Whose wait was ended can ask as often as the limit says, and who has talked or left once less. */
const wrongQuotas = async ({ crowds, seats }: Rig): Promise<ReadonlyArray<string>> => {
  const callers = crowds.flatMap((crowd) => crowd.callers).filter(({ ghosts }) => ghosts.length === 0)
  const wrongs: Array<string> = []
  for (const [outcome, left] of [
    ["closed", HOURLY],
    ["left", HOURLY - 1],
    ["not let in", HOURLY],
    ["talked", HOURLY - 1],
  ] as const) {
    for (const { name } of callers.filter((caller) => caller.outcome === outcome).slice(0, COUNTED)) {
      let got = 0
      for (let n = 0; n <= HOURLY; n++) {
        const answer = await ask("POST", `${seats[n % seats.length]?.url}/api/session/request`, {
          headers: { "x-forwarded-for": addressOf(name) },
          body: { campaignId: "sales", clientIdentifier: `again-${name}-${n}` },
        })
        if (answer.status === 200 || answer.status === 202) got++
        else if (answer.status !== 429) wrongs.push(`a request was answered ${answer.status} ${field(answer, "code")}`)
      }
      if (got !== left) wrongs.push(`H2: caller ${name} ended as "${outcome}" and could ask ${got} times, not ${left}`)
    }
  }
  return wrongs
}

/** When gates die: while callers come, after the close, when the last waits end, and in a large run at any time. */
const momentsOf = (size: Size, { chance }: Rig, closesAt: number): ReadonlyArray<number> => {
  const now = Date.now()
  const end = closesAt + SERVED_MILLIS
  const others = Array.from({ length: SIZES[size].kills - 3 }, () => now + chance.below(end - now))
  return [
    now + chance.between(2_000, 5_000),
    closesAt + chance.between(0, 3_000),
    end + chance.between(-300, 900),
    ...others,
  ].toSorted((a, b) => a - b)
}

const scenario = (name: string, fault: string, start: (bench: Bench) => Promise<Killable>): Scenario => ({
  name,
  run: async (size, seed, bench) => {
    const { arriveMillis, callers, kills, late, slots } = SIZES[size]
    const { kill, url } = await start(bench)
    const { closesAt, settings } = closing(START_MILLIS + arriveMillis)
    const rig = await makeRig({
      ...{ seed, bench, storeUrl: url, gates: 3, slots, settings },
      ...{ joinMillis: 4_000, startMillis: 200, calledAnew: true },
    })
    const crowd = rig.crowd({ callers, arriveMillis, talkMillis: TALK_MILLIS, takesOffers: 6 })
    const moments = momentsOf(size, rig, closesAt)
    const killing = killGates(rig, moments.length, kill, (n) => Math.max(0, (moments[n] ?? 0) - Date.now()))
    await sleep(arriveMillis)
    const lateCrowd = rig.crowd({
      ...{ callers: late, talkMillis: TALK_MILLIS },
      arriveMillis: Math.max(0, closesAt - Date.now()) + 20_000,
    })
    const within = closesAt - Date.now() + SERVED_MILLIS + FAILOVER_MILLIS + MINUTE
    await Promise.all([crowd.done(within), lateCrowd.done(within)])
    const failedAt = await killing
    const isWhole = failedAt === undefined
    const all = rig.crowds.flatMap((each) => each.callers)
    const firstEnd = Math.min(...rig.platform.sessions.map(({ endedAt = Number.POSITIVE_INFINITY }) => endedAt))
    const tolerance = (isWhole ? 0 : FAILOVER_MILLIS) + 2 * rig.stalled()
    const ofCallers = all.flatMap((caller) => [
      ...wrongHours(caller, closesAt, TOLD_MILLIS + tolerance),
      ...wrongOffers(caller, firstEnd, OFFERED_MILLIS + tolerance),
    ])
    const ofLog = isWhole ? await wrongEnds(rig) : []
    // the campaign is open again
    for (const seat of rig.seats) {
      seat.settings = { ...seat.settings, VoiceAiPlatform__Hours__Open__0: "Daily 00:00-24:00" }
      await seat.kill("SIGKILL")
      await seat.start()
    }
    await Promise.all(rig.seats.map((seat) => seat.ready()))
    const ends = ["closed", "left", "not let in"]
    const verdict = await judge(
      rig,
      isWhole ? { outcomes: ends, putBack: true } : { outcomes: [...ends, ...FAILOVER_OUTCOMES], rollback: true },
    )
    const ofQuotas = isWhole ? await wrongQuotas(rig) : []
    const missing = ["talked", ...ends].filter((outcome) => (verdict.outcomes.get(outcome) ?? 0) === 0)
    const offered = all.filter((caller) => caller.offered.length > 0).length
    const waits = all.filter(({ outcome }) => outcome === "closed").map(({ endedAt = 0 }) => timeOf(endedAt) - closesAt)
    return [
      {
        fault: `${callers + late} callers of a campaign that closes, kill -9 of one of 3 gates ${kills} times${fault}`,
        promised:
          "nobody is let in after the close; those who wait are served for a minute more, then each wait ends once and its request does not count; whoever waits long is offered what can be had",
        seen:
          `${inWords(verdict.outcomes)}; ${offered} were offered something; the last who waited learnt ${(Math.max(0, ...waits) / 1000).toFixed(1)} s after the close ` +
          `that it was closed; ${inWords(verdict.troubles)}; ${peaksInWords(verdict, rig)}`,
        back: "–",
        wrongs: [
          ...verdict.wrongs,
          ...ofCallers,
          ...ofLog,
          ...ofQuotas,
          ...(missing.length === 0 ? [] : [`nothing was shown: nobody ended as ${missing.join(", ")}`]),
        ],
      },
    ]
  },
})

export const hours: Scenario = scenario("hours", "", onRedis)

export const hoursSentinel: Scenario = scenario("hours-sentinel", " and of the master behind 3 Sentinels", onSentinel)

export const hoursCluster: Scenario = scenario(
  "hours-cluster",
  " and of the campaign's master in a Cluster of 6",
  onCluster,
)
