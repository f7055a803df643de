/**
 * Where callers stand, told once to each gate and not once a ticket. A gate knows the order of acceptance (`seq`) of its tickets and finds
 * their places by it:
 *
 * - The first `FIRST_PLACES` tickets have their exact places.
 * - Behind them, places go in steps of a fiftieth: everybody between two steps is shown the place of the later one, which is never less than
 *   his own. As callers before him are called, it only falls.
 *
 * Those that wait for budgets of their callers (`own-budgets.ts`) are not counted.
 *
 * Not where networks have shares (`fair-places.ts`), because a place does not follow from the order alone there.
 */
import { encode } from "../../../store/rules/native.ts"
import { FIRST_PLACES, positionAt } from "../../position.ts"
import { firstPaidSeqs } from "./own-budgets.ts"
import type { Step } from "./step.ts"

/** The distance of two steps, as a part of the place. */
const STEP = 0.02
/** How long steps are used again, also by other gates (ms): a heartbeat. */
const STEPS_MILLIS = 2_000

/** `seq` of the first tickets, in order. */
export const firstSeqs = (s: Step): ReadonlyArray<number> =>
  s.context.awaitsOwn === true ? firstPaidSeqs(s, FIRST_PLACES) : s.db.zscoresByRank(s.keys.waiting, 0, FIRST_PLACES)

/** @param unpaid how many wait for budgets of their callers */
const makeSteps = (s: Step, length: number, unpaid: number): ReadonlyArray<number> => {
  const steps: Array<number> = []
  let rank = FIRST_PLACES
  while (rank < length) {
    for (const seq of s.db.zscoresByRank(s.keys.waiting, rank, 1)) {
      const skipped = unpaid === 0 ? 0 : unpaid - s.db.zcountFrom(s.keys.unpaid, seq)
      steps.push(positionAt(rank - skipped))
      steps.push(seq)
    }
    // the last step is the last place
    rank = rank === length - 1 ? length : Math.min(length - 1, Math.floor(rank * (1 + STEP)) + 1)
  }
  return steps
}

/** The steps behind the first places: place, seq, place, seq … as JSON. */
export const stepsBehind = (s: Step): string => {
  const length = s.db.zcard(s.keys.waiting)
  const unpaid = s.context.awaitsOwn === true ? s.db.zcard(s.keys.unpaid) : 0
  if (length - unpaid <= FIRST_PLACES) return ""
  const known = s.db.get(s.keys.steps)
  if (known !== undefined) return known
  const made = encode(makeSteps(s, length, unpaid))
  s.db.set(s.keys.steps, made, STEPS_MILLIS)
  return made
}
