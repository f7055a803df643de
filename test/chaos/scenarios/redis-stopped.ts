/**
 * Redis is stalled (SIGSTOP) while requests are on their way to it. They are answered with 503, and Redis executes them
 * when it resumes: strangers' tickets, which no caller knows of. Healthy callers arrive at the moment it resumes.
 */

import { setTimeout as sleep } from "node:timers/promises"
import { holdsSlot } from "../../../src/fifo-queue/rules/shared/ticket.ts"
import { ask, field } from "../../harness/http.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { seconds } from "../support/order.ts"
import { type Crowd, makeRig, type Rig } from "../support/rig.ts"
import type { Row, Scenario } from "../support/scenario.ts"

const SIZES = { small: { times: 1 }, full: { times: 2 } }
const SLOTS = 3
const STOPPED_MILLIS = 4_000
const STRANGERS = 60
const HEALTHY = 5
/** By then nothing may be left of what was answered with 503: the time clients take to reconnect, and a retry. */
const GONE_MILLIS = 5_000
/** How long a healthy caller may wait for the agent, behind two others' calls. */
const WAIT_MILLIS = 10_000
/** How long strangers are looked for, at least and at most. */
const LOOK_MILLIS = { least: 3_000, most: 90_000 }
/**
 * Strangers come from these addresses, each from its own network. Tickets' records and the keys of budgets name them.
 */
const STRANGE = "198.20."

/** Units in the budgets of strangers. */
const UNITS = `local n = 0
for _, key in ipairs(redis.call('KEYS', 'vg:*${STRANGE}*:log')) do n = n + redis.call('ZCARD', key) end
return n`

/** Sends all strangers' requests at once, to the gates in turn; counts the answers. */
const askAsStrangers = async ({ seats }: Rig, round: number): Promise<ReadonlyMap<string, number>> => {
  const answers = new Map<string, number>()
  const one = async (n: number): Promise<void> => {
    const answer = await ask("POST", `${seats[n % seats.length]?.url}/api/session/request`, {
      headers: { "x-forwarded-for": `${STRANGE}${n}.${round + 1}` },
      body: { clientIdentifier: `stranger-${round}-${n}` },
    })
    const said = `${answer.status} ${field(answer, "code")}`
    answers.set(said, (answers.get(said) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: STRANGERS }, (_, n) => one(n)))
  return answers
}

interface Seen {
  /** the most strangers that waited, and that held slots, at one moment */
  readonly waited: number
  readonly held: number
  /** how many were seen with a start call */
  readonly called: number
  /** ms until the last of them was gone; undefined if some never were */
  readonly gone: number | undefined
}

/** Looks for strangers in the store until there are none and these callers have talked. */
const lookForStrangers = async ({ view }: Rig, since: number, { callers }: Crowd): Promise<Seen> => {
  const called = new Set<string>()
  let waited = 0
  let held = 0
  let gone: number | undefined = 0
  while (performance.now() - since < LOOK_MILLIS.most) {
    const lasted = performance.now() - since
    const tickets = [...((await view.look())?.tickets ?? [])].filter(([, { caller }]) => caller.includes(STRANGE))
    const waiting = tickets.filter(([, { state }]) => state === "waiting")
    const holding = tickets.filter(([, { state }]) => holdsSlot(state))
    for (const [id, { state }] of holding) if (state === "called") called.add(id)
    waited = Math.max(waited, waiting.length)
    held = Math.max(held, holding.length)
    if (waiting.length + holding.length > 0) gone = undefined
    else gone ??= performance.now() - since
    const talked = callers.every(({ outcome }) => outcome !== undefined)
    if (gone !== undefined && talked && lasted > LOOK_MILLIS.least) break
    await sleep(25)
  }
  return { waited, held, called: called.size, gone }
}

interface Round extends Seen {
  readonly answers: ReadonlyMap<string, number>
  /** ms until the last healthy caller had the agent; undefined if one never had */
  readonly served: number | undefined
}

const round = async (
  rig: Rig,
  redis: { readonly kill: (signal: NodeJS.Signals) => void },
  n: number,
): Promise<Round> => {
  const began = performance.now()
  redis.kill("SIGSTOP")
  const answers = await askAsStrangers(rig, n)
  await sleep(STOPPED_MILLIS - (performance.now() - began))
  redis.kill("SIGCONT")
  const since = performance.now()
  const crowd = rig.crowd({ callers: HEALTHY, arriveMillis: 1, talkMillis: [200, 400] })
  const seen = await lookForStrangers(rig, since, crowd)
  await crowd.done(LOOK_MILLIS.most)
  const starts = crowd.callers.map(({ startedAt }) => (startedAt ?? Number.POSITIVE_INFINITY) - since)
  const served = Math.max(...starts)
  return { ...seen, answers, served: Number.isFinite(served) ? served : undefined }
}

const wrongsOf = ({ answers, gone, served }: Round, n: number): ReadonlyArray<string> => {
  const others = [...answers].filter(([said]) => said !== "503 store_unavailable")
  return [
    ...(others.length === 0 ? [] : [`stop ${n + 1}: requests were answered ${inWords(new Map(others))}`]),
    ...((gone ?? Number.POSITIVE_INFINITY) <= GONE_MILLIS
      ? []
      : [`stop ${n + 1}: tickets that were answered 503 were there until ${seconds(gone)}`]),
    ...((served ?? Number.POSITIVE_INFINITY) <= WAIT_MILLIS
      ? []
      : [`stop ${n + 1}: a healthy caller waited for ${seconds(served)}`]),
  ]
}

const row = async (gates: number, ...[size, seed, bench]: Parameters<Scenario["run"]>): Promise<Row> => {
  const { times } = SIZES[size]
  const redis = bench.own(await startRedis())
  const settings = { Security__RateLimitHourly: "20", Security__RateLimitDaily: "100" }
  const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates, slots: SLOTS, settings })
  // Redis has cached the scripts by then, so it executes the requests in flight
  await rig.crowd({ callers: 2 * SLOTS, arriveMillis: 1, talkMillis: [50, 200] }).done(30_000)
  const rounds: Array<Round> = []
  for (let n = 0; n < times; n++) rounds.push(await round(rig, redis, n))
  const units = Number(await redis.command("eval", UNITS, "0"))
  const started = rig.platform.sessions.filter(({ attempt }) => attempt.startsWith("stranger")).length
  const verdict = await judge(rig, { outcomes: [] })
  const most = (of: (round: Round) => number): number => Math.max(...rounds.map(of))
  const called = most((each) => each.called)
  return {
    fault: `Redis stands still (SIGSTOP) for ${STOPPED_MILLIS / 1000} s, ${times} times, ${STRANGERS} requests at its first moment at ${gates === 1 ? "a gate" : `${gates} gates`}, ${SLOTS} slots`,
    promised:
      "all are answered 503, and withdrawn when Redis answers again, with their quota; none of them is called or started, and callers who come then do not wait for them",
    seen:
      `${rounds.map(({ answers }) => inWords(answers)).join(" · ")}; of them up to ${most(({ waited }) => waited)} waited at once, ` +
      `${most(({ held }) => held)} held slots, ${called} were called; ${started} started; ${units} units of quota are left; ` +
      `the last of ${HEALTHY} healthy callers had the agent after ${rounds.map(({ served }) => seconds(served)).join(" · ")}; ` +
      `${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
    back: `nothing left after ${rounds.map(({ gone }) => seconds(gone)).join(" · ")}`,
    wrongs: [
      ...rounds.flatMap(wrongsOf),
      ...(called === 0 ? [] : [`${called} tickets were called for requests that were answered 503`]),
      ...(started === 0 ? [] : [`${started} sessions were started for requests that were answered 503`]),
      ...(units === 0 ? [] : [`${units} units are taken for requests that were answered 503`]),
      ...verdict.wrongs,
    ],
  }
}

export const redisStopped: Scenario = {
  name: "redis-stopped",
  run: async (size, seed, bench) => [await row(1, size, seed, bench), await row(2, size, seed + 1, bench)],
}
