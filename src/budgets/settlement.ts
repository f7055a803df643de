/**
 * What calls are charged: at their ends, and again when a vendor says how long one was. A report that comes before its call is charged is
 * kept in the campaign's book, and carried out with the charge.
 */
import { Effect, Option } from "effect"
import type { Charge } from "../protocol/settlements.ts"
import { millionths } from "../settings/groups/budgets.ts"
import type { Budgets } from "./Budgets.ts"
import { callerBook, campaignBook } from "./keys.ts"
import type { Known } from "./known.ts"
import type { Note } from "./note.ts"
import type { BookPart, BudgetEntry } from "./rules/hold.ts"
import type { CorrectCall, SettleCall } from "./rules/settle.ts"
import { rules } from "./rules.ts"
import { decodeData, entriesOf, isOwn } from "./terms.ts"

/** What is held of a lost call is due after this, if it is not charged at once (ms). */
const LONGER_MILLIS = 3_600_000

export const makeSettlement = (
  known: Known,
  note: Note,
): Pick<Budgets["Service"], "settle" | "settleUnknown" | "correct"> => {
  const { budgetsOf, campaignOf, run, store, told, toldOfCallers, windowsAt } = known

  const correctIn = (key: string, keys: ReadonlyArray<string>, call: CorrectCall) =>
    Effect.flatMap(store.now, (now) =>
      Effect.tap(run(rules.correct, keys, now, call), (corrected) =>
        corrected._tag === "corrected" ? note(key, corrected) : Effect.void,
      ),
    )

  /** Settles in one book. What the store has lost of a call, as in a failover, is charged all the same, beyond the cap if need be. */
  const settleIn = Effect.fnUntraced(function* (
    keys: ReadonlyArray<string>,
    key: string,
    call: SettleCall,
    entries: () => ReadonlyArray<BudgetEntry>,
    now: number,
  ) {
    const first = yield* run(rules.settle, keys, now, call)
    const campaign = campaignOf(key)
    const budgets = campaign === undefined ? undefined : budgetsOf(campaign.name)
    if (first._tag === "settled") yield* note(key, first)
    if (first._tag !== "lost" || budgets === undefined) return first
    const { minimum, roundUp } = budgets
    const counted = entries().map((entry): BudgetEntry => ({ ...entry, onLimit: "count" }))
    const part: BookPart = { ...(counted.length === 0 ? {} : { entries: counted }), due: now + LONGER_MILLIS }
    const seconds = Math.ceil(call.seconds / roundUp) * roundUp
    const held = yield* run(rules.hold, keys, now, {
      id: call.id,
      seconds,
      least: 0,
      minimum,
      roundUp,
      books: [part],
    })
    if (held._tag === "held") yield* note(key, held)
    const again = yield* run(rules.settle, keys, now, call)
    if (again._tag === "settled") yield* note(key, again)
    return again
  })

  /**
   * Settles in the campaign's book and in that of the caller, whose own part may be all that was held: on a cluster it is held first, and the
   * gate may have died before the campaign's. `charge.caller` is who it is where the campaign's book does not say it.
   */
  const settleWith = Effect.fnUntraced(function* (
    key: string,
    call: SettleCall,
    charge: Pick<Charge, "caller" | "doubt">,
  ) {
    const now = yield* store.now
    const campaign = campaignOf(key)
    const budgets = campaign === undefined ? undefined : budgetsOf(campaign.name)
    // in whose windows the call began is known, except of a lost hold
    const began = {
      windows: budgets === undefined ? {} : windowsAt(budgets, now - call.seconds * 1000),
      ...(budgets?.perMinute === undefined ? {} : { perMinute: budgets.perMinute }),
    }
    const all = budgets?.all ?? []
    const settled = yield* settleIn(
      campaignBook(key),
      key,
      { ...call, ...told(campaign) },
      () =>
        entriesOf(
          all.filter((budget) => !isOwn(budget)),
          began,
        ),
      now,
    )
    const data = "data" in settled ? Option.getOrUndefined(decodeData(settled.data)) : undefined
    const isOwned = data === undefined ? all.some(isOwn) : data.own === true
    const caller = data?.caller ?? charge.caller
    // a caller is charged only for a call that he had
    if (isOwned && caller !== undefined)
      yield* settleIn(
        callerBook(caller),
        key,
        charge.doubt === true ? { id: call.id, seconds: 0 } : { ...call, sessions: [], ...toldOfCallers(campaign) },
        () => entriesOf(all.filter(isOwn), data ?? began),
        now,
      )
    // vendors were faster than this charge; the campaign's book forgets a report that it has carried out, so it is the last
    const reports = "reports" in settled ? (settled.reports ?? []) : []
    for (const report of reports) {
      if (data?.own === true)
        yield* correctIn(key, callerBook(data.caller), { ...report, id: call.id, ...toldOfCallers(campaign) })
      yield* correctIn(key, campaignBook(key), {
        ...{ ...report, id: call.id, sessions: call.sessions ?? [] },
        ...told(campaign),
      })
    }
  })

  return {
    settle: (key, { hold, seconds, sessions, ...charge }) =>
      settleWith(key, { id: hold, seconds, ...(sessions === undefined ? {} : { sessions }) }, charge),
    settleUnknown: (key, hold) => settleWith(key, { id: hold, seconds: 0, unknown: true }, {}),
    correct: Effect.fnUntraced(function* ({ campaign, key }, sessions, { dollars, seconds }) {
      const cost = dollars === undefined || campaign.Price?.Currency !== "USD" ? undefined : millionths(dollars)
      if (seconds === undefined && cost === undefined) return
      const about = {
        report: `${seconds ?? ""}/${cost ?? ""}`,
        ...(seconds === undefined ? {} : { seconds }),
        ...(cost === undefined ? {} : { cost }),
      }
      const corrected = yield* correctIn(key, campaignBook(key), { ...about, sessions, ...told(campaign) })
      const data = corrected._tag === "unsettled" ? undefined : Option.getOrUndefined(decodeData(corrected.data))
      if (corrected._tag === "unsettled" || data?.own !== true) return
      const own = yield* correctIn(key, callerBook(data.caller), {
        ...about,
        id: corrected.id,
        ...toldOfCallers(campaign),
      })
      if (own._tag === "unsettled") yield* correctIn(key, campaignBook(key), { ...about, sessions, keep: true })
    }),
  }
}
