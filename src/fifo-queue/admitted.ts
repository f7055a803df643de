/** What the rules of the queue answer to a newcomer. */

import type { Admitted as RuleAdmitted } from "./rules/admit.ts"
import type { Waiting } from "./rules/shared/line.ts"

/** What became of a newcomer. */
export type Admitted = Exclude<RuleAdmitted, { readonly _tag: "waiting" }> | Waiting

/** Completes the place of a newcomer that waits. */
export const admittedOf = (answer: RuleAdmitted): Admitted => {
  if (answer._tag !== "waiting") return answer
  const { averageMillis = 0, disrupted = false, length = answer.position, paused, position, slots } = answer
  // hot path: to copy an object costs more than to create one
  if (paused === undefined && slots === undefined) {
    return { _tag: "waiting", position, length, averageMillis, disrupted }
  }
  return { ...answer, length, averageMillis, disrupted }
}
