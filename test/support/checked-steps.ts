/**
 * Runs steps of a queue and reads the store after each. Fails the test as soon as an invariant does not hold, a signal is missing or
 * superfluous, or a settlement is not what the step owes.
 */

import { EventEmitter, once } from "node:events"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { campaignIdOf, keysOf } from "../../src/fifo-queue/keys.ts"
import type { QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import type { CampaignContext, StepResult } from "../../src/fifo-queue/step.ts"
import type { StoreUnavailable } from "../../src/protocol/refusals.ts"
import type { Settlement } from "../../src/protocol/settlements.ts"
import { INSTANCE_CHANNEL, readSignal, type Signal } from "../../src/protocol/signals.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"
import { accountViolations, type Member, slotsWithin } from "../model/accounts.ts"
import { isPaid } from "../model/awaited.ts"
import type { Change } from "../model/change.ts"
import { violations } from "../model/invariants.ts"
import { expectedNews, expectedSettlements, expectedSignals, settlementText, signalText } from "../model/obligations.ts"
import { doubtIds, EMPTY, probe, readState } from "../model/queue-state.ts"

const ARRIVES_WITHIN_MILLIS = 15_000

/** The account of a campaign, with the state of each of its campaigns. */
export interface CheckedAccount {
  readonly cap: number
  readonly reserved: Readonly<Record<string, number>>
  readonly members: Map<string, Member>
}

/** What a step does besides what its invariants allow every step. */
type Kind = Pick<Change, "anyway" | "refused" | "withdraws" | "clears" | "admits" | "shown" | "pays">

/**
 * @param contextOf the queue's context of a step
 * @param accountNow the account as it is now; undefined without one
 * @param paidNow how many calls may begin by the budgets for which callers wait; undefined for none
 */
export const makeCheckedSteps = Effect.fnUntraced(function* (
  at: () => CampaignContext,
  contextOf: () => QueueContext,
  accountNow: () => CheckedAccount | undefined,
  instances: ReadonlyArray<string>,
  paidNow: () => number | undefined = () => undefined,
) {
  const store = yield* Store
  const { campaign } = at()
  const own = campaignIdOf(campaign).campaign
  const { share, windowMillis: window } = contextOf()
  const tickets = new Set<string>()
  const sessions = new Set<string>()
  let state = EMPTY
  const read = Effect.suspend(() => {
    const ids = [...tickets, ...doubtIds((state.meta.get("lease") ?? 0) + tickets.size)]
    const call = { tickets: ids, sessions: [...sessions] }
    return Effect.map(store.run(probe, { keys: keysOf(campaign), now: 0, context: NO_CONTEXT, call }), readState)
  })
  const readAgain = Effect.map(read, (after) => {
    state = after
  })

  /** what was published to any instance, and what should have been */
  const published: Array<{ readonly text: string; readonly signal: Signal | undefined }> = []
  const expected: Array<string> = []
  const arrivals = new EventEmitter()
  for (const each of instances) {
    yield* store.subscribe(INSTANCE_CHANNEL + each, (message) => {
      const signal = readSignal(message)
      published.push({ text: signal === undefined ? message : signalText(signal), signal })
      arrivals.emit("message")
    })
  }
  const allPublished = (what: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.promise(async () => {
      const signal = AbortSignal.timeout(ARRIVES_WITHIN_MILLIS)
      while (published.length < what.length) {
        await once(arrivals, "message", { signal }).catch(() => assert.fail(`not published: ${what.join(", ")}`))
      }
    })

  let last: { readonly signals: ReadonlyArray<Signal>; readonly published: ReadonlyArray<Signal> } = {
    signals: [],
    published: [],
  }
  let settlements: ReadonlyArray<Settlement> = []
  let wanting: ReadonlyArray<string> = []

  const step = Effect.fnUntraced(function* <A>(
    taken: Effect.Effect<StepResult<A>, StoreUnavailable>,
    { swept = () => false, ...kind }: { readonly swept?: (result: A) => boolean } & Kind = {},
  ) {
    const now = yield* store.now
    const { instance, slots, withdrawals } = at()
    const withdraws = (withdrawals?.ids() ?? []).length > 0
    const account = accountNow()
    const bounds = account && slotsWithin(account, own)
    const stepped = yield* taken
    const paid = paidNow()
    const change: Change = {
      ...(paid === undefined ? {} : { paid }),
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
      const limited = state.leases.size >= bounds.most && state.leases.size < slots && isPaid(paid, state)
      account.members.set(own, { state, slots, steppedAt: now, limited })
    }

    const told = [...stepped.signals, ...(stepped.elsewhere ?? [])].map(signalText)
    assert.deepStrictEqual(told.toSorted(), expectedNews(change))
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

  return {
    step,
    /** reads the store after what is no step of the queue */
    readAgain,
    /** the same, and the invariants must hold */
    checkAgain: Effect.map(read, (after) => {
      const { slots } = at()
      assert.deepStrictEqual(violations({ before: state, after, now: 0, slots, share, window, swept: false }), [])
      state = after
    }),
    /** A step of the current instance that was sent so long ago and arrives only now. */
    sentBefore: Effect.fnUntraced(function* <Call extends object, A>(
      millis: number,
      rule: Rule<QueueContext, Call, A>,
      callOf: (sent: number) => Call,
    ) {
      const sent = (yield* store.now) - millis
      yield* store.run(rule, { keys: keysOf(campaign), now: sent, context: contextOf(), call: callOf(sent) })
      yield* readAgain
    }),
    /** the ticket and the sessions are read from now on */
    watchTicket: (id: string) => tickets.add(id),
    watchSessions: (ids: ReadonlyArray<string>) => {
      for (const id of ids) sessions.add(id)
    },
    results: {
      /** what is in the store after the last step */
      state: () => state,
      /** the signals that the last step returned, and those that it published */
      signals: () => last.signals,
      published: () => last.published,
      settlements: () => settlements,
      /** the campaigns of the account that the last step named as waiting for a free slot */
      wanting: () => wanting,
      stateOf: (id: string) => state.tickets.get(id)?.state,
      /** the waiting tickets in order */
      line: () => [...state.waiting.keys()],
      /** the tickets that the last step called, whether signalled or published */
      called: () => [...last.signals, ...last.published].filter((s) => s.kind._tag === "called").map((s) => s.ticket),
    },
    /** Nothing was published except what was due. */
    close: Effect.gen(function* () {
      for (const each of instances) {
        expected.push("the end")
        yield* store.publish(INSTANCE_CHANNEL + each, "the end")
      }
      yield* allPublished(expected)
      assert.deepStrictEqual(published.map(({ text }) => text).toSorted(), expected.toSorted())
    }),
  }
})
