/** Shrinks a failing history: removes what is not needed for the failure, first in large pieces, then one by one. */
import type { Action, Arrive, Plan, PlatformScript } from "./plan.ts"

/** A typical start. */
const SIMPLE: PlatformScript = {
  delay: 10,
  outcome: "started",
  retryAfter: 0,
  talk: 1_000,
  webhooks: [0],
  names: "both",
  historyAfter: 0,
}

/** Simpler callers, each of which may still do what the history needs. */
const simpler = (caller: Arrive): ReadonlyArray<Arrive> => {
  const never: ReadonlyArray<Partial<Arrive>> = [
    { hangUp: -1 },
    { vanish: -1, silently: false, comeBack: -1 },
    { comeBack: -1 },
    { leave: -1 },
    { poll: -1 },
    { rejoin: -1 },
    { retries: 0 },
    { twice: -1 },
    { early: -1 },
    { connect: -1, react: -1 },
    { platform: [caller.platform[0]] },
    { platform: [SIMPLE] },
  ]
  return never
    .filter((part) => Object.entries(part).some(([key, value]) => Reflect.get(caller, key) !== value))
    .map((part) => ({ ...caller, ...part }))
}

const withActions = (plan: Plan, actions: ReadonlyArray<Action>): Plan => ({ ...plan, actions })

type Attempt = (candidate: Plan) => boolean

/** Leaves out actions, first in big pieces, then one by one. */
const leaveOut = (best: () => Plan, attempt: Attempt): void => {
  const half = (size: number): number => Math.ceil(size / 2)
  for (let size = half(best().actions.length); size >= 1; size = size === 1 ? 0 : half(size)) {
    for (let from = 0; from < best().actions.length; ) {
      // what is left out makes the next piece take its place
      if (!attempt(withActions(best(), best().actions.toSpliced(from, size)))) from += size
    }
  }
}

/** Makes what each caller does simpler, and the gates fewer. */
const simplify = (best: () => Plan, attempt: Attempt): void => {
  for (let n = 0; n < best().actions.length; n++) {
    for (let again = true; again; ) {
      const action = best().actions[n]
      again =
        action?.kind === "arrive" &&
        simpler(action).some((caller) => attempt(withActions(best(), best().actions.with(n, caller))))
    }
  }
  while (best().gates > 1 && attempt({ ...best(), gates: best().gates - 1 })) {}
}

/** `fails` plays a plan and says whether it is still wrong. The steps ask it at most `budget` times in all. */
const improved = (plan: Plan, fails: Attempt, budget: number, steps: ReadonlyArray<typeof leaveOut>): Plan => {
  let best = plan
  let left = budget
  const attempt: Attempt = (candidate) => {
    if (left-- <= 0 || !fails(candidate)) return false
    best = candidate
    return true
  }
  for (const step of steps) step(() => best, attempt)
  return best
}

/** The shortest plan found that still fails. */
export const shrink = (plan: Plan, fails: Attempt, budget = 400): Plan =>
  improved(plan, fails, budget, [leaveOut, simplify])

/** As `shrink`, but the actions that are kept stay as they are. */
export const withFewActions = (plan: Plan, fails: Attempt, budget: number): Plan =>
  improved(plan, fails, budget, [leaveOut])
