/** The budgets over the store: each operation is one rule, run on the book of a campaign with that of the caller, where there is one. */
import { Effect, Layer } from "effect"
import type { Settings } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import { makeAwaited, makeAwaitedWindows } from "./awaited.ts"
import { Budgets } from "./Budgets.ts"
import { makeAdjustments, makeBalancesOf, makeGiveBack } from "./balances.ts"
import { makeHolds } from "./holds.ts"
import { makeKnown } from "./known.ts"
import { makeNote } from "./note.ts"
import { makeRefusals } from "./refusals.ts"
import { makeSettlement } from "./settlement.ts"
import { isOwn } from "./terms.ts"

export const layer: Layer.Layer<Budgets, never, Store | Settings> = Layer.effect(
  Budgets,
  Effect.map(makeKnown, (known) => {
    const note = makeNote(known)
    const balancesOf = makeBalancesOf(known)
    const giveBack = makeGiveBack(known)
    const { check, forget, mayBegin, ...refusing } = makeRefusals(known, note, balancesOf, giveBack)
    return {
      has: ({ name }) => known.budgetsOf(name) !== undefined,
      awaitsOwn: ({ name }) =>
        known.budgetsOf(name)?.all.some((budget) => isOwn(budget) && budget.OnLimit === "wait") === true,
      check,
      mayBegin,
      awaited: makeAwaited(known),
      awaitedWindows: makeAwaitedWindows(known),
      ...makeHolds(known, note, refusing),
      ...makeSettlement(known, note),
      balances: (at, caller) =>
        Effect.andThen(
          caller === undefined ? Effect.void : giveBack(caller),
          balancesOf(at, caller, () => true),
        ),
      ...makeAdjustments(known, note, balancesOf, forget),
    }
  }),
)
