/**
 * A campaign is taken out of the settings while tickets wait and calls run: two gates are started anew without it, one after the
 * other, and some minutes later with it. The platform tells all ends to the gate that has it no more.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { UNSERVED_MILLIS } from "../../../src/gatekeeper/removed.ts"
import type { Environment } from "../../e2e/support/gate.ts"
import { type Answer, ask, field, textOf } from "../../e2e/support/http.ts"
import { eventually } from "../../support/process.ts"
import { startRedis } from "../../support/redis.ts"
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
/** Who waits is told so long after the last gate that had the campaign at most: the minute, and what it takes to be noticed. */
const TOLD_MILLIS = UNSERVED_MILLIS + 15_000
/** Until when a webhook must have done what it does. */
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

/** What each gate says of these tickets: a state, or a code. */
const said = async ({ seats }: Rig, tickets: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const answers: Array<Answer> = []
  for (const { url } of seats)
    for (const ticket of tickets) answers.push(await ask("GET", `${url}/api/session/${ticket}`))
  return answers.map((answer) => field(answer, "state") ?? `${answer.status} ${field(answer, "code")}`)
}

/** Lets the session with this id end; answers whether its webhook was said to have freed a slot. */
const hangUp = async ({ platform }: Rig, id: string): Promise<boolean> => {
  await platform.talk(id, 1)
  const session = platform.sessions.find(({ webId }) => webId === id)
  await within(SOON_MILLIS, () => session?.toldAt !== undefined)
  return session?.released === true
}
