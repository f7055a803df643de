/** The budgets over the store: each operation is one rule, run on the book of a campaign with that of the caller, where there is one. */
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { DOUBT_MILLIS, START_LEASE_MILLIS } from "../fifo-queue/bounds.ts"
import { campaignKeyOf } from "../fifo-queue/keys.ts"
import { holdName } from "../fifo-queue/short-hash.ts"
import { boundedCache } from "../lib/bounded-cache.ts"
import type { Period } from "../lib/periods.ts"
import { type BudgetExhausted, budgetExhausted, type StoreUnavailable } from "../protocol/refusals.ts"
import { type Budget, type Budgeted, budgetsOf, millionths } from "../settings/groups/budgets.ts"
import { Settings } from "../settings/Settings.ts"
import { NO_CONTEXT } from "../store/rule.ts"
import { type Rule, Store } from "../store/Store.ts"
import type { Balance, BudgetEffects, Held } from "./answers.ts"
import { type BudgetBalance, type BudgetedCampaign, Budgets, type Holding } from "./Budgets.ts"
import { callerBook, campaignBook } from "./keys.ts"
import * as metrics from "./metrics.ts"
import type { BookPart, BudgetEntry } from "./rules/hold.ts"
import { secondsFor } from "./rules/units.ts"
import { rules } from "./rules.ts"
import { type WindowOf, windowOf } from "./windows.ts"

/** How long an instance repeats a refusal without asking the store (ms), so that a caller who insists costs it nothing. */
const REPEAT_MILLIS = 1_000
const MAX_REMEMBERED_REFUSALS = 10_000
/** How long before its time is used up a call holds more, beyond the time in which it would be ended (ms): for the warning, and for a gate that dies. */
const AHEAD_MILLIS = 20_000
/** How long a call lasts at least that is worth beginning, beyond the time before its end in which it is ended (s). */
const WORTH_SECONDS = 10
/** A caller's hold outlives by this what its campaign may still decide about the ticket (ms). */
const LONGER_MILLIS = 3_600_000

/** What is stored with a hold: what its call needs later. */
const HoldData = Schema.fromJsonString(
  Schema.Struct({
    ticket: Schema.String,
    lease: Schema.String,
    caller: Schema.String,
    /** the window of each budget, by its name, and the price in millionths a minute, as they were when the call began */
    windows: Schema.Record(Schema.String, Schema.Tuple([Schema.Finite, Schema.Finite])),
    perMinute: Schema.optionalKey(Schema.Finite),
    /** the caller's book has a part of it */
    own: Schema.optionalKey(Schema.Literal(true)),
  }),
)
type HoldData = typeof HoldData.Type
const encodeData = Schema.encodeSync(HoldData)
const decodeData = Schema.decodeUnknownOption(HoldData)

/** The budgets of a campaign, as the rules are told of them. */
interface Compiled {
  readonly all: ReadonlyArray<Budget>
  readonly timeZone: DateTime.TimeZone
  readonly perMinute: number | undefined
  readonly roundUp: number
  readonly minimum: number
  /** what a call holds at first, and the least with which it may begin (s) */
  readonly block: number
  readonly least: number
  readonly leadSeconds: number
}

const compile = (campaign: Budgeted): Compiled | undefined => {
  const given = budgetsOf(campaign)
  if (given === undefined) return undefined
  const { Budget, Budgets, Price } = given
  const { MinimumSeconds: minimum, PerMinute, RoundUpSeconds: roundUp } = Price
  const steps = (seconds: number): number => Math.ceil(seconds / roundUp) * roundUp
  const least = steps(Math.max(minimum, Budget.EndLeadSeconds + WORTH_SECONDS))
  return {
    all: Budgets,
    timeZone: DateTime.zoneMakeNamedUnsafe(Budget.Zone),
    perMinute: PerMinute === undefined ? undefined : millionths(PerMinute),
    roundUp,
    minimum,
    block: Math.max(least, steps(Budget.BlockSeconds)),
    least,
    leadSeconds: Budget.EndLeadSeconds,
  }
}

/** The cap in the unit of the rules: seconds, or millionths. */
const capOf = ({ Cap, Unit }: Budget): number => (Unit === "money" ? millionths(Cap) : Math.floor(Cap * 60))

/** An amount of the rules as operators say it. */
const shown = ({ Unit }: Budget, amount: number): number => (Unit === "money" ? amount / 1_000_000 : amount / 60)

const isOwn = ({ Of }: Budget): boolean => Of === "caller"

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

    const windows = new Map<string, WindowOf>()
    /** @param now the time of day (ms since 1970) */
    const window = (Per: Period, timeZone: DateTime.TimeZone, now: number): WindowOf => {
      const key = `${Per} ${DateTime.zoneToString(timeZone)}`
      const known = windows.get(key)
      if (known !== undefined && known.from <= now && now < known.until) return known
      const found = windowOf(Per, timeZone, now)
      windows.set(key, found)
      return found
    }
    const windowsAt = ({ all, timeZone }: Compiled, now: number): HoldData["windows"] =>
      Object.fromEntries(
        all.map(({ Name, Per }) => {
          const { from, until } = window(Per, timeZone, now + aheadMillis())
          return [Name, [from, until] as const]
        }),
      )

    const entriesOf = (
      budgets: ReadonlyArray<Budget>,
      { perMinute, windows }: Pick<HoldData, "perMinute" | "windows">,
    ): ReadonlyArray<BudgetEntry> =>
      budgets.flatMap((budget) => {
        const [from, until] = windows[budget.Name] ?? []
        // a budget that is newer than the call does not count it
        if (from === undefined || until === undefined) return []
        if (budget.Unit === "money" && perMinute === undefined) return []
        return {
          name: budget.Name,
          from,
          until,
          cap: capOf(budget),
          onLimit: budget.OnLimit,
          ...(budget.Of === "account" ? { shared: true as const } : {}),
          ...(budget.Unit === "money" && perMinute !== undefined ? { perMinute } : {}),
          ...(budget.AlertAt.length === 0 ? {} : { shares: budget.AlertAt }),
        }
      })

    const run = <Call extends object, A>(
      rule: Rule<object, Call, A>,
      keys: ReadonlyArray<string>,
      now: number,
      call: Call,
    ): Effect.Effect<A, StoreUnavailable> => store.run(rule, { keys, now, context: NO_CONTEXT, call })

    /** Logs and counts what a step has found. Each was found by one step, so each is told once. */
    const note = Effect.fnUntraced(function* (campaign: string, { alerts = [], overruns = [] }: BudgetEffects) {
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
     * caller's, all of it when the campaign's refuses.
     */
    const holdInBooks = Effect.fnUntraced(function* (
      { campaign, key }: BudgetedCampaign,
      budgets: Compiled,
      id: string,
      seconds: number,
      data: HoldData,
      due: number,
    ) {
      const now = yield* store.now
      const { least, minimum, roundUp } = budgets
      const ofCaller = entriesOf(budgets.all.filter(isOwn), data)
      const ofCampaign = entriesOf(
        budgets.all.filter((budget) => !isOwn(budget)),
        data,
      )
      const campaignPart: BookPart = {
        ...(ofCampaign.length === 0 ? {} : { entries: ofCampaign }),
        data: encodeData(data),
        due,
      }
      const callerPart: BookPart = {
        entries: ofCaller,
        due: now + callMillis + START_LEASE_MILLIS + DOUBT_MILLIS + LONGER_MILLIS,
        expires: true,
      }
      const ask = (keys: ReadonlyArray<string>, total: number, books: ReadonlyArray<BookPart>) =>
        Effect.tap(run(rules.hold, keys, now, { id, seconds: total, least, minimum, roundUp, books }), (held) =>
          held._tag === "held" ? note(campaign.name, held) : Effect.void,
        )
      if (ofCaller.length === 0) return yield* ask(campaignBook(key), seconds, [campaignPart])
      const own = callerBook(data.caller)
      if (store.crossSlot) return yield* ask([...campaignBook(key), ...own], seconds, [campaignPart, callerPart])
      const first = yield* ask(own, seconds, [callerPart])
      if (first._tag !== "held") return first
      const second = yield* ask(campaignBook(key), first.seconds, [campaignPart])
      if (second._tag !== "held") {
        // what cannot be given back now expires with the hold
        yield* Effect.ignore(run(rules.settle, own, now, { id, seconds: 0 }))
        return second
      }
      if (second.seconds < first.seconds) yield* Effect.ignore(ask(own, second.seconds, [callerPart]))
      return first.short !== undefined && second.short === undefined ? { ...second, short: first.short } : second
    })

    const refusals = boundedCache<{ readonly until: number; readonly error: BudgetExhausted }>(MAX_REMEMBERED_REFUSALS)
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
        if (known !== undefined && now < known.until) return known.error
      }
      return undefined
    }

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
      )
      if (held._tag === "over") return held
      if (held._tag === "refused")
        return yield* Effect.fail(refuse(at, budgets, caller, held.name, held.until, yield* store.now))
      // it is the last time: when the call has begun, it is told when it ends
      if (held.seconds < budgets.block) {
        const due = now + AHEAD_MILLIS / 2
        yield* Effect.ignore(run(rules.postpone, campaignBook(at.key), now, { id: holdName(ticket, lease), due }))
      }
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
      // a call that has not begun needs no more than it holds
      const seconds = since === 0 ? call.seconds : call.seconds + budgets.block
      const held = yield* holdInBooks(
        at,
        budgets,
        call.hold,
        seconds,
        data,
        dueAt(from + seconds * 1000, budgets, blockMillis),
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

    /**
     * Settles in the campaign's book. What the store has lost of a call, as in a failover, is charged to the present windows, beyond the cap
     * if need be; whose call it was, only the lost hold knew.
     */
    const settleIn = Effect.fnUntraced(function* (
      key: string,
      call: { readonly id: string; readonly seconds: number; readonly unknown?: true },
      now: number,
    ) {
      const settled = yield* run(rules.settle, campaignBook(key), now, call)
      const campaign = Campaigns.find(({ name }) => name === names.get(key))
      const budgets = campaign === undefined ? undefined : compiled.get(campaign.name)
      if (settled._tag !== "lost" || budgets === undefined) return settled
      const windows = windowsAt(budgets, now)
      const { minimum, perMinute, roundUp } = budgets
      const entries = entriesOf(
        budgets.all.filter((budget) => !isOwn(budget)),
        perMinute === undefined ? { windows } : { windows, perMinute },
      ).map((entry): BudgetEntry => ({ ...entry, onLimit: "count" }))
      const part: BookPart = { ...(entries.length === 0 ? {} : { entries }), due: now + LONGER_MILLIS }
      const seconds = Math.ceil(call.seconds / roundUp) * roundUp
      const held = yield* run(rules.hold, campaignBook(key), now, {
        id: call.id,
        seconds,
        least: 0,
        minimum,
        roundUp,
        books: [part],
      })
      if (held._tag === "held") yield* note(names.get(key) ?? key, held)
      return yield* run(rules.settle, campaignBook(key), now, call)
    })

    const settleWith = Effect.fnUntraced(function* (
      key: string,
      call: { readonly id: string; readonly seconds: number; readonly unknown?: true },
      doubt: boolean,
    ) {
      const now = yield* store.now
      const settled = yield* settleIn(key, call, now)
      if (settled._tag === "unmade" || settled._tag === "lost") return
      const data = Option.getOrUndefined(decodeData(settled.data))
      const campaign = names.get(key) ?? key
      if (settled._tag === "settled") yield* note(campaign, settled)
      if (data?.own !== true) return
      // a caller is charged only for a call that he had
      const own = yield* run(rules.settle, callerBook(data.caller), now, doubt ? { id: call.id, seconds: 0 } : call)
      if (own._tag === "settled") yield* note(campaign, own)
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
                  from: window(Per, budgets.timeZone, now + aheadMillis()).from,
                  ...(Of === "account" ? { shared: true as const } : {}),
                })),
              }),
              ({ standings }: Balance) =>
                wanted.map((budget, n): BudgetBalance => {
                  const { adjusted, held, settled } = standings[n] ?? { settled: 0, held: 0, adjusted: 0 }
                  const left = capOf(budget) + adjusted - settled - held
                  return {
                    budget,
                    ...window(budget.Per, budgets.timeZone, now + aheadMillis()),
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
        const balances = yield* balancesOf(at, caller, ({ OnLimit }) => OnLimit !== "count")
        for (const { budget, left, until } of balances) {
          const amount = budget.Unit === "money" ? millionths(left) : Math.round(left * 60)
          const seconds = secondsFor(amount, budget.Unit === "money" ? budgets.perMinute : undefined, budgets)
          if (seconds < budgets.least) {
            return yield* Effect.fail(refuse(at, budgets, caller, budget.Name, until, now))
          }
        }
      }),
      hold,
      due: ({ key }, claimMillis) =>
        Effect.flatMap(store.now, (now) =>
          Effect.map(run(rules.due, campaignBook(key), now, { claimMillis }), ({ holds = [] }) =>
            holds.map(({ data, id, seconds }) => {
              const { lease = "", ticket = "" } = Option.getOrUndefined(decodeData(data)) ?? {}
              return { hold: id, ticket, lease, seconds, data }
            }),
          ),
        ),
      extend,
      endsAt: ({ campaign }, since, seconds) =>
        since + (seconds - (compiled.get(campaign.name)?.leadSeconds ?? 0)) * 1000,
      postpone: ({ key }, id, due) =>
        Effect.flatMap(store.now, (now) => Effect.asVoid(run(rules.postpone, campaignBook(key), now, { id, due }))),
      settle: (key, { doubt, hold, seconds }) => settleWith(key, { id: hold, seconds }, doubt === true),
      settleUnknown: (key, hold) => settleWith(key, { id: hold, seconds: 0, unknown: true }, false),
      balances: (at, caller) => balancesOf(at, caller, () => true),
      adjust: Effect.fnUntraced(function* (at, name, { by, caller, id }) {
        const budgets = compiled.get(at.campaign.name)
        const budget = budgets?.all.find((each) => each.Name === name)
        if (budgets === undefined || budget === undefined) return undefined
        if (isOwn(budget) && caller === undefined) return undefined
        const now = yield* store.now
        const keys = isOwn(budget) ? callerBook(caller ?? "") : campaignBook(at.key)
        const { made } = yield* run(rules.adjust, keys, now, {
          name,
          ...window(budget.Per, budgets.timeZone, now + aheadMillis()),
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
