/** Time that is held for calls: the first block, the next ones, and what the store has lost of them. */
import { Effect, Option } from "effect"
import { DOUBT_MILLIS, START_LEASE_MILLIS } from "../fifo-queue/bounds.ts"
import { holdName } from "../fifo-queue/rules/shared/charges.ts"
import type { Held } from "./answers.ts"
import type { BudgetedCampaign, Budgets, DueCall, Holding } from "./Budgets.ts"
import { callerBook, campaignBook } from "./keys.ts"
import type { Known } from "./known.ts"
import type { Note } from "./note.ts"
import type { Refusals } from "./refusals.ts"
import type { BookPart } from "./rules/hold.ts"
import { rules } from "./rules.ts"
import { type Compiled, decodeData, encodeData, entriesOf, type HoldData, isAwaited, isOwn } from "./terms.ts"

/** How many pages of due holds are read at once, and after how many calls no other one: pages of old holds are soon forgotten. */
const MAX_DUE_PAGES = 100
const MAX_DUE_CALLS = 300
/** How long before its time is used up a call holds more, beyond the time in which it would be ended (ms): for the warning, and for a gate that dies. */
const AHEAD_MILLIS = 20_000
/** A caller's hold outlives by this what its campaign may still decide about the ticket (ms). */
const LONGER_MILLIS = 3_600_000
/** How soon more is asked for, for a call whose budgets have no more (ms): an operator may add some before it ends. */
const SHORT_MILLIS = 5_000
/** How much time a call of a removed campaign holds ahead (s). */
const REMOVED_BLOCK_SECONDS = 60

type Service = Budgets["Service"]

export const makeHolds = (
  known: Known,
  note: Note,
  { holds, ownWait, refuse, waitOf }: Pick<Refusals, "holds" | "ownWait" | "refuse" | "waitOf">,
): Pick<Service, "hold" | "due" | "extend" | "restore" | "countOn" | "endsAt" | "postpone"> => {
  const { aheadMillis, budgetsOf, callMillis, run, store, windowsAt } = known

  /** When a caller's hold is given back, if its campaign never settles it (ms since 1970). */
  const callerExpiry = (now: number): number => now + callMillis + START_LEASE_MILLIS + DOUBT_MILLIS + LONGER_MILLIS

  /**
   * Has a hold have `seconds` in all of its books. On a cluster, the caller's first; what the campaign's cannot give is given back to the
   * caller's, all of it when the campaign's refuses. `running`: the call runs, and had so many seconds.
   */
  const holdInBooks = Effect.fnUntraced(function* (
    { campaign, key }: BudgetedCampaign,
    budgets: Compiled,
    id: string,
    seconds: number,
    data: HoldData,
    due: number,
    dueIfShort: number,
    running?: { readonly had: number },
  ) {
    const now = yield* store.now
    const { minimum, roundUp } = budgets
    const { least } = budgets
    const ofCaller = data.own === true ? entriesOf(budgets.all.filter(isOwn), data) : []
    const ofCampaign = entriesOf(
      budgets.all.filter((budget) => !isOwn(budget)),
      data,
    )
    const campaignPart: BookPart = {
      ...(ofCampaign.length === 0 ? {} : { entries: ofCampaign }),
      data: encodeData(data),
      due,
      dueIfShort,
      ...(campaign.Events === undefined ? {} : { events: true }),
    }
    const callerPart: BookPart = {
      entries: ofCaller,
      due: callerExpiry(now),
      expires: true,
    }
    const ask = (keys: ReadonlyArray<string>, total: number, books: ReadonlyArray<BookPart>) =>
      Effect.tap(
        run(rules.hold, keys, now, {
          ...{ id, seconds: total, least, minimum, roundUp, books },
          ...(running === undefined ? {} : { running: true as const }),
        }),
        (held) => (held._tag === "over" ? Effect.void : note(key, held)),
      )
    if (ofCaller.length === 0) return yield* ask(campaignBook(key), seconds, [campaignPart])
    const own = callerBook(data.caller)
    if (store.crossSlot) return yield* ask([...campaignBook(key), ...own], seconds, [campaignPart, callerPart])
    const first = yield* ask(own, seconds, [callerPart])
    if (first._tag !== "held") return first
    const isShort = first.seconds < seconds
    const second = yield* ask(campaignBook(key), Math.max(first.seconds, running?.had ?? 0), [
      isShort ? { ...campaignPart, due: dueIfShort } : campaignPart,
    ])
    if (second._tag !== "held") {
      // what cannot be given back now expires with the hold
      yield* Effect.ignore(run(rules.settle, own, now, { id, seconds: 0 }))
      return second
    }
    if (second.seconds < first.seconds) yield* Effect.ignore(ask(own, second.seconds, [callerPart]))
    return first.short !== undefined && second.short === undefined ? { ...second, short: first.short } : second
  })

  const dueAt = (heldUntil: number, { leadSeconds }: Compiled, blockMillis: number): number =>
    heldUntil - Math.min(leadSeconds * 1000 + AHEAD_MILLIS, blockMillis / 2)

  const hold: Budgets["Service"]["hold"] = Effect.fnUntraced(function* (at, { caller, lease, ticket }) {
    const budgets = budgetsOf(at.campaign.name)
    if (budgets === undefined) return { _tag: "held", seconds: Number.MAX_SAFE_INTEGER, last: false } as const
    const now = yield* store.now
    const data: HoldData = {
      ticket,
      lease,
      caller,
      windows: windowsAt(budgets, now),
      ...(budgets.perMinute === undefined ? {} : { perMinute: budgets.perMinute }),
      ...(budgets.all.some(isOwn) ? { own: true as const } : {}),
    }
    const blockMillis = budgets.block * 1000
    const held: Held = yield* holdInBooks(
      at,
      budgets,
      holdName(ticket, lease),
      budgets.block,
      data,
      dueAt(now + blockMillis, budgets, blockMillis),
      now + AHEAD_MILLIS / 2,
    )
    if (held._tag === "over") return held
    if (held._tag === "refused") {
      const refusing = budgets.all.find(({ Name }) => Name === held.name)
      if (refusing !== undefined && isAwaited(refusing, budgets, held.until, now + aheadMillis())) {
        if (!isOwn(refusing)) return { _tag: "waits" } as const
        const moment = yield* store.now
        // another of the budgets that have too little may begin anew later, or refuse
        const own = (yield* waitOf(at, budgets, caller, moment)) ?? ownWait(held.name, held.until, moment)
        return { _tag: "waits", own } as const
      }
      return yield* Effect.fail(refuse(at, budgets, caller, held.name, held.until, yield* store.now))
    }
    if (data.own === true) holds(at.campaign.name, caller)
    return {
      _tag: "held",
      seconds: held.seconds,
      last: held.seconds < budgets.block,
      ...(held.short === undefined ? {} : { budget: held.short }),
    }
  })

  const extend: Budgets["Service"]["extend"] = Effect.fnUntraced(function* (at, call, since) {
    const budgets = budgetsOf(at.campaign.name)
    const data = Option.getOrUndefined(decodeData(call.data))
    if (budgets === undefined || data === undefined) return { _tag: "over" } as const
    const now = yield* store.now
    const blockMillis = budgets.block * 1000
    const from = since === 0 ? now : since
    // one that has not begun, or was given more a moment ago, needs no more than it holds
    const isEnough = since === 0 || from + call.seconds * 1000 - now > blockMillis
    const seconds = isEnough ? call.seconds : call.seconds + budgets.block
    const soon = now + SHORT_MILLIS
    const held = yield* holdInBooks(
      at,
      budgets,
      call.hold,
      seconds,
      data,
      call.spent === true ? soon : dueAt(from + seconds * 1000, budgets, blockMillis),
      soon,
      { had: call.seconds },
    )
    if (held._tag !== "held") return { _tag: "over" } as const
    const granted: Holding = {
      _tag: "held",
      seconds: held.seconds,
      last: held.seconds < seconds,
      ...(held.short === undefined ? {} : { budget: held.short }),
    }
    return granted
  })

  return {
    hold,
    due: Effect.fnUntraced(function* ({ key }, claimMillis) {
      const found: Array<DueCall> = []
      for (let page = 0; page < MAX_DUE_PAGES; page++) {
        const { holds = [], more } = yield* run(rules.due, campaignBook(key), yield* store.now, { claimMillis })
        for (const { data, id, seconds } of holds) {
          const { lease = "", ticket = "" } = Option.getOrUndefined(decodeData(data)) ?? {}
          found.push({ hold: id, ticket, lease, seconds, data })
        }
        if (more !== true || found.length >= MAX_DUE_CALLS) break
      }
      return found
    }),
    extend,
    restore: Effect.fnUntraced(function* (at, calls) {
      const budgets = budgetsOf(at.campaign.name)
      if (budgets === undefined || calls.length === 0) return 0
      const now = yield* store.now
      const { ids = [] } = yield* run(rules.missing, campaignBook(at.key), now, {
        ids: calls.map(({ lease, ticket }) => holdName(ticket, lease)),
      })
      const lost = calls.filter(({ lease, ticket }) => ids.includes(holdName(ticket, lease)))
      for (const { caller, lease, since, ticket } of lost) {
        const used = Math.ceil((now - since) / 1000 / budgets.roundUp) * budgets.roundUp
        const data: HoldData = {
          ...{ ticket, lease, caller, windows: windowsAt(budgets, since) },
          ...(budgets.perMinute === undefined ? {} : { perMinute: budgets.perMinute }),
          ...(caller !== "" && budgets.all.some(isOwn) ? { own: true as const } : {}),
        }
        const soon = now + SHORT_MILLIS
        yield* holdInBooks(at, budgets, holdName(ticket, lease), used + budgets.block, data, soon, soon, { had: 0 })
      }
      return lost.length
    }),
    countOn: Effect.fnUntraced(function* (key, { data: stored, hold: id, seconds: had }, since) {
      const data = Option.getOrUndefined(decodeData(stored))
      if (data === undefined) return
      const now = yield* store.now
      const used = since === 0 ? 0 : Math.ceil((now - since) / 1000)
      const seconds = Math.max(had, used + REMOVED_BLOCK_SECONDS)
      const ask = (keys: ReadonlyArray<string>, part: BookPart) =>
        Effect.tap(
          run(rules.hold, keys, now, { id, seconds, least: 0, minimum: 0, roundUp: 1, running: true, books: [part] }),
          (held) => (held._tag === "over" ? Effect.void : note(key, held)),
        )
      const held = yield* ask(campaignBook(key), { data: stored, due: now + (REMOVED_BLOCK_SECONDS * 1000) / 2 })
      if (held._tag === "held" && data.own === true)
        yield* ask(callerBook(data.caller), { due: callerExpiry(now), expires: true })
    }),
    endsAt: ({ campaign }, since, seconds) => since + (seconds - (budgetsOf(campaign.name)?.leadSeconds ?? 0)) * 1000,
    postpone: ({ key }, id, due) =>
      Effect.flatMap(store.now, (now) => Effect.asVoid(run(rules.postpone, campaignBook(key), now, { id, due }))),
  }
}
