/** Removes settlements that the rate limiter has carried out. */
import type { Settlement } from "../../protocol/settlements.ts"
import type { Step } from "./shared/step.ts"

/** Returns how many of the settlements were still owed. */
export const acknowledge = (s: Step, { settlements }: { readonly settlements: ReadonlyArray<Settlement> }): number => {
  let done = 0
  for (const { caller, kind, ticket } of settlements) {
    if (s.db.zrem(s.keys.settlements, `${kind} ${ticket} ${caller}`)) done++
  }
  return done
}
