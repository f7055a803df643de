/**
 * A queue for tests: it reads the store after every step, and fails the test as soon as an invariant does not hold, a
 * signal is missing or superfluous, or a settlement is not what the step owes.
 */
import { randomUUID } from "node:crypto"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { eventually } from "../../scripts/harness/process.ts"
import {
  type AccountCapacity,
  type CampaignContext,
  FifoQueue,
  INSTANCE_CHANNEL,
  type Settlement,
  type Signal,
  type StartFailure,
  type StepResult,
  TICK_MILLIS,
  type Withdrawals,
} from "../../src/FifoQueue.ts"
import { campaignIdOf, campaignKeyOf, keysOf } from "../../src/queue/keys.ts"
import { layer as queueLayer } from "../../src/queue/layer.ts"
import type { Action, Pages } from "../../src/queue/operator.ts"
import { rules } from "../../src/queue/rules.ts"
import { readSignal } from "../../src/queue/signals.ts"
import type { QueueContext } from "../../src/rules/step.ts"
import { StoreUnavailable } from "../../src/Session.ts"
import { Settings } from "../../src/Settings.ts"
import { type Rule, Store } from "../../src/Store.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { accountViolations, type Member, slotsWithin } from "../model/accounts.ts"
import {
  type Change,
  EMPTY,
  expectedSettlements,
  expectedSignals,
  settlementText,
  signalText,
  violations,
} from "../model/invariants.ts"
import { doubtIds, probe, readState } from "../model/queue-state.ts"

/** The operator in the audit log. */
export const OPERATOR = "192.0.2.9"

export interface Caller {
  readonly caller?: string
  readonly holds?: boolean
  readonly network?: string
  readonly data?: string
  readonly trace?: string
}

/** The account of a campaign. Benches of one account have the same `members`, in which each keeps its state. */
export interface BenchAccount {
  readonly cap: number
  readonly reserved: Readonly<Record<string, number>>
  readonly members: Map<string, Member>
}

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
  const own = campaignIdOf(campaign).campaign
  const store = yield* Store
  const settings = yield* Settings
  const here = `here-${randomUUID()}`
  const there = `there-${randomUUID()}`
  const broken = new Set<string>()
  const gate = (name: string) => {
    const path = Store.of({
      ...store,
      run: (...asked) =>
        Effect.suspend(() =>
          broken.has(name) ? Effect.fail(new StoreUnavailable({ message: "broken" })) : store.run(...asked),
        ),
    })
    const services = Layer.mergeAll(Layer.succeed(Store, path), Layer.succeed(Settings, settings))
    return Effect.map(Layer.build(Layer.provide(Layer.fresh(queueLayer), services)), (built) =>
      Context.get(built, FifoQueue),
    )
  }
  const gates = new Map([
    [here, yield* gate(here)],
    [there, yield* gate(there)],
  ])
  const { DisconnectGraceSeconds, MaxCallMinutes, MaxLength, NetworkShare: share, StartWindowSeconds } = settings.Queue
  const window = StartWindowSeconds * 1000
  const context = {
    share,
    maxLength: MaxLength,
    channel: INSTANCE_CHANNEL,
    windowMillis: window,
    graceMillis: DisconnectGraceSeconds * 1000,
    seenMillis: DisconnectGraceSeconds * 1000 + TICK_MILLIS,
    callMillis: MaxCallMinutes * 60_000,
  }
  let slots = initialSlots
  let cap = shared?.cap ?? 0
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
  const accountNow = () => shared && { ...shared, cap }
  let instance = here
  const queue = (): FifoQueue["Service"] => {
    const found = gates.get(instance)
    if (found === undefined) throw new Error(`there is no gate ${instance}`)
    return found
  }
  /** by instance, the tickets that it must withdraw */
  const withdrawing = new Map<string, Array<string>>()
  const withdrawals: Withdrawals = {
    ids: () => withdrawing.get(instance) ?? [],
    done: (ids) => {
      const left = (withdrawing.get(instance) ?? []).filter((id) => !ids.includes(id))
      return Effect.sync(() => void withdrawing.set(instance, left))
    },
  }
  const at = (): CampaignContext => ({ campaign, slots, account: capacityNow(), instance, withdrawals })

  const tickets = new Set<string>()
  const sessions = new Set<string>()
  const read = Effect.suspend(() => {
    const ids = [...tickets, ...doubtIds((state.meta.get("lease") ?? 0) + tickets.size)]
    const call = { tickets: ids, sessions: [...sessions] }
    return Effect.map(store.run(probe, { keys: keysOf(campaign), now: 0, context: NO_CONTEXT, call }), readState)
  })
  let state = EMPTY

  /** what was published to either instance, and what should have been */
  const published: Array<{ readonly text: string; readonly signal: Signal | undefined }> = []
  const expected: Array<string> = []
  for (const each of [here, there]) {
    yield* store.subscribe(INSTANCE_CHANNEL + each, (message) => {
      const signal = readSignal(message)
      published.push({ text: signal === undefined ? message : signalText(signal), signal })
    })
  }
  const allPublished = (what: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.promise(() => eventually(`the messages ${what.join(", ")}`, () => published.length >= what.length))

  let last: { readonly signals: ReadonlyArray<Signal>; readonly published: ReadonlyArray<Signal> } = {
    signals: [],
    published: [],
  }
  let settlements: ReadonlyArray<Settlement> = []
  let wanting: ReadonlyArray<string> = []

  /** A step of the current instance that was sent so long ago and arrives only now. */
  const sentBefore = Effect.fnUntraced(function* <Call extends object, A>(
    millis: number,
    rule: Rule<QueueContext, Call, A>,
    callOf: (sent: number) => Call,
  ) {
    const sent = (yield* store.now) - millis
    yield* store.run(rule, {
      keys: keysOf(campaign),
      now: sent,
      context: { ...context, slots, instance },
      call: callOf(sent),
    })
    state = yield* read
  })

  const step = Effect.fnUntraced(function* <A>(
    taken: Effect.Effect<StepResult<A>, StoreUnavailable>,
    {
      swept = () => false,
      ...kind
    }: { readonly swept?: (result: A) => boolean } & Pick<
      Change,
      "anyway" | "refused" | "withdraws" | "clears" | "admits" | "shown"
    > = {},
  ) {
    const now = yield* store.now
    const withdraws = withdrawals.ids().length > 0
    const account = accountNow()
    const bounds = account && slotsWithin(account, own)
    const stepped = yield* taken
    const change: Change = {
      before: state,
      after: yield* read,
      now,
      slots,
      share,
      window,
      self: instance,
      swept: swept(stepped.result),
      withdraws,
      ...(bounds === undefined ? {} : { account: bounds }),
      ...kind,
    }
    state = change.after
    wanting = stepped.wanting ?? []
    assert.deepStrictEqual(violations(change), [])
    if (account !== undefined && bounds !== undefined) {
      assert.deepStrictEqual(accountViolations(account, own, change), [])
      const limited = state.leases.size >= bounds.most && state.leases.size < slots
      account.members.set(own, { state, slots, steppedAt: now, limited })
    }

    const returned = stepped.signals.map(signalText)
    const signals = expectedSignals(change)
    const others = signals.filter((signal) => !returned.includes(signal))
    assert.deepStrictEqual([...returned, ...others].toSorted(), signals)
    const heardBefore = expected.length
    expected.push(...others)
    yield* allPublished(expected)
    const heard = published.slice(heardBefore)
    assert.deepStrictEqual(heard.map(({ text }) => text).toSorted(), others)
    last = { signals: stepped.signals, published: heard.flatMap(({ signal }) => signal ?? []) }

    assert.deepStrictEqual(stepped.settlements.map(settlementText).toSorted(), expectedSettlements(change))
    for (const settlement of stepped.settlements)
      assert.strictEqual(state.settlements.get(settlementText(settlement)), now)
    settlements = stepped.settlements
    return stepped.result
  })

  const moves = {
    at,
    /** the store's time (ms) */
    now: store.now,
    here,
    there,
    setSlots: (count: number) => {
      slots = count
    },
    /** changes how many calls the account may have */
    setCap: (count: number) => {
      cap = count
    },
    /** the campaigns of the account that the last step named as waiting for a free slot */
    wanting: () => wanting,
    /** the account's record in the store */
    account: Effect.suspend(() =>
      store.run(accountRecord, { keys: keysOf(campaign).slice(-1), now: 0, context: NO_CONTEXT, call: {} }),
    ),
    /** breaks or restores this instance's path to the store */
    setBroken: (which: string, is: boolean) => {
      if (is) broken.add(which)
      else broken.delete(which)
    },
    /** this instance has answered the requests for these with 503 */
    setWithdrawing: (which: string, ...ids: ReadonlyArray<string>) => {
      withdrawing.set(which, [...ids])
    },
    /** what it still must withdraw */
    withdrawing: (which: string) => withdrawing.get(which) ?? [],
    /** runs the following steps on this instance */
    on: (which: string) => {
      instance = which
    },
    /** what is in the store after the last step */
    state: () => state,
    /** the signals that the last step returned, and those that it published */
    signals: () => last.signals,
    published: () => last.published,
    settlements: () => settlements,
    stateOf: (id: string) => state.tickets.get(id)?.state,
    /** the waiting tickets in order */
    line: () => [...state.waiting.keys()],
    /** the tickets that the last step called, whether signalled or published */
    called: () => [...last.signals, ...last.published].filter((s) => s.kind._tag === "called").map((s) => s.ticket),

    admit: (id: string, { caller = "", holds = false, network = "", data = `data of ${id}`, ...more }: Caller = {}) => {
      tickets.add(id)
      return step(queue().admit(at(), { id, caller, holds, network, data, ...more }), { admits: [id, caller] })
    },
    start: (id: string) => step(queue().start(at(), id)),
    bind: (
      id: string,
      lease: string,
      ids: ReadonlyArray<string>,
      data: Readonly<Record<string, string>> = {},
      offerMillis?: number,
    ) => {
      for (const session of ids) sessions.add(session)
      return step(queue().bind(at(), id, lease, { ids, data, offerMillis }))
    },
    offer: (id: string, session: string) => step(queue().offer(at(), id, session, `data of ${id}`)),
    alias: (known: string, ...further: ReadonlyArray<string>) => {
      for (const session of further) sessions.add(session)
      return step(queue().alias(at(), known, further))
    },
    /** The start failed for this reason. */
    startFails: (id: string, lease: string, why: StartFailure["_tag"] = "answered", millis = 1_000) =>
      step(queue().fail(at(), id, lease, { _tag: why, millis }), { refused: why === "refused" }),
    doubts: (ageMillis: number, claimMillis: number) =>
      Effect.tap(queue().doubts(at(), ageMillis, claimMillis), () =>
        Effect.map(read, (after) => {
          state = after
        }),
      ),
    resolve: (doubt: string, found: ReadonlyArray<ReadonlyArray<string>> = [], ends = false) => {
      for (const session of found.flat()) sessions.add(session)
      return step(queue().resolve(at(), doubt, found, ends))
    },
    /** the first ids of the sessions that are to be ended */
    dueEnds: (which: "all" | "at_once", claimMillis: number) =>
      Effect.map(queue().dueEnds(at(), which, claimMillis), (due) => due.map((data) => JSON.parse(data).s[0])),
    rest: (id: string, lease: string, millis?: number) =>
      step(queue().fail(at(), id, lease, millis === undefined ? { _tag: "capacity" } : { _tag: "limited", millis })),
    fail: (id: string, lease: string, refund = true) =>
      Effect.map(
        step(queue().fail(at(), id, lease, { _tag: refund ? "failed" : "refused" }), { refused: !refund }),
        ({ _tag }) => _tag,
      ),
    end: (...ids: ReadonlyArray<string>) => step(queue().end(at(), ids)),
    leave: (id: string) => step(queue().leave(at(), id)),
    withdraw: (...ids: ReadonlyArray<string>) => step(queue().withdraw(at(), ids), { withdraws: true }),
    attach: (id: string, connected = true, hidden = false) => step(queue().attach(at(), id, connected, hidden)),
    heartbeat: (...ids: ReadonlyArray<string>) => step(queue().heartbeat(at(), ids)),
    operator: {
      snapshot: (pages: Partial<Pages> = {}) =>
        step(queue().operator.snapshot(at(), { firstSlot: 0, slots: 100, firstPlace: 0, places: 100, ...pages })),
      turn: (type: "pause" | "resume" | "drain" | "reopen") => step(queue().operator.act(at(), OPERATOR, { type })),
      pauseUntil: (until: number) => step(queue().operator.act(at(), OPERATOR, { type: "pause", until })),
      callOne: Effect.suspend(() => step(queue().operator.act(at(), OPERATOR, { type: "call" }), { anyway: true })),
      remove: (seq: number) => step(queue().operator.act(at(), OPERATOR, { type: "remove", seq })),
      endLease: (lease: string, deadline: number) =>
        step(queue().operator.act(at(), OPERATOR, { type: "end", lease, deadline })),
      /** ends a lease, and a running session at the platform first */
      endCall: (lease: string, deadline: number) =>
        step(queue().operator.act(at(), OPERATOR, { type: "end", lease, deadline, claimMillis: 20_000 })),
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
    /** an end of a session that arrives only now */
    endSentBefore: (millis: number, ...sessions: ReadonlyArray<string>) =>
      sentBefore(millis, rules.end, () => ({ sessions })),
    /** a heartbeat that arrives only now */
    heartbeatSentBefore: (millis: number, ...ids: ReadonlyArray<string>) =>
      sentBefore(millis, rules.heartbeat, () => ({ ids })),
    /** a report whose answer its gate does not receive */
    reportUnheard: (since: number) =>
      Effect.gen(function* () {
        const now = yield* store.now
        const call = { since, ids: withdrawals.ids() }
        yield* store.run(rules.reportOutage, {
          keys: keysOf(campaign),
          now,
          context: { ...context, slots, instance },
          call,
        })
        state = yield* read
      }),
    gone: Effect.suspend(() => step(queue().unregister(at()))),
    acknowledge: (done: ReadonlyArray<Settlement>) =>
      Effect.andThen(
        queue().acknowledge(at(), done),
        Effect.map(read, (after) => {
          state = after
        }),
      ),
    audit: (ageMillis: number, claimMillis: number) =>
      Effect.tap(queue().audit(at(), ageMillis, claimMillis), () =>
        Effect.map(read, (after) => {
          assert.deepStrictEqual(violations({ before: state, after, now: 0, slots, share, window, swept: false }), [])
          state = after
        }),
      ),
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
    begin,
    /** steps without checks, for many tickets */
    unchecked: {
      admit: (id: string, network = "") => queue().admit(at(), { id, caller: "", holds: false, network, data: "" }),
      attach: (id: string) => queue().attach(at(), id, true),
      heartbeat: (all: ReadonlyArray<string>) => Effect.map(queue().heartbeat(at(), all), ({ result }) => result),
      snapshot: (pages: Pages) => Effect.map(queue().operator.snapshot(at(), pages), ({ result }) => result),
      act: (action: Action) => queue().operator.act(at(), OPERATOR, action),
    },
    /** A called ticket starts and its session runs. */
    run: Effect.fnUntraced(function* (id: string) {
      const lease = yield* begin(id)
      assert.strictEqual(yield* moves.bind(id, lease, [`session of ${id}`]), "live")
      return lease
    }),
    /** Nothing was published except what was due. */
    close: Effect.gen(function* () {
      for (const each of [here, there]) {
        expected.push("the end")
        yield* store.publish(INSTANCE_CHANNEL + each, "the end")
      }
      yield* allPublished(expected)
      assert.deepStrictEqual(published.map(({ text }) => text).toSorted(), expected.toSorted())
    }),
  }
})

type BenchOf<A> = A extends Effect.Effect<infer Bench, unknown, unknown> ? Bench : never
export type Bench = BenchOf<ReturnType<typeof makeBench>>
