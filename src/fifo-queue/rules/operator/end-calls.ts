/**
 * Ends all running calls of a campaign for an operator, page by page. A call is ended at the platform first, by whichever gate finds it
 * (`../shared/ending.ts`), so its slot is free when the platform has confirmed that, or after `STOP_MILLIS`. Calls that start meanwhile, and those
 * that have not begun, go on. Repeating it is harmless: a call that is being ended is left alone.
 *
 * The pages go from the latest deadline down. A call that is ended gets an earlier deadline, so those before it move up by one; the next page
 * begins higher by as many, and none is skipped.
 */
import { numberOf } from "../../../store/rules/native.ts"
import type { Performed } from "../../operator/actions.ts"
import { mustEnd, stop } from "../shared/ending.ts"
import { loadHolder } from "../shared/load.ts"
import { meta, type Step } from "../shared/step.ts"

/** How many leases one step looks at. */
export const CALLS_PER_STEP = 100

export interface EndCalls {
  readonly type: "end_calls"
  /** the platform can be asked to end a call; otherwise they are counted */
  readonly ends?: true
  /** absent for the first page: the rank below which leases are looked at, and the last lease that was given when it began */
  readonly page?: { readonly below: number; readonly upTo: number }
}

type EndingCalls = Pick<Performed, "result" | "ticket" | "calls" | "next">

/** @lazy */
export const endCalls = (s: Step, who: string, { ends, page }: EndCalls): EndingCalls => {
  const { db, keys } = s
  const below = page === undefined ? db.zcard(keys.leases) : page.below
  const upTo = page === undefined ? meta(s, "lease") : page.upTo
  const from = Math.max(0, below - CALLS_PER_STEP)
  let calls = 0
  for (const id of db.zrange(keys.leases, from, below - from)) {
    const ticket = loadHolder(s, id)
    const runs = ticket !== undefined && ticket.state === "live" && ticket.offerBefore === undefined
    if (runs && !mustEnd(ticket) && numberOf(ticket.lease) <= upTo) {
      calls++
      if (ends === true) {
        ticket.stoppedWithAll = true
        stop(s, id, ticket, who, 0)
      }
    }
  }
  const result = ends === true ? "ending_calls" : "cannot_end"
  const next = ends === true ? from + calls : from
  const done: EndingCalls = { result, ticket: `${calls}`, calls }
  return from === 0 && (ends !== true || calls === 0) ? done : { ...done, next: { below: next, upTo } }
}
