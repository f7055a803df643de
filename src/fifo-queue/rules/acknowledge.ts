/** Removes settlements that the rate limiter has carried out, and charges that the budgets have. */
import type { Charge, Settlement } from "../../protocol/settlements.ts"
import { acknowledgeCharges } from "./shared/charges.ts"
import type { Step } from "./shared/step.ts"

export interface Acknowledged {
  readonly settlements?: ReadonlyArray<Settlement>
  readonly charges?: ReadonlyArray<Charge>
}

/** Returns how many of them were still owed. */
export const acknowledge = (s: Step, { charges, settlements }: Acknowledged): number => {
  let done = charges === undefined ? 0 : acknowledgeCharges(s, charges)
  for (const { caller, kind, ticket } of settlements ?? []) {
    if (s.db.zrem(s.keys.settlements, `${kind} ${ticket} ${caller}`)) done++
  }
  return done
}
