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

/** `fails` runs a plan and returns whether it still fails. It is called at most `budget` times. */
export const shrink = (plan: Plan, fails: (plan: Plan) => boolean, budget = 400): Plan => {
  let best = plan
  let left = budget
  const attempt = (candidate: Plan): boolean => {
    if (left-- <= 0 || !fails(candidate)) return false
    best = candidate
    return true
  }

  for (let size = Math.ceil(best.actions.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.actions.length; ) {
      // after a removal the next piece is at the same index
      if (!attempt(withActions(best, best.actions.toSpliced(from, size)))) from += size
    }
  }
  for (let n = 0; n < best.actions.length; n++) {
    for (let again = true; again; ) {
      const action = best.actions[n]
      again =
        action?.kind === "arrive" &&
        simpler(action).some((caller) => attempt(withActions(best, best.actions.with(n, caller))))
    }
  }
  while (best.gates > 1 && attempt({ ...best, gates: best.gates - 1 })) {}
  return best
}
