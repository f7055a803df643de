/** The budgets over the store: each operation is one rule, run on the book of a campaign with that of the caller, where there is one. */
import { Effect, Layer, Option } from "effect"
import { DOUBT_MILLIS, START_LEASE_MILLIS } from "../fifo-queue/bounds.ts"
import { campaignKeyOf } from "../fifo-queue/keys.ts"
import { holdName } from "../fifo-queue/short-hash.ts"
import { ageOf, isOpen } from "../lib/age.ts"
import { boundedCache } from "../lib/bounded-cache.ts"
import { type BudgetExhausted, budgetExhausted, type StoreUnavailable } from "../protocol/refusals.ts"
import type { Charge } from "../protocol/settlements.ts"
import { type Budget, millionths } from "../settings/groups/budgets.ts"
import { Settings } from "../settings/Settings.ts"
import { NO_CONTEXT } from "../store/rule.ts"
import { type Rule, Store } from "../store/Store.ts"
import type { Balance, BudgetEffects, Held } from "./answers.ts"
import { type BudgetBalance, type BudgetedCampaign, Budgets, type DueCall, type Holding } from "./Budgets.ts"
import { callerBook, campaignBook } from "./keys.ts"
import * as metrics from "./metrics.ts"
import type { BookPart, BudgetEntry } from "./rules/hold.ts"
import type { SettleCall } from "./rules/settle.ts"
import { secondsFor } from "./rules/units.ts"
import { rules } from "./rules.ts"
import {
  type Compiled,
  capOf,
  compile,
  decodeData,
  encodeData,
  entriesOf,
  type HoldData,
  isOwn,
  makeWindows,
  shown,
} from "./terms.ts"
import type { WindowOf } from "./windows.ts"

/** How long an instance repeats a refusal without asking the store (ms), so that a caller who insists costs it nothing. */
const REPEAT_MILLIS = 1_000
const MAX_REMEMBERED_REFUSALS = 10_000
/** How often an instance looks whether it was told already that nothing is left (ms): another one may have added some meanwhile. */
const TOLD_MILLIS = 60_000
const MAX_TOLD = 10_000
/** How many pages of due holds are read at once, and after how many calls no other one: pages of old holds are soon forgotten. */
const MAX_DUE_PAGES = 100
const MAX_DUE_CALLS = 300
/** How long before its time is used up a call holds more, beyond the time in which it would be ended (ms): for the warning, and for a gate that dies. */
const AHEAD_MILLIS = 20_000
/** A caller's hold outlives by this what its campaign may still decide about the ticket (ms). */
const LONGER_MILLIS = 3_600_000
/** How soon more is asked for, for a call whose budgets have no more (ms): an operator may add some before it ends. */
const SHORT_MILLIS = 5_000

export const layer: Layer.Layer<Budgets, never, Store | Settings> = Layer.effect(
  Budgets,
  Effect.gen(function* () {
    const store = yield* Store
    const { Campaigns, Queue } = yield* Settings
    const compiled = new Map(
      Campaigns.flatMap((campaign) => {
        const budgets = compile(campaign)
        return budgets === undefined ? [] : [[campaign.name, budgets] as const]
      }),
    )
    const names = new Map(
      Campaigns.map(({ Account, BusinessId, name, WebCampaignId }) => [
        campaignKeyOf({ account: Account?.Name, campaign: `${BusinessId}/${WebCampaignId}` }),
        name,
      ]),
    )
    const callMillis = Queue.MaxCallMinutes * 60_000
    const { aheadMillis = () => 0 } = store

    const { window, windowsAt } = makeWindows(aheadMillis)

    const run = <Call extends object, A>(
      rule: Rule<object, Call, A>,
      keys: ReadonlyArray<string>,
      now: number,
      call: Call,
    ): Effect.Effect<A, StoreUnavailable> => store.run(rule, { keys, now, context: NO_CONTEXT, call })

    /** Logs and counts what a step has found. Each was found by one step, so each is told once. */
    const note = Effect.fnUntraced(function* (
      campaign: string,
      { alerts = [], exhausted = [], overruns = [] }: BudgetEffects,
    ) {
      const named = (name: string) => compiled.get(campaign)?.all.find((budget) => budget.Name === name)
      for (const { adjusted, held, name, settled, share } of alerts) {
        const budget = named(name)
        if (budget === undefined) continue
        yield* metrics.alerted(campaign, name)
        yield* Effect.logWarning(
          `${Math.round(share * 100)} % of the budget ${name} are used: ${shown(budget, settled)} ${unitOf(campaign, budget)} settled and ` +
            `${shown(budget, held)} held of ${shown(budget, capOf(budget) + adjusted)} in this ${budget.Per}.`,
        ).pipe(Effect.annotateLogs({ campaign, budget: name }))
      }
      for (const name of exhausted) {
        yield* Effect.logWarning(
          `Nothing is left of the budget ${name} in this ${named(name)?.Per ?? "window"}: see OnLimit of it for what follows.`,
        ).pipe(Effect.annotateLogs({ campaign, budget: name }))
      }
      for (const { amount, name } of overruns) {
        const budget = named(name)
        if (budget !== undefined) yield* metrics.overrun(campaign, name, shown(budget, amount))
      }
    })
    const unitOf = (campaign: string, { Unit }: Budget): string =>
      Unit === "minutes" ? "minutes" : (currencies.get(campaign) ?? "")
    const currencies = new Map(Campaigns.map(({ name, Price }) => [name, Price?.Currency ?? ""]))

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
        due: now + callMillis + START_LEASE_MILLIS + DOUBT_MILLIS + LONGER_MILLIS,
        expires: true,
      }
      const ask = (keys: ReadonlyArray<string>, total: number, books: ReadonlyArray<BookPart>) =>
        Effect.tap(
          run(rules.hold, keys, now, {
            ...{ id, seconds: total, least, minimum, roundUp, books },
            ...(running === undefined ? {} : { running: true as const }),
          }),
          (held) => (held._tag === "over" ? Effect.void : note(campaign.name, held)),
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

    const refusals = boundedCache<{ readonly until: number; readonly error: BudgetExhausted }>(MAX_REMEMBERED_REFUSALS)
    /** Until when a caller is not looked up again who had something left: `hold` decides anyway. */
    const passes = boundedCache<number>(MAX_REMEMBERED_REFUSALS)
    const refuse = (
      { campaign }: BudgetedCampaign,
      budgets: Compiled,
      caller: string,
      name: string,
      until: number,
      now: number,
    ): BudgetExhausted => {
      const budget = budgets.all.find((each) => each.Name === name)
      const own = budget === undefined || isOwn(budget)
      const error = budgetExhausted(name, own, until, now + aheadMillis())
      refusals.set(own ? `${caller} ${campaign.name}` : campaign.name, { until: now + REPEAT_MILLIS, error })
      return error
    }
    const knownRefusal = (campaign: string, caller: string, now: number): BudgetExhausted | undefined => {
      for (const key of [campaign, `${caller} ${campaign}`]) {
        const known = refusals.get(key)
        if (known !== undefined && isOpen(known.until, REPEAT_MILLIS, now)) return known.error
      }
      return undefined
    }

    /** when this instance has last had it told that nothing is left of a budget (ms) */
    const told = boundedCache<number>(MAX_TOLD)
    const tellExhausted = Effect.fnUntraced(function* (
      { campaign, key }: BudgetedCampaign,
      { Name, Of }: Budget,
      window: WindowOf,
      now: number,
    ) {
      const where = `${campaign.name} ${Name}`
      if (ageOf(told.get(where) ?? 0, now) < TOLD_MILLIS) return
      const { told: isFirst } = yield* run(rules.exhaust, campaignBook(key), now, {
        ...{ name: Name, ...window },
        ...(Of === "account" ? { shared: true as const } : {}),
        ...(campaign.Events === undefined ? {} : { events: true as const }),
      })
      told.set(where, now)
      if (isFirst) yield* note(campaign.name, { exhausted: [Name] })
    })

    const dueAt = (heldUntil: number, { leadSeconds }: Compiled, blockMillis: number): number =>
      heldUntil - Math.min(leadSeconds * 1000 + AHEAD_MILLIS, blockMillis / 2)

    const hold: Budgets["Service"]["hold"] = Effect.fnUntraced(function* (at, { caller, lease, ticket }) {
      const budgets = compiled.get(at.campaign.name)
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
      if (held._tag === "refused")
        return yield* Effect.fail(refuse(at, budgets, caller, held.name, held.until, yield* store.now))
      return {
        _tag: "held",
        seconds: held.seconds,
        last: held.seconds < budgets.block,
        ...(held.short === undefined ? {} : { budget: held.short }),
      }
    })

    const extend: Budgets["Service"]["extend"] = Effect.fnUntraced(function* (at, call, since) {
      const budgets = compiled.get(at.campaign.name)
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

    /** Settles in one book. What the store has lost of a call, as in a failover, is charged all the same, beyond the cap if need be. */
    const settleIn = Effect.fnUntraced(function* (
      keys: ReadonlyArray<string>,
      campaign: string,
      call: SettleCall,
      entries: () => ReadonlyArray<BudgetEntry>,
      now: number,
    ) {
      const first = yield* run(rules.settle, keys, now, call)
      const budgets = compiled.get(campaign)
      if (first._tag === "settled") yield* note(campaign, first)
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
      if (held._tag === "held") yield* note(campaign, held)
      const again = yield* run(rules.settle, keys, now, call)
      if (again._tag === "settled") yield* note(campaign, again)
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
      const campaign = names.get(key) ?? key
      const budgets = compiled.get(campaign)
      // in whose windows the call began is known, except of a lost hold
      const began = {
        windows: budgets === undefined ? {} : windowsAt(budgets, now - call.seconds * 1000),
        ...(budgets?.perMinute === undefined ? {} : { perMinute: budgets.perMinute }),
      }
      const all = budgets?.all ?? []
      const settled = yield* settleIn(
        campaignBook(key),
        campaign,
        call,
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
      if (!isOwned || caller === undefined) return
      // a caller is charged only for a call that he had
      yield* settleIn(
        callerBook(caller),
        campaign,
        charge.doubt === true ? { id: call.id, seconds: 0 } : { ...call, sessions: [] },
        () => entriesOf(all.filter(isOwn), data ?? began),
        now,
      )
    })

    const balancesOf = Effect.fnUntraced(function* (
      { campaign, key }: BudgetedCampaign,
      caller: string | undefined,
      among: (budget: Budget) => boolean,
    ) {
      const budgets = compiled.get(campaign.name)
      if (budgets === undefined) return []
      const now = yield* store.now
      const of = (own: boolean) => budgets.all.filter((budget) => isOwn(budget) === own && among(budget))
      const read = (keys: ReadonlyArray<string>, wanted: ReadonlyArray<Budget>) =>
        wanted.length === 0
          ? Effect.succeed<ReadonlyArray<BudgetBalance>>([])
          : Effect.map(
              run(rules.balance, keys, now, {
                windows: wanted.map(({ Name, Of, Per }) => ({
                  name: Name,
                  from: window(Per, budgets.timeZone, now).from,
                  ...(Of === "account" ? { shared: true as const } : {}),
                })),
              }),
              ({ standings }: Balance) =>
                wanted.map((budget, n): BudgetBalance => {
                  const { adjusted, held, settled } = standings[n] ?? { settled: 0, held: 0, adjusted: 0 }
                  const left = capOf(budget) + adjusted - settled - held
                  return {
                    budget,
                    ...window(budget.Per, budgets.timeZone, now),
                    settled: shown(budget, settled),
                    held: shown(budget, held),
                    adjusted: shown(budget, adjusted),
                    left: shown(budget, Math.max(0, left)),
                    overrun: shown(budget, Math.max(0, -left)),
                  }
                }),
            )
      const [ofCampaign, ofCaller] = yield* Effect.all(
        [
          read(campaignBook(key), of(false)),
          caller === undefined ? Effect.succeed([]) : read(callerBook(caller), of(true)),
        ],
        { concurrency: "unbounded" },
      )
      return [...ofCampaign, ...ofCaller]
    })

    return {
      has: ({ name }) => compiled.has(name),
      check: Effect.fnUntraced(function* (at, caller) {
        const budgets = compiled.get(at.campaign.name)
        if (budgets === undefined) return
        const now = yield* store.now
        const known = knownRefusal(at.campaign.name, caller, now)
        if (known !== undefined) return yield* Effect.fail(known)
        const who = `${caller} ${at.campaign.name}`
        if (isOpen(passes.get(who) ?? 0, REPEAT_MILLIS, now)) return
        const balances = yield* balancesOf(at, caller, ({ OnLimit }) => OnLimit !== "count")
        for (const { budget, from, left, until } of balances) {
          const amount = budget.Unit === "money" ? millionths(left) : Math.round(left * 60)
          const seconds = secondsFor(amount, budget.Unit === "money" ? budgets.perMinute : undefined, budgets)
          if (seconds < budgets.least) {
            if (!isOwn(budget)) yield* tellExhausted(at, budget, { from, until }, now)
            return yield* Effect.fail(refuse(at, budgets, caller, budget.Name, until, now))
          }
        }
        passes.set(who, now + REPEAT_MILLIS)
      }),
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
        const budgets = compiled.get(at.campaign.name)
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
      endsAt: ({ campaign }, since, seconds) =>
        since + (seconds - (compiled.get(campaign.name)?.leadSeconds ?? 0)) * 1000,
      postpone: ({ key }, id, due) =>
        Effect.flatMap(store.now, (now) => Effect.asVoid(run(rules.postpone, campaignBook(key), now, { id, due }))),
      settle: (key, { hold, seconds, sessions, ...charge }) =>
        settleWith(key, { id: hold, seconds, ...(sessions === undefined ? {} : { sessions }) }, charge),
      settleUnknown: (key, hold) => settleWith(key, { id: hold, seconds: 0, unknown: true }, {}),
      correct: Effect.fnUntraced(function* ({ campaign, key }, sessions, { dollars, seconds }) {
        const cost = dollars === undefined || campaign.Price?.Currency !== "USD" ? undefined : millionths(dollars)
        if (seconds === undefined && cost === undefined) return
        const now = yield* store.now
        const about = {
          report: `${seconds ?? ""}/${cost ?? ""}`,
          ...(seconds === undefined ? {} : { seconds }),
          ...(cost === undefined ? {} : { cost }),
        }
        const events = campaign.Events === undefined ? {} : { events: true as const }
        const corrected = yield* run(rules.correct, campaignBook(key), now, { ...about, sessions, ...events })
        if (corrected._tag === "running" || corrected._tag === "unknown") return
        if (corrected._tag === "corrected") yield* note(campaign.name, corrected)
        const data = Option.getOrUndefined(decodeData(corrected.data))
        if (data?.own !== true) return
        const own = yield* run(rules.correct, callerBook(data.caller), now, { ...about, id: corrected.id })
        if (own._tag === "corrected") yield* note(campaign.name, own)
      }),
      balances: (at, caller) => balancesOf(at, caller, () => true),
      adjustable: (campaign, name, caller) => {
        const budget = compiled.get(campaign.name)?.all.find((each) => each.Name === name)
        return budget !== undefined && (!isOwn(budget) || caller !== undefined)
      },
      adjust: Effect.fnUntraced(function* (at, name, { by, caller, id }) {
        const budgets = compiled.get(at.campaign.name)
        const budget = budgets?.all.find((each) => each.Name === name)
        if (budgets === undefined || budget === undefined) return undefined
        if (isOwn(budget) && caller === undefined) return undefined
        const now = yield* store.now
        const keys = isOwn(budget) ? callerBook(caller ?? "") : campaignBook(at.key)
        const { made } = yield* run(rules.adjust, keys, now, {
          name,
          ...window(budget.Per, budgets.timeZone, now),
          ...(budget.Of === "account" ? { shared: true as const } : {}),
          by: budget.Unit === "money" ? millionths(by) : Math.round(by * 60),
          id,
        })
        refusals.clear()
        const [balance] = yield* balancesOf(at, caller, (each) => each === budget)
        return balance === undefined ? undefined : { made, balance }
      }),
    }
  }),
)
