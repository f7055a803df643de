/** Forgets a caller in the budgets, over the store: whatever the settings say of budgets now, they may have had some before. */
import { Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { NO_CONTEXT } from "../store/rule.ts"
import type { Store } from "../store/Store.ts"
import type { ForgottenCalls } from "./answers.ts"
import { callerBook, campaignBook } from "./keys.ts"
import { rules } from "./rules.ts"

/** How many calls and windows a caller's own budgets have, and of how many calls time is held, which are kept with the windows. */
export const forgetBudgets = Effect.fnUntraced(function* (
  store: Store["Service"],
  caller: string,
  remove: boolean,
): Effect.fn.Return<{ readonly found: number; readonly open: number }, StoreUnavailable> {
  let found = 0
  let open = 0
  let skip = 0
  for (;;) {
    const step = yield* store.run(rules.forgetBook, {
      keys: callerBook(caller),
      now: yield* store.now,
      context: NO_CONTEXT,
      call: { skip, ...(remove ? { remove: true as const } : {}) },
    })
    found += step.calls + step.windows
    open += step.open
    skip = step.next
    // the windows say what the calls that are kept have held
    if (!step.more) return open > 0 && !remove ? { found: found - step.windows, open } : { found, open }
  }
})

/** A page of a campaign's calls: the caller is removed from those that are settled. `key`: the campaign's. */
export const forgetBilledCalls = (
  store: Store["Service"],
  key: string,
  names: ReadonlyArray<string>,
  cursor: string,
  remove: boolean,
): Effect.Effect<ForgottenCalls, StoreUnavailable> =>
  Effect.flatMap(store.now, (now) =>
    store.run(rules.forgetCalls, {
      keys: campaignBook(key),
      now,
      context: NO_CONTEXT,
      call: { names, cursor, ...(remove ? { remove: true as const } : {}) },
    }),
  )
