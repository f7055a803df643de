/** Reports a failed history so that it can be repeated: the seed, the shortest history found, and its course. */

import type { Action, Plan } from "./plan.ts"
import { type Played, play } from "./play.ts"
import { shrink } from "./shrink.ts"
import type { Planted } from "./world.ts"

const actionOf = (action: Action): string => {
  if (action.kind !== "arrive") return JSON.stringify(action)
  const { kind: _kind, platform, ...rest } = action
  const done = Object.entries(rest).filter(([, value]) => value !== -1 && value !== false)
  const starts = platform.map(
    ({ delay, outcome, talk, webhooks }) => `${outcome} in ${delay}, talks ${talk}, told ${webhooks}`,
  )
  return `arrive ${done.map(([key, value]) => `${key} ${value}`).join(", ")}; platform: ${starts.join(" / ")}`
}

/** The kind of a violation, independent of the ticket concerned. */
const kindOf = (violation: string | undefined): string | undefined =>
  violation
    ?.replaceAll(/gate\d+-\d+-[\w-]+/g, "T")
    .replaceAll(/[\d.]+/g, "#")
    .slice(0, 40)

/** Whether a plan fails in the same way. */
export const failsAlike =
  (failed: Played, planted?: Planted) =>
  (plan: Plan): boolean =>
    kindOf(play(plan, { planted }).violation) === kindOf(failed.violation)

export const report = (failed: Played, planted?: Planted): string => {
  const plan = shrink(failed.plan, failsAlike(failed, planted))
  const { actions, ...settings } = plan
  const signals = settings.signals === undefined ? "" : ` --signals ${settings.signals}`
  const { trace, violation } = play(plan, { planted, traced: true })
  return [
    `seed ${failed.plan.seed}: ${failed.violation}`,
    `again: npm run verify -- simulation --seed ${failed.plan.seed} --histories 1${signals}`,
    `shortest (${actions.length} of ${failed.plan.actions.length} actions): ${violation}`,
    JSON.stringify(settings),
    ...actions.map(actionOf),
    ...trace.slice(-60).map((line) => line.slice(0, 240)),
  ].join("\n")
}
