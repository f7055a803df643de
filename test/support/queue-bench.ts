/**
 * A queue for tests: the operations of a campaign from either of two gates (`two-gates.ts`), each step of which is checked
 * (`checked-steps.ts`).
 */

import { randomUUID } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { campaignBook } from "../../src/budgets/keys.ts"
import { ledgerField } from "../../src/budgets/rules/book.ts"
import { rules as budgetRules } from "../../src/budgets/rules.ts"
import { type CallLimit, TICK_MILLIS } from "../../src/fifo-queue/FifoQueue.ts"
import type { EndReporter, Heard, KnownQueue, Pages, StartFailure } from "../../src/fifo-queue/inputs.ts"
import { campaignIdOf, campaignKeyOf, keysOf } from "../../src/fifo-queue/keys.ts"
import type { QueueAction } from "../../src/fifo-queue/rules/operator/act.ts"
import type { AwaitedBudget, QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import { rules } from "../../src/fifo-queue/rules.ts"
import type { AccountCapacity, CampaignContext } from "../../src/fifo-queue/step.ts"
import type { Settlement } from "../../src/protocol/settlements.ts"
import { INSTANCE_CHANNEL } from "../../src/protocol/signals.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"
import { callsPaid } from "../model/awaited.ts"
import { type CheckedAccount, makeCheckedSteps } from "./checked-steps.ts"
import { makeTwoGates } from "./two-gates.ts"

/** The operator in the audit log. */
export const OPERATOR = "192.0.2.9"

/** The window of the budget for which callers wait. */
const BUDGET = { name: "team", from: 1_000, until: 4_000_000_000_000 }
const BUDGET_FIELDS = ["settled", "held", "adjusted"].map((what) => ledgerField(what, BUDGET))

export interface Caller {
  readonly caller?: string
  readonly holds?: boolean
  readonly network?: string
  readonly data?: string
  readonly trace?: string
}

/** The account of a campaign. Benches of one account have the same `members`, in which each keeps its state. */
export type BenchAccount = CheckedAccount

/** Reads an account's record. */
const accountRecord: Rule<object, object, ReadonlyArray<string>> = {
  name: "test.account",
  lua: `-- test.account
return '[' .. cjson.encode(redis.call('HGETALL', KEYS[1])) .. ']'`,
  run: (db, [key = ""], _now, _context, calls) => calls.map(() => db.hgetall(key)),
  // an empty list is an empty object in Lua's JSON
  decode: (answer) => (Array.isArray(answer) ? answer.map(String) : []),
  batch: false,
}

/**
 * Opens a campaign with this many slots, seen from the instance `here`; another instance is `there`. Each is a gate
 * with its own path to the store, which can be broken.
 */
export const makeBench = Effect.fnUntraced(function* (
  initialSlots: number,
  campaign: string = randomUUID(),
  shared?: BenchAccount,
) {
  const store = yield* Store
  const { DisconnectGraceSeconds, MaxCallMinutes, MaxLength, NetworkShare, StartWindowSeconds } = (yield* Settings)
    .Queue
  const { queue, withdrawals, ...gates } = yield* makeTwoGates()
  const { here, there } = gates
  let slots = initialSlots
  let cap = shared?.cap ?? 0
  /** the budgets for which callers wait, the same array while nothing changes */
  let awaited: ReadonlyArray<AwaitedBudget> | undefined
  let awaitsOwn = false
  let capacity: AccountCapacity | undefined
  /** the capacity of the account, the same object while nothing changes */
  const capacityNow = (): AccountCapacity | undefined => {
    if (shared === undefined || capacity?.cap === cap) return capacity
    const { account } = campaignIdOf(campaign)
    const reserved = Object.entries(shared.reserved).map(([id, count]) => [
      campaignKeyOf({ account, campaign: id }),
      count,
    ])
    capacity = { cap, reserved: Object.fromEntries(reserved) }
    return capacity
  }
  /** how much time the budget has (s) */
  let left = 0
  const readPaid = Effect.suspend(() =>
    Effect.map(
      store.run(budgetRules.balance, {
        ...{ keys: campaignBook(campaign), now: 0, context: NO_CONTEXT },
        call: { windows: [{ ...BUDGET, ...(awaited?.[0]?.ofAccount === true ? { shared: true as const } : {}) }] },
      }),
      ({ standings: [standing] }) => {
        left = (standing?.adjusted ?? 0) - (standing?.settled ?? 0) - (standing?.held ?? 0)
      },
    ),
  )
  const paidNow = () => awaited && callsPaid(awaited.map(({ block, least }) => ({ left, block, least })))
  const accountNow = () => shared && { ...shared, cap }
  const at = (): CampaignContext => ({
    campaign,
    slots,
    account: capacityNow(),
    instance: gates.instance(),
    withdrawals,
    ...(awaited === undefined ? {} : { awaited: () => awaited ?? [] }),
    ...(awaitsOwn ? { awaitsOwn: true } : {}),
  })
  const contextOf = (): QueueContext => ({
    slots,
    share: NetworkShare,
    maxLength: MaxLength,
    instance: gates.instance(),
    holder: 1,
    channel: INSTANCE_CHANNEL,
    windowMillis: StartWindowSeconds * 1000,
    graceMillis: DisconnectGraceSeconds * 1000,
    seenMillis: DisconnectGraceSeconds * 1000 + TICK_MILLIS,
    callMillis: MaxCallMinutes * 60_000,
  })
  const { checkAgain, close, readAgain, results, sentBefore, step, watchSessions, watchTicket } =
    yield* makeCheckedSteps(at, contextOf, accountNow, [here, there], paidNow)

  const moves = {
    at,
    /** the store's time (ms) */
    now: store.now,
    ...gates,
    ...results,
    /** reads what the store has carried out beside the steps of this bench */
    refresh: readAgain,
    setSlots: (count: number) => {
      slots = count
    },
    /** callers wait for a budget from now on, which has no time at all */
    awaits: (budget: Pick<AwaitedBudget, "until" | "ofAccount">) => {
      awaited = [{ ...budget, fields: BUDGET_FIELDS, cap: 0, least: 20, block: 60 }]
    },
    /** whether callers wait for budgets of their own from now on, as the settings of the gates say */
    setAwaitsOwn: (is: boolean) => {
      awaitsOwn = is
    },
    /** The caller of a waiting ticket has too little left of a budget of his own, which begins anew then. */
    awaitBudget: (id: string, until: number) =>
      step(queue().unpaid?.await(at(), id, until) ?? Effect.die("nobody waits for a budget of his own")),
    /** The tickets whose callers' budgets a gate is to look after. */
    findUnpaid: (claimMillis: number) =>
      Effect.map(queue().unpaid?.find(at(), claimMillis) ?? Effect.succeed([]), (found) =>
        found.map(({ ticket }) => ticket),
      ),
    /** The budgets of these tickets' callers have enough again. */
    payOwn: (...ids: ReadonlyArray<string>) =>
      step(queue().unpaid?.pay(at(), ids) ?? Effect.die("nobody waits for a budget of his own"), { pays: ids }),
    /** The start finds too little in a budget of its caller, which begins anew then. */
    startUnpaid: (id: string, lease: string, until: number) =>
      step(queue().fail(at(), id, lease, { _tag: "unpaid", until })),
    /** adds so much time to that budget (s) */
    pay: (by: number, ofAccount?: true) =>
      Effect.andThen(
        store.run(budgetRules.adjust, {
          ...{ keys: campaignBook(campaign), now: 0, context: NO_CONTEXT },
          call: { ...BUDGET, by, id: randomUUID(), ...(ofAccount === undefined ? {} : { shared: true }) },
        }),
        readPaid,
      ),
    /** changes how many calls the account may have */
    setCap: (count: number) => {
      cap = count
    },
    /** the account's record in the store */
    account: Effect.suspend(() =>
      store.run(accountRecord, { keys: keysOf(campaign).slice(-1), now: 0, context: NO_CONTEXT, call: {} }),
    ),

    admit: (id: string, { caller = "", holds = false, network = "", data = `data of ${id}`, ...more }: Caller = {}) => {
      watchTicket(id)
      return step(queue().admit(at(), { id, caller, holds, network, data, ...more }), { admits: [id, caller] })
    },
    start: (id: string) => step(queue().start(at(), id)),
    bind: (
      id: string,
      lease: string,
      ids: ReadonlyArray<string>,
      data: Readonly<Record<string, string>> = {},
      offerMillis?: number,
      limit?: CallLimit,
    ) => {
      watchSessions(ids)
      return step(queue().bind(at(), id, lease, { ids, data, offerMillis, limit }))
    },
    /** The first ids of the sessions that have reached their time limits, and when the next thing is due of any. */
    lengths: (claimMillis: number, ends = true) =>
      Effect.map(
        step(queue().dueLengths?.(at(), claimMillis, ends) ?? Effect.die("this queue limits no call")),
        ({ nextAt, sessions }) => ({ nextAt, sessions: sessions.map((data) => JSON.parse(data).s[0]) }),
      ),
    offer: (id: string, session: string) => step(queue().offer(at(), id, session, `data of ${id}`)),
    /** one id of each session that may not have been opened */
    findUnopened: (claimMillis: number) =>
      Effect.tap(queue().unopened?.find(at(), claimMillis) ?? Effect.succeed([]), () => readAgain),
    noteOpening: (session: string, opened: boolean) => {
      const { unopened } = queue()
      assert.isDefined(unopened)
      return step(unopened.note(at(), session, opened))
    },
    sessionState: (session: string) => step(queue().sessionState(at(), session)),
    alias: (known: string, ...further: ReadonlyArray<string>) => {
      watchSessions(further)
      return step(queue().alias(at(), known, further))
    },
    /** The start failed for this reason. */
    startFails: (id: string, lease: string, why: StartFailure["_tag"] = "answered", millis = 1_000) =>
      step(queue().fail(at(), id, lease, { _tag: why, millis }), { refused: why === "refused" }),
    /** The platform refuses what the operator must mend. */
    isRejected: (id: string, lease: string, more: Pick<StartFailure, "ends" | "ofAccount"> = {}) =>
      step(
        queue().fail(at(), id, lease, {
          _tag: "rejected",
          code: "API_KEY_INVALID",
          setting: "ApiSecretToken",
          ...more,
        }),
      ),
    /** A sweep of a gate that has read the platform just now. */
    hears: (heard: Omit<Heard, "at">, readAt?: number) =>
      Effect.flatMap(store.now, (now) =>
        step(queue().sweep(at(), now, { heard: { ...heard, at: readAt ?? now } }), {
          swept: ({ more }) => !more,
          shown: now,
        }),
      ),
    /** A sweep of a gate at which a call to the platform has just failed. */
    suspects: Effect.flatMap(store.now, (now) =>
      step(queue().sweep(at(), now, { suspect: true }), { swept: ({ more }) => !more, shown: now }),
    ),
    doubts: (ageMillis: number, claimMillis: number) =>
      Effect.tap(queue().doubts(at(), ageMillis, claimMillis), () => readAgain),
    resolve: (doubt: string, found: ReadonlyArray<ReadonlyArray<string>> = [], ends = false) => {
      watchSessions(found.flat())
      return step(queue().resolve(at(), doubt, found, ends))
    },
    /** The first ids of the sessions that are to be ended. `silenceMillis`: how long nobody may speak in a call now. */
    dueEnds: (which: "all" | "at_once", claimMillis: number, silenceMillis?: number) =>
      Effect.map(queue().dueEnds(at(), which, claimMillis, silenceMillis), (due) =>
        due.map((data) => JSON.parse(data).s[0]),
      ),
    rest: (id: string, lease: string, millis?: number) =>
      step(queue().fail(at(), id, lease, millis === undefined ? { _tag: "capacity" } : { _tag: "limited", millis })),
    fail: (id: string, lease: string, refund = true) =>
      Effect.map(
        step(queue().fail(at(), id, lease, { _tag: refund ? "failed" : "refused" }), { refused: !refund }),
        ({ _tag }) => _tag,
      ),
    /** The vendor says of a call who speaks. */
    speech: (session: string, heard: { readonly caller?: boolean; readonly agent?: boolean }) =>
      step(queue().speech?.(at(), [session], heard) ?? Effect.die("this queue takes no speech")),
    /** The page of a call reports how long nobody has spoken (ms). */
    silence: (
      id: string,
      silentMillis: number,
      limit: { readonly millis: number; readonly ends: boolean } | undefined,
    ) => step(queue().silence?.(at(), id, silentMillis, limit) ?? Effect.die("the queue hears no silence")),
    end: (...ids: ReadonlyArray<string>) => step(queue().end(at(), ids)),
    /** The platform reports the end of a session, and for how long it ran. */
    endedAfter: (seconds: number, ...ids: ReadonlyArray<string>) =>
      step(queue().end(at(), ids, "webhook", undefined, seconds)),
    /** The end of a session, as the platform or the audit reports it. */
    reported: (by: EndReporter, ...ids: ReadonlyArray<string>) => step(queue().end(at(), ids, by)),
    /** The same as one of several attempts, of which some are lost. */
    attempted: (attempt: string, lost: ReadonlyArray<string>, ...ids: ReadonlyArray<string>) =>
      step(queue().end(at(), ids, "webhook", { attempt, lost })),
    leave: (id: string) => step(queue().leave(at(), id)),
    withdraw: (...ids: ReadonlyArray<string>) => step(queue().withdraw(at(), ids), { withdraws: true }),
    attach: (id: string, connected = true, hidden = false) => step(queue().attach(at(), id, connected, hidden)),
    heartbeat: (...ids: ReadonlyArray<string>) => step(queue().heartbeat(at(), ids)),
    /** the heartbeat of a gate that holds its waiting tickets and knows the queue up to a change */
    hold: (ids: ReadonlyArray<string>, known: Partial<KnownQueue> = {}) =>
      step(queue().heartbeat(at(), ids, { since: 0, ...known })),
    operator: {
      snapshot: (pages: Partial<Pages> = {}) =>
        step(queue().operator.snapshot(at(), { firstSlot: 0, slots: 100, firstPlace: 0, places: 100, ...pages })),
      turn: (type: "pause" | "resume" | "drain" | "reopen") => step(queue().operator.act(at(), OPERATOR, { type })),
      pauseUntil: (until: number) => step(queue().operator.act(at(), OPERATOR, { type: "pause", until })),
      callOne: Effect.suspend(() => step(queue().operator.act(at(), OPERATOR, { type: "call" }), { anyway: true })),
      remove: (seq: number) => step(queue().operator.act(at(), OPERATOR, { type: "remove", seq })),
      endLease: (lease: string, deadline: number) =>
        step(queue().operator.act(at(), OPERATOR, { type: "end", lease, deadline })),
      /** ends a lease, and a running session at the platform first; of a start in doubt, one of `candidates` */
      endCall: (lease: string, deadline: number, candidates: ReadonlyArray<ReadonlyArray<string>> = []) => {
        watchSessions(candidates.flat())
        const action = { type: "end", lease, deadline, claimMillis: 20_000, candidates } as const
        return step(queue().operator.act(at(), OPERATOR, action))
      },
      /** one page of the end of all running calls */
      endCalls: (ends: boolean, page?: { readonly below: number; readonly upTo: number }) =>
        step(
          queue().operator.act(at(), OPERATOR, {
            type: "end_calls",
            ...(ends ? { ends: true } : {}),
            ...(page === undefined ? {} : { page }),
          }),
        ),
      doubt: (lease: string) => step(queue().operator.doubt(at(), lease)),
      auditLog: (first = 0, most = 100) => step(queue().operator.auditLog(at(), first, most)),
    },
    sweep: Effect.flatMap(store.now, (now) =>
      step(queue().sweep(at(), now), { swept: ({ more }) => !more, shown: now }),
    ),
    clear: (unservedMillis: number) => step(queue().clear(at(), unservedMillis), { clears: true }),
    /** a sweep of an instance that has touched its connected tickets until then */
    sweepShown: (shown: number) => step(queue().sweep(at(), shown), { swept: ({ more }) => !more, shown }),
    /** a sweep that arrives only now */
    sweepSentBefore: (millis: number) => sentBefore(millis, rules.sweep, (sent) => ({ heartbeatAt: sent })),
    /** a newcomer whom a gate admits at a time that is long past */
    admitSentBefore: (millis: number, id: string) => {
      watchTicket(id)
      return sentBefore(millis, rules.admit, () => ({
        id,
        caller: "",
        network: "",
        holds: false,
        data: `data of ${id}`,
      }))
    },
    /** an end of a session that arrives only now */
    endSentBefore: (millis: number, ...sessions: ReadonlyArray<string>) =>
      sentBefore(millis, rules.end, () => ({ sessions })),
    /** a heartbeat that arrives only now */
    heartbeatSentBefore: (millis: number, ...ids: ReadonlyArray<string>) =>
      sentBefore(millis, rules.heartbeat, () => ({ ids })),
    /** a report whose answer its gate does not receive */
    reportUnheard: (since: number) => sentBefore(0, rules.reportOutage, () => ({ since, ids: withdrawals.ids() })),
    gone: Effect.suspend(() => step(queue().unregister(at()))),
    acknowledge: (done: ReadonlyArray<Settlement>) => Effect.andThen(queue().acknowledge(at(), done), readAgain),
    audit: (ageMillis: number, claimMillis: number) =>
      Effect.tap(queue().audit(at(), ageMillis, claimMillis), () => checkAgain),
  }

  /** Starts a called ticket in its slot; returns the lease. */
  const begin = Effect.fnUntraced(function* (id: string) {
    const begun = yield* moves.start(id)
    assert.strictEqual(begun._tag, "starting")
    return begun._tag === "starting" ? begun.lease : ""
  })

  return {
    ...moves,
    /** A newcomer finds a free slot and its session runs, named `session of <id>`; returns the lease. */
    enter: Effect.fnUntraced(function* (id: string, who?: Caller) {
      const admission = yield* moves.admit(id, who)
      assert.strictEqual(admission._tag, "starting")
      const lease = admission._tag === "starting" ? admission.lease : ""
      assert.strictEqual(yield* moves.bind(id, lease, [`session of ${id}`]), "live")
      return lease
    }),
    /** Newcomers that find no free slot. */
    wait: (...ids: ReadonlyArray<string>) =>
      Effect.forEach(
        ids,
        (id) => Effect.map(moves.admit(id), (admission) => assert.strictEqual(admission._tag, "waiting")),
        { discard: true },
      ),
    /** The same of many, who are checked together: to read them all after each would take their square. */
    waitTogether: Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
      for (const id of ids) {
        watchTicket(id)
        const newcomer = { id, caller: "", holds: false, network: "", data: `data of ${id}` }
        const { result, settlements, signals } = yield* queue().admit(at(), newcomer)
        assert.deepStrictEqual([result._tag, settlements, signals], ["waiting", [], []])
      }
      yield* checkAgain
    }),
    /** Waiting tickets are attached, and checked together. */
    attachTogether: Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
      for (const id of ids) {
        const { result, settlements, signals } = yield* queue().attach(at(), id, true)
        assert.deepStrictEqual([result._tag, settlements, signals], ["waiting", [], []])
      }
      yield* checkAgain
    }),
    /** Newcomers find free slots and their sessions run, as with `enter`. They are checked together when all start, and when all are live. */
    enterTogether: Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
      const leases = new Map<string, string>()
      for (const id of ids) {
        watchTicket(id)
        const newcomer = { id, caller: "", holds: false, network: "", data: `data of ${id}` }
        const { result, settlements, signals } = yield* queue().admit(at(), newcomer)
        assert.deepStrictEqual([result._tag, settlements, signals], ["starting", [], []])
        if (result._tag === "starting") leases.set(id, result.lease)
      }
      yield* checkAgain
      for (const [id, lease] of leases) {
        const session = `session of ${id}`
        watchSessions([session])
        const { result, settlements, signals } = yield* queue().bind(at(), id, lease, { ids: [session], data: {} })
        assert.deepStrictEqual([result, settlements, signals], ["live", [], []])
      }
      yield* checkAgain
    }),
    begin,
    /** steps without checks, for many tickets */
    unchecked: {
      admit: (id: string, network = "") => queue().admit(at(), { id, caller: "", holds: false, network, data: "" }),
      attach: (id: string) => queue().attach(at(), id, true),
      heartbeat: (all: ReadonlyArray<string>) => Effect.map(queue().heartbeat(at(), all), ({ result }) => result),
      snapshot: (pages: Pages) => Effect.map(queue().operator.snapshot(at(), pages), ({ result }) => result),
      act: (action: QueueAction) => queue().operator.act(at(), OPERATOR, action),
    },
    /** A called ticket starts and its session runs. */
    run: Effect.fnUntraced(function* (id: string) {
      const lease = yield* begin(id)
      assert.strictEqual(yield* moves.bind(id, lease, [`session of ${id}`]), "live")
      return lease
    }),
    close,
  }
})

type BenchOf<A> = A extends Effect.Effect<infer Bench, unknown, unknown> ? Bench : never
export type Bench = BenchOf<ReturnType<typeof makeBench>>
