/**
 * The queue over the store: each operation of the service is one rule, run with the keys and the context of its campaign. An outage of
 * this gate is reported to the store before the next rule runs.
 */

import { createHash, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import { StoreUnavailable } from "../protocol/refusals.ts"
import { INSTANCE_CHANNEL } from "../protocol/signals.ts"
import { Settings } from "../settings/Settings.ts"
import { type Ask, type Rule, Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import type { StepAnswer, QueueChanges as StoredChanges, TicketHeartbeat } from "./answers.ts"
import { MAX_WITHDRAWN_PER_STEP } from "./bounds.ts"
import { makeClosedCampaigns } from "./closed.ts"
import { type Cleared, FifoQueue, type HeartbeatEntry, type QueueChanges, TICK_MILLIS } from "./FifoQueue.ts"
import type { StartFailure } from "./inputs.ts"
import { campaignIdOf, keysOf, ledgersOf } from "./keys.ts"
import { makeOperatorQueue } from "./operator/OperatorQueue.ts"
import { QueueStep } from "./QueueStep.ts"
import { makeOutageReporting } from "./reach.ts"
import type { FailedStart } from "./rules/fail.ts"
import { MAX_TAKEN_BACK } from "./rules/gate-reports.ts"
import { queueKeys } from "./rules/shared/keys.ts"
import type { Account, QueueContext } from "./rules/shared/step.ts"
import type { StartAttempt } from "./rules/start.ts"
import { rules } from "./rules.ts"
import { type AccountCapacity, type CampaignContext, type Stepping, stepResultOf } from "./step.ts"
import { movedBy, resultMovedBy } from "./time-of-day.ts"

const identity = <A>(result: A): A => result

const heartbeatEntryOf = (
  ticket: string,
  {
    accepted,
    elsewhere,
    heldMillis,
    lease = "",
    position = 0,
    resumesAt,
    seq,
    startBefore = 0,
    state,
  }: TicketHeartbeat,
): HeartbeatEntry => ({
  ticket,
  // a start in doubt is not a ticket that a caller can hold
  state: state === "doubt" ? undefined : state,
  position,
  startBefore,
  lease,
  ...(seq === undefined ? {} : { seq }),
  ...(elsewhere === undefined ? {} : { elsewhere }),
  ...(resumesAt === undefined ? {} : { resumesAt }),
  ...(heldMillis === undefined ? {} : { heldMillis }),
  ...(accepted === undefined ? {} : { accepted }),
})

const Steps = Schema.fromJsonString(Schema.Array(Schema.Finite))
const decodeSteps = Schema.decodeUnknownOption(Steps)

/** @param places whether they were asked for */
const changesOf = (
  { changed = [], first = [], held = [], lost, more, steps = "[]", ...counts }: StoredChanges,
  places: boolean,
): QueueChanges => ({
  ...counts,
  lost: lost === true,
  more: more === true,
  changed,
  held,
  ...(places ? { places: { first, steps: Option.getOrElse(decodeSteps(steps), () => []) } } : {}),
})

const failureOf = (id: string, lease: string, why: StartFailure): FailedStart => {
  const { code, ends, ofAccount, setting, spent } = why
  return {
    id,
    lease,
    reason: why._tag,
    ...("millis" in why && why.millis !== undefined && Number.isFinite(why.millis)
      ? { millis: Math.max(0, Math.round(why.millis)) }
      : {}),
    ...("until" in why && why.until !== undefined ? { until: Math.round(why.until) } : {}),
    ...(code === undefined ? {} : { code }),
    ...(setting === undefined ? {} : { setting }),
    ...(ends === undefined ? {} : { ends }),
    ...(ofAccount === undefined ? {} : { ofAccount }),
    ...(spent === undefined ? {} : { spent }),
  }
}

/** The account of a campaign with this key. An account that is not in the settings has no slots. */
const accountOf = (key: string, capacity: AccountCapacity | undefined): Account | undefined => {
  const { account, campaign } = campaignIdOf(key)
  if (account === undefined) return undefined
  const reserved = Object.entries(capacity?.reserved ?? {}).map(([each, slots]) => [campaignIdOf(each).campaign, slots])
  return { id: campaign, cap: capacity?.cap ?? 0, reserved: Object.fromEntries(reserved) }
}

/** The number of a gate of which the name is known: a digest, so that all of its generations (`reload/`) have the same. */
const holderOf = (instance: string): number => createHash("sha256").update(instance).digest().readUIntBE(0, 6)

/** Why no rule of a campaign can be used: a key of the wrong type, or a counter in it that is not a number. */
const unusableKey = (key: string, field?: string): StoreUnavailable => {
  const what =
    field === undefined
      ? `the key ${key} holds another type of value (WRONGTYPE): find out what else writes such keys, and delete it`
      : `the field ${field} of the key ${key} is not a number: find out what else writes such keys, and set it to the last number given`
  return new StoreUnavailable({ message: "The shared store cannot be used.", cause: what, refusal: "WRONGTYPE" })
}

type Given = Omit<CampaignContext, "awaited" | "campaign" | "withdrawals">

/** The fields of `Given`: the type asks for each one, so that none is forgotten when contexts are compared. */
const GIVEN = Struct.keys({
  account: true,
  awaitsOwn: true,
  charges: true,
  events: true,
  instance: true,
  slots: true,
  tellsAccepted: true,
} satisfies Record<keyof Given, true>)

/** Hot path: each step of a campaign asks. */
const isSame = (one: Given, other: Given): boolean => {
  for (const field of GIVEN) if (one[field] !== other[field]) return false
  return true
}

/** The queue over any store; reads `Queue.*`. */
export const layer: Layer.Layer<FifoQueue | QueueStep, never, Store | Settings> = Layer.effectContext(
  Effect.gen(function* () {
    const store = yield* Store
    const settings = (yield* Settings).Queue
    const graceMillis = settings.DisconnectGraceSeconds * 1000

    /** of a gate that reaches every connection itself, and so has no name */
    const ownHolder = randomBytes(6).readUIntBE(0, 6)

    /** the input of every step of a campaign; replaced when what it is made of changes */
    const known = new Map<
      string,
      {
        /** those of the queue */
        readonly own: ReadonlyArray<string>
        /** those of the step: with ledgers, where callers wait for budgets */
        readonly keys: ReadonlyArray<string>
        readonly context: QueueContext
        readonly given: Given
      }
    >()
    const stepInput = (at: CampaignContext, now: number) => {
      const found = at.awaited?.(now)
      const awaited = found === undefined || found.length === 0 ? undefined : found
      const last = known.get(at.campaign)
      if (last !== undefined && last.context.awaited === awaited && isSame(last.given, at)) return last
      const { awaited: _, campaign, withdrawals: __, ...given } = at
      const { awaitsOwn, charges, events, instance, slots, tellsAccepted = false } = given
      const account = accountOf(campaign, given.account)
      const context: QueueContext = {
        // JSON has no infinity
        slots: slots > 0 ? Math.min(slots, Number.MAX_SAFE_INTEGER) : 0,
        share: settings.NetworkShare,
        maxLength: settings.MaxLength,
        instance,
        holder: instance === "" ? ownHolder : holderOf(instance),
        channel: INSTANCE_CHANNEL,
        windowMillis: settings.StartWindowSeconds * 1000,
        graceMillis,
        // the next heartbeat renews the presence of a connected ticket, so the grace is counted from when that heartbeat is due
        seenMillis: graceMillis + TICK_MILLIS,
        callMillis: settings.MaxCallMinutes * 60_000,
        ...(settings.OpenSeconds === 0 ? {} : { openMillis: settings.OpenSeconds * 1000 }),
        ...(settings.OnPlatformRefusal === "refuse" ? { refuses: true } : {}),
        ...(charges === undefined ? {} : { charges }),
        ...(awaited === undefined ? {} : { awaited }),
        ...(awaitsOwn === undefined ? {} : { awaitsOwn }),
        ...(account === undefined ? {} : { account }),
        ...(events === undefined ? {} : { events }),
        ...(tellsAccepted ? { tellsAccepted } : {}),
      }
      const own = last?.own ?? keysOf(campaign)
      const keys = awaited === undefined ? own : [...own, ...ledgersOf(campaign)]
      const created = { own, keys, context, given }
      known.set(campaign, created)
      return created
    }

    const run = <Call extends object, R, A>(
      rule: Rule<QueueContext, Call, StepAnswer<R>>,
      at: CampaignContext,
      now: number,
      call: Call,
      read: (result: R) => A,
    ): Stepping<A> => {
      const { context, keys } = stepInput(at, now)
      const ask: Ask<QueueContext, Call> = { keys, now, context, call }
      return Effect.map(store.run(rule, ask), (answer) => {
        const { result, ...left } = stepResultOf(answer, at.campaign)
        return { result: read(result), ...left }
      })
    }

    const attemptPrefix = randomBytes(6).toString("base64url")
    let attempts = 0
    /** starts without an answer, of each campaign; the next report takes them back */
    const givenUp = new Map<string, Set<StartAttempt>>()
    const giveUp = (campaign: string, attempt: StartAttempt): void => {
      const all = givenUp.get(campaign) ?? new Set()
      // a ticket beyond that stays `starting` until its lease ends
      if (all.size < MAX_TAKEN_BACK) givenUp.set(campaign, all.add(attempt))
    }

    /**
     * Reports an outage with the tickets to withdraw and the starts to take back: in several steps where there are many, newest tickets first. All steps are sent at
     * once, so that the hold which the first begins outlasts the others. The connection keeps their order.
     */
    const report = Effect.fnUntraced(function* (at: CampaignContext, since: number) {
      const ids = at.withdrawals?.ids() ?? []
      const given = givenUp.get(at.campaign)
      const starts = [...(given ?? [])]
      const now = yield* store.now
      const ends = [ids.length]
      for (let end = ids.length - MAX_WITHDRAWN_PER_STEP; end > 0; end -= MAX_WITHDRAWN_PER_STEP) ends.push(end)
      const reported = yield* Effect.forEach(
        ends,
        (end) => {
          const batch = ids.slice(Math.max(0, end - MAX_WITHDRAWN_PER_STEP), end)
          const call = {
            since,
            ...(end === ends[0] && starts.length > 0 ? { starts } : {}),
            ...(batch.length === 0 ? {} : { ids: batch }),
            ...(end > MAX_WITHDRAWN_PER_STEP ? { more: true as const } : {}),
          }
          return Effect.tap(run(rules.reportOutage, at, now, call, identity), () =>
            at.withdrawals === undefined || batch.length === 0 ? Effect.void : at.withdrawals.done(batch),
          )
        },
        { concurrency: "unbounded" },
      )
      for (const each of starts) given?.delete(each)
      return {
        signals: reported.flatMap(({ signals }) => signals),
        elsewhere: reported.flatMap(({ elsewhere = [] }) => elsewhere),
        settlements: reported.flatMap(({ settlements }) => settlements),
        charges: reported.flatMap(({ charges = [] }) => charges),
      }
    })

    const outages = yield* makeOutageReporting(store.now)
    const closed = makeClosedCampaigns()
    const { aheadMillis } = store
    const reportAnd: QueueStep["Service"]["reportFirst"] = (at, step) => {
      const answered = outages.reportFirst(at.campaign, (since) => report(at, since), step)
      return aheadMillis === undefined ? answered : Effect.map(answered, (each) => resultMovedBy(each, aheadMillis()))
    }
    const reportFirst: QueueStep["Service"]["reportFirst"] = (at, step) =>
      closed.unlessClosed(at.campaign, reportAnd(at, step))

    /** Tries every key of the campaign, and names the one that rules cannot use. */
    const tryKeys = Effect.fnUntraced(function* (at: CampaignContext) {
      const now = yield* store.now
      const named = queueKeys(stepInput(at, now).own)
      yield* Effect.forEach(
        Struct.keys(named),
        (key) =>
          run(rules.checkKey, at, now, { key }, identity).pipe(
            Effect.mapError((error) => (error.refusal === "WRONGTYPE" ? unusableKey(named[key]) : error)),
            Effect.flatMap(({ result: field }) =>
              field === "" ? Effect.void : Effect.fail(unusableKey(named[key], field)),
            ),
          ),
        { concurrency: "unbounded", discard: true },
      )
    })

    /** Puts back what rules have left half-done, page by page. Returns how many tickets that were. */
    const repairAll = Effect.fnUntraced(function* (at: CampaignContext) {
      let cursor = "0"
      let repaired = 0
      do {
        const { result } = yield* run(rules.repair, at, yield* store.now, { cursor }, identity)
        cursor = result.cursor
        repaired += result.repaired
      } while (cursor !== "0")
      return repaired
    })

    const reopen = (at: CampaignContext): Effect.Effect<void, StoreUnavailable> =>
      Effect.andThen(Effect.andThen(store.check ?? Effect.void, tryKeys(at)), Effect.asVoid(repairAll(at)))

    const step = <Call extends object, R, A>(
      rule: Rule<QueueContext, Call, StepAnswer<R>>,
      at: CampaignContext,
      call: Call,
      read: (result: R) => A,
    ): Stepping<A> => reportFirst(at, (now) => run(rule, at, now, call, read))

    const queue = FifoQueue.of({
      admit: (at, newcomer) => step(rules.admit, at, newcomer, identity),
      start: (at, id) => {
        const attempt = { id, attempt: `${attemptPrefix}${++attempts}` }
        return Effect.tapError(step(rules.start, at, attempt, identity), ({ unasked }) =>
          Effect.sync(() => {
            if (unasked !== true) giveUp(at.campaign, attempt)
          }),
        )
      },
      bind: (at, id, lease, { data, ids, limit, offerMillis }) =>
        step(
          rules.bind,
          at,
          {
            id,
            lease,
            data: JSON.stringify({ ...data, s: ids }),
            sessions: ids,
            ...(offerMillis === undefined ? {} : { offerMillis }),
            ...(limit === undefined || offerMillis !== undefined ? {} : { endsAt: limit.endsAt }),
            ...(limit?.heldUntil === undefined ? {} : { heldUntil: limit.heldUntil }),
            ...(limit?.paidUntil === undefined ? {} : { paidUntil: limit.paidUntil }),
          },
          identity,
        ),
      offer: (at, id, session, data) => step(rules.offer, at, { id, session, data }, identity),
      alias: (at, known, further) => step(rules.alias, at, { known, further }, identity),
      fail: (at, id, lease, why) => step(rules.fail, at, failureOf(id, lease, why), identity),
      doubts: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(rules.doubts, at, { ageMillis, claimMillis }, ({ doubts = [] }) => doubts),
          ({ result }) => result,
        ),
      resolve: (at, id, candidates, ends = false) =>
        step(
          rules.resolve,
          at,
          { id, ...(candidates.length === 0 ? {} : { candidates }), ...(ends ? { ends } : {}) },
          identity,
        ),
      end: (at, sessions, by, attempt, seconds) =>
        step(
          rules.end,
          at,
          {
            sessions,
            ...(by === undefined ? {} : { by }),
            ...attempt,
            ...(seconds === undefined ? {} : { seconds }),
          },
          identity,
        ),
      sessionState: (at, session) => step(rules.sessionState, at, { session }, identity),
      leave: (at, id) => step(rules.leave, at, { id }, identity),
      withdraw: (at, ids) => step(rules.withdraw, at, { ids }, identity),
      attach: (at, id, connected, hidden = false) =>
        step(rules.attach, at, { id, connected, ...(hidden ? { hidden } : {}) }, identity),
      heartbeat: (at, ids, known) =>
        step(rules.heartbeat, at, { ids, ...known }, ({ changes, tickets = [], ...queue }) => ({
          ...queue,
          ...(changes === undefined
            ? {}
            : { changes: changesOf(changes, known?.places === true && settings.NetworkShare >= 1) }),
          tickets: ids.map((id, i) => movedBy(heartbeatEntryOf(id, tickets[i] ?? {}), aheadOf(store))),
        })),
      sweep: (at, heartbeatAt, learned = {}, hours) => {
        const swept = reportAnd(at, (now) =>
          Effect.tap(
            run(
              rules.sweep,
              at,
              now,
              {
                ...learned,
                ...(heartbeatAt === undefined ? {} : { heartbeatAt }),
                ...(hours === undefined ? {} : { hours }),
              },
              ({ junk, owed = [], quarantined, ...swept }) => ({
                ...swept,
                owed,
                quarantined: { count: quarantined, at: junk?.at ?? 0, key: junk?.key ?? "" },
              }),
            ),
            () => Effect.sync(() => outages.swept(at.campaign, now)),
          ),
        )
        return closed.sweeping(at.campaign, swept, reopen(at))
      },
      repair: (at) => closed.unlessClosed(at.campaign, repairAll(at)),
      unregister: Effect.fnUntraced(function* (at) {
        let stepped = yield* step(rules.gateGone, at, {}, identity)
        while (stepped.result) stepped = yield* step(rules.gateGone, at, {}, identity)
        return { ...stepped, result: undefined }
      }),
      // this gate does not serve the campaign, so its own outages are not reported there
      clear: (at, unservedMillis) =>
        Effect.flatMap(store.now, (now) =>
          run(
            rules.clear,
            at,
            now,
            { unservedMillis },
            (cleared): Cleared => (cleared._tag === "served" ? cleared : { ...cleared, owed: cleared.owed ?? [] }),
          ),
        ),
      acknowledge: (at, settlements) => Effect.asVoid(step(rules.acknowledge, at, { settlements }, identity)),
      charged: (at, charges) => Effect.asVoid(step(rules.acknowledge, at, { charges }, identity)),
      audit: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(rules.audit, at, { ageMillis, claimMillis }, ({ sessions = [] }) => sessions),
          ({ result }) => result,
        ),
      unopened: {
        find: (at, claimMillis) =>
          Effect.map(
            step(rules.findUnopened, at, { claimMillis }, ({ sessions = [] }) => sessions),
            ({ result }) => result,
          ),
        note: (at, session, opened) => step(rules.noteOpening, at, { session, opened }, identity),
      },
      traceOf: (at, subject) => step(rules.traceOf, at, subject, identity),
      dueEnds: (at, which, claimMillis, silenceMillis) =>
        Effect.map(
          step(
            rules.dueEnds,
            at,
            {
              claimMillis,
              ...(which === "at_once" ? { atOnceOnly: true as const } : {}),
              ...(silenceMillis === undefined ? {} : { silenceMillis }),
            },
            ({ sessions = [] }) => sessions,
          ),
          ({ result }) => result,
        ),
      callTimes: (at, slots) => step(rules.callTimes, at, { slots }, ({ calls }) => calls),
      billedCalls: (at, first) => step(rules.billedCalls, at, { first }, identity),
      endAtBudget: (at, ticket, lease, endsAt) =>
        step(rules.endAtBudget, at, { ticket, lease, ...(endsAt === undefined ? {} : { endsAt }) }, identity),
      unpaid: {
        await: (at, id, until) => step(rules.awaitBudget, at, { id, until: Math.round(until) }, identity),
        find: (at, claimMillis) =>
          Effect.map(
            step(rules.findUnpaid, at, { claimMillis }, ({ tickets = [] }) => tickets),
            ({ result }) => result,
          ),
        pay: (at, ids) => step(rules.pay, at, { ids }, identity),
      },
      dueLengths: (at, claimMillis, ends) =>
        step(
          rules.dueLengths,
          at,
          { claimMillis, ...(ends ? { ends: true as const } : {}) },
          ({ nextAt, sessions = [] }) => ({ sessions, nextAt }),
        ),
      speech: (at, sessions, heard) => step(rules.reportSpeech, at, { sessions, ...heard }, identity),
      silence: (at, id, silentMillis, limit) =>
        step(
          rules.reportSilence,
          at,
          {
            id,
            silentMillis,
            ...(limit === undefined ? {} : { limitMillis: limit.millis }),
            ...(limit?.ends === true ? { ends: true as const } : {}),
          },
          identity,
        ),
      operator: makeOperatorQueue(step, () => aheadOf(store)),
    })
    const queueStep = QueueStep.of({
      queue,
      store,
      input: stepInput,
      reportFirst: (at, shared) => closed.unlessClosed(at.campaign, reportAnd(at, shared), true),
    })
    return Context.make(FifoQueue, queue).pipe(Context.add(QueueStep, queueStep))
  }),
)
