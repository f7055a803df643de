/** A random history of one caller's budgets, checked against plain counting. */
import type { Taken } from "../../../src/rate-limiter/answers.ts"
import { keysOf, rules as limiterRules } from "../../../src/rate-limiter/layer.ts"
import type { GiveBackContext } from "../../../src/rate-limiter/rules/give-back.ts"
import type { Budgets } from "../../../src/rate-limiter/rules/units.ts"
import { Chance } from "../../harness/chance.ts"
import { LimiterModel } from "../../support/limiter-model.ts"
import { type History, recorder } from "./history.ts"

export const rules = limiterRules
export type Rules = typeof rules

const STEPS = 25
const HOUR = 3_600_000
const DAY = 86_400_000

export const limiterHistory = (seed: number, asked: Rules = rules): History => {
  const random = new Chance(seed)
  const [log = "", refunds = ""] = keysOf(`l${seed}`)
  const { run, steps } = recorder([log, refunds])
  const someLimits = () => ({
    hourly: random.pick(0, 1, 2, 3, 5),
    daily: random.pick(0, 2, 4, 8),
    concurrent: random.pick(0, 0, 1, 3),
    refunds: random.pick(0, 1, 2, 10),
    missed: random.pick(1, 2, 3),
  })
  let limits = someLimits()
  const model = new LimiterModel(limits)
  const moments: Array<number> = []
  const tokens: Array<string> = []
  let now = 1_700_000_000_000 + random.below(1_000_000)

  const later = (): number => {
    const moment = random.maybe(moments)
    const edge = (moment ?? now) + random.pick(HOUR, DAY) + random.pick(-1, 0, 1)
    return random.weighted({ same: 4, little: 3, edge: 3 }) === "edge"
      ? Math.max(now, edge)
      : now + random.pick(0, 0, 1, 999, 60_000, HOUR / 2)
  }

  /** The figures that a limit defines must equal the model's. */
  const differs = (answer: Taken, taken: boolean, omitUsage: boolean): ReadonlyArray<string> => {
    if (omitUsage && taken) {
      return JSON.stringify(answer) === '{"taken":true}' ? [] : [`the answer is ${JSON.stringify(answer)}`]
    }
    const { usage } = answer
    if (usage === undefined) return ["the answer says no usage"]
    const { day, dayReset, hour, hourReset, open } = usage
    const figures = model.figures(now)
    const wrong: Array<string> = []
    const same = (what: string, actual: number, expected: number) => {
      if (actual !== expected) wrong.push(`${what} is ${actual} for ${expected}`)
    }
    if (answer.taken !== taken) wrong.push(`taken is ${answer.taken}`)
    if (limits.hourly > 0) {
      same("hour", hour, figures.hour.used)
      same("hour's reset", hourReset, figures.hour.reset)
    }
    if (limits.daily > 0) {
      same("day", day, figures.day.used)
      same("day's reset", dayReset, figures.day.reset)
    }
    if (limits.concurrent > 0) same("concurrent", open, figures.concurrent)
    return wrong
  }

  for (let n = 0; n < STEPS; n++) {
    now = later()
    if (random.percent(5)) {
      limits = someLimits()
      model.limits = limits
    }
    let wrong: ReadonlyArray<string> = []
    if (random.percent(70)) {
      const token = `k${tokens.length}`
      tokens.push(token)
      moments.push(now)
      const { concurrent, daily, hourly } = limits
      const budgets: Budgets = { hourly, daily, concurrent }
      const omitUsage = random.percent(50)
      const call = omitUsage ? { token, omitUsage } : { token }
      const { answer } = run(asked.take, { now, context: budgets, call }, [log])
      wrong = differs(answer, model.take(token, now), omitUsage)
    } else {
      const token = random.maybe(tokens) ?? "k?"
      const kind = random.pick("refund", "release", "missed")
      const { concurrent, daily, hourly, missed = 1, refunds: refundsPerHour = 0 } = limits
      const counted = hourly > 0 || daily > 0
      const context: GiveBackContext = {
        refundsPerHour,
        missedUnits: counted ? missed - 1 : 0,
        fullest: daily > 0 ? daily : hourly * 24,
        concurrent,
        counted,
        channel: `l${seed}:refunds`,
      }
      run(asked.giveBack, { now, context, call: { token, kind } })
      model[kind](token, now)
    }
    if (wrong.length > 0) return { seed, prefix: `l${seed}:`, steps, wrong }
  }
  return { seed, prefix: `l${seed}:`, steps, wrong: [] }
}
