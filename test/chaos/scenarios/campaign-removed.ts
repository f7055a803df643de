/**
 * A campaign is removed from the settings while tickets wait and calls run: two gates restart without it, one after the
 * other, and later with it again. The platform reports all ends to a gate that no longer has it.
 */
import { UNSERVED_MILLIS } from "../../../src/gatekeeper/peers/drain-removed.ts"
import type { Environment } from "../../harness/gate.ts"
import { type Answer, ask, field, textOf } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, seconds, inWords as timesInWords } from "../support/order.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"
import { postWebhook, type Seat } from "../support/seats.ts"

const SIZES = { small: { waiting: 8 }, full: { waiting: 40 } }
const SLOTS = 4
const CAMPAIGN = "sales-1"
const SERVED: Environment = {
  VoiceAiPlatform__Campaigns__sales__WebCampaignId: CAMPAIGN,
  VoiceAiPlatform__Campaigns__sales__MaxConcurrency: String(SLOTS),
}
/**
 * Maximum time until a waiting caller is notified, after the last gate that had the campaign: the minute, and the time
 * to notice.
 */
const TOLD_MILLIS = UNSERVED_MILLIS + 15_000
/** Maximum time until a webhook takes effect. */
const SOON_MILLIS = 10_000

/** Units in the budgets of all callers. */
const UNITS = `local n = 0
for _, key in ipairs(redis.call('KEYS', 'vg:*:log')) do n = n + redis.call('ZCARD', key) end
return n`

const within = (millis: number, condition: () => boolean | Promise<boolean>): Promise<boolean> =>
  eventually("", condition, millis).then(
    () => true,
    () => false,
  )

const startAnew = async (seat: Seat, change: (settings: Environment) => Environment): Promise<void> => {
  await seat.kill("SIGTERM")
  await seat.gate().exit
  seat.settings = change(seat.settings)
  await seat.start()
  await seat.ready()
}
const withIt = (settings: Environment): Environment => ({ ...settings, ...SERVED })
const withoutIt = (settings: Environment): Environment =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !(name in SERVED)))

const count = (all: Iterable<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1)
  return counts
}

/** What each gate answers about these tickets: a state, or a code. */
const said = async ({ seats }: Rig, tickets: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const answers: Array<Answer> = []
  for (const { url } of seats)
    for (const ticket of tickets) answers.push(await ask("GET", `${url}/api/session/${ticket}`))
  return answers.map((answer) => field(answer, "state") ?? `${answer.status} ${field(answer, "code")}`)
}

/** Lets the call of this session end; returns whether its webhook was answered that a slot was freed. */
const hangUp = async ({ platform }: Rig, id: string): Promise<boolean> => {
  await platform.talk(id, 1)
  const session = platform.sessions.find(({ webId }) => webId === id)
  await within(SOON_MILLIS, () => session?.toldAt !== undefined)
  return session?.released === true
}

/** Requests an agent without a page behind it, and returns the answer: a session or a ticket. */
const begin = async ({ seats }: Rig, n: number): Promise<Answer> =>
  ask("POST", `${seats[0]?.url}/api/session/request`, {
    headers: { "x-forwarded-for": `198.19.2.${n + 1}` },
    body: { campaignId: CAMPAIGN, clientIdentifier: `long-${n}` },
  })

export const campaignRemoved: Scenario = {
  name: "campaign-removed",
  run: async (size, seed, bench) => {
    const { waiting } = SIZES[size]
    const redis = bench.own(await startRedis())
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: 2,
      slots: SLOTS,
      campaign: CAMPAIGN,
      // sessions run until they are told to end
      joinMillis: 600_000,
      calledAnew: true,
      webhook: (id, [first]) => postWebhook(first?.url ?? "", id),
      settings: {
        ...SERVED,
        Security__RateLimitHourly: "20",
        Queue__DisconnectGraceSeconds: "20",
        Queue__StartWindowSeconds: "90",
        Queue__MaxCallMinutes: "3",
      },
    })
    const { seats } = rig
    const [first, second] = seats
    if (first === undefined || second === undefined) throw new Error("there are two gates")
    const calls: Array<string> = []
    for (let n = 0; n < SLOTS; n++) calls.push(textOf(await begin(rig, n), "sessionId"))
    const [one = "", two = "", three = "", four = ""] = calls
    /** the first in the queue, which is called and does not start */
    const called = textOf(await begin(rig, SLOTS), "uniqueRequestId")
    // as behind a load balancer, each connection and each request goes to another gate
    let turn = 0
    const entrances = (): ReadonlyArray<string> => [seats[turn++ % seats.length]?.url ?? ""]
    const line = rig.crowd({ callers: waiting, arriveMillis: 1_000, talkMillis: [10_000, 15_000], entrances })
    await eventually("all wait", () => line.answered() === waiting)
    const tickets = [called, ...line.callers.flatMap(({ ticket }) => ticket ?? [])]

    // one gate has it, and does not receive the ends
    await startAnew(first, withoutIt)
    const released = [await hangUp(rig, one), await hangUp(rig, two)]
    const served = await within(SOON_MILLIS, () => line.callers.some(({ startedAt }) => startedAt !== undefined))

    // no gate has it
    await startAnew(second, withoutIt)
    const gone = performance.now()
    const during = await said(rig, tickets)
    released.push(await hangUp(rig, three))
    await line.done(TOLD_MILLIS + 30_000)
    const told = performance.now() - gone
    const outcomes = count(line.callers.map(({ outcome }) => outcome ?? "none"))
    const after = await said(rig, [called])
    const talked = rig.platform.sessions.filter(({ attempt }) => attempt.startsWith("c"))
    released.push(...talked.map((session) => session.released))
    const units = Number(await redis.command("eval", UNITS, "0")) - rig.platform.sessions.length

    // both have it again, while one call still runs
    const since = performance.now()
    const back = orderBack(rig, since)
    await startAnew(first, withIt)
    await startAnew(second, withIt)
    const times = await back
    const live = [...((await rig.view.look())?.tickets.values() ?? [])].filter(({ state }) => state === "live").length
    /** held slots of calls that have ended */
    const held = live - rig.platform.running()
    const newcomers = rig.crowd({ callers: SLOTS, arriveMillis: 1, talkMillis: [4_000, 5_000] })
    await within(SOON_MILLIS, () => newcomers.answered() === SLOTS)
    const free = newcomers.callers.filter(({ queued, ticket }) => ticket !== undefined && !queued).length
    released.push(await hangUp(rig, four))
    await newcomers.done(60_000)
    const verdict = await judge(rig, { outcomes: ["removed"], putBack: true })

    const lost = released.filter((each) => !each).length
    const unknown = [...during, ...after].filter((each) => each.startsWith("404")).length
    return [
      {
        fault: `a campaign with ${SLOTS} calls and ${tickets.length} tickets is taken out of 2 gates, started anew one after the other, and put back`,
        promised:
          "its webhooks are taken; whoever waits or is called is told that it is removed, a minute after the last gate that had it, and has the quota back; its slots are free when it is back",
        seen:
          `of ${released.length} webhooks ${lost} answered released:false; both gates without it said of the tickets: ${inWords(count(during))}; ` +
          `${inWords(outcomes)}, all after ${seconds(told)}; the one that was called: ${inWords(count(after))}; ${units} units of quota kept; ` +
          `back with one call that ran on, ${held} slots were held for calls that had ended, and ${free} of ${SLOTS - 1} newcomers started at once; ${peaksInWords(verdict, rig)}`,
        back: timesInWords(times),
        wrongs: [
          ...(lost === 0 ? [] : [`${lost} of ${released.length} webhooks freed nothing`]),
          ...(served ? [] : ["nobody was called while one gate had the campaign"]),
          ...(unknown === 0 ? [] : [`${unknown} times a ticket was unknown`]),
          ...(after.every((each) => each === "removed") ? [] : [`who was called is ${inWords(count(after))}`]),
          ...(told < TOLD_MILLIS ? [] : [`the last was told after ${seconds(told)}`]),
          ...(units === 0 ? [] : [`${units} units are taken for nothing`]),
          ...(held === 0 ? [] : [`${held} slots were held for calls that had ended`]),
          ...(free === SLOTS - 1 ? [] : [`${free} of ${SLOTS - 1} newcomers found a slot when the campaign was back`]),
          ...verdict.wrongs,
        ],
      },
    ]
  },
}
