/** A random history of one caller's budgets, checked against plain counting. */
import { keysOf, scripts as limiterScripts } from "../../../src/RateLimiter.ts"
import type { Reply, Script } from "../../../src/Store.ts"
import { integer, list } from "../../../src/store/reply.ts"
import { LimiterModel } from "../../support/limiter-model.ts"
import { type History, recorder } from "./history.ts"
import { makeRandom } from "./random.ts"

export const scripts = limiterScripts
export type Scripts = { readonly [K in keyof typeof scripts]: Script }

const STEPS = 25
const HOUR = 3_600_000
const DAY = 86_400_000

export const limiterHistory = (seed: number, twins: Scripts = scripts): History => {
  const random = makeRandom(seed)
  const [log = "", refunds = ""] = keysOf(`l${seed}`)
  const { run, steps } = recorder([log, refunds])
  const someLimits = () => ({
    hourly: random.pick([0, 1, 2, 3, 5]),
    daily: random.pick([0, 2, 4, 8]),
    concurrent: random.pick([0, 0, 1, 3]),
    refunds: random.pick([0, 1, 2, 10]),
    missed: random.pick([1, 2, 3]),
  })
  let limits = someLimits()
  const model = new LimiterModel(limits)
  const moments: Array<number> = []
  const tokens: Array<string> = []
  let now = 1_700_000_000_000 + random.below(1_000_000)

  const later = (): number => {
    const moment = random.maybe(moments)
    const edge = (moment ?? now) + random.pick([HOUR, DAY]) + random.pick([-1, 0, 1])
    return random.weighted({ same: 4, little: 3, edge: 3 }) === "edge"
      ? Math.max(now, edge)
      : now + random.pick([0, 0, 1, 999, 60_000, HOUR / 2])
  }

  /** The figures that a limit defines must be those of the model. */
  const differs = (reply: Reply, taken: boolean, brief: boolean): ReadonlyArray<string> => {
    if (brief && taken) return list(reply).join() === "1" ? [] : [`the reply is ${JSON.stringify(reply)} for [1]`]
    const [was, hour, hourReset, day, dayReset, open] = list(reply).map(integer)
    const figures = model.figures(now)
    const wrong: Array<string> = []
    const same = (what: string, actual: number | undefined, expected: number) => {
      if (actual !== expected) wrong.push(`${what} is ${actual} for ${expected}`)
    }
    same("taken", was, taken ? 1 : 0)
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
      const brief = random.percent(50)
      const args = [now, token, hourly, daily, concurrent, brief ? "brief" : ""]
      const { reply } = run(twins.take, args.map(String), [log])
      wrong = differs(reply, model.take(token, now), brief)
    } else {
      const token = random.maybe(tokens) ?? "k?"
      const kind = random.pick(["refund", "release", "missed"] as const)
      const { concurrent, daily, hourly, missed = 1, refunds = 0 } = limits
      const counted = hourly > 0 || daily > 0
      const fullest = daily > 0 ? daily : hourly * 24
      const units = [refunds, counted ? missed - 1 : 0, fullest, concurrent, counted ? "kept" : ""]
      run(twins.giveBack, [now, token, kind, ...units, `l${seed}:refunds`].map(String))
      model[kind](token, now)
    }
    if (wrong.length > 0) return { seed, prefix: `l${seed}:`, steps, wrong }
  }
  return { seed, prefix: `l${seed}:`, steps, wrong: [] }
}
