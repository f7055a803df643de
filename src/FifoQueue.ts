/**
 * Slots and waiting tickets of a campaign, over the store.
 *
 * Guarantees, on every store and with any number of instances:
 * - Leases never exceed the slots.
 * - Tickets are called in the order of acceptance, except that a network at its share of the slots is passed over while another one
 *   waits. No newcomer overtakes a waiting ticket.
 * - One opened slot calls one ticket, once.
 * - Ends of sessions are idempotent, and an answer for an old lease changes nothing.
 * - What a dead process held is freed by its deadline, by any instance's sweep.
 *
 * Every operation is one atomic step of the store.
 */
import { Context, Effect, Layer } from "effect"
import { keysOf } from "./queue/keys.ts"
import { makeOperatorQueue, type OperatorQueue } from "./queue/operator.ts"
import { makeOutageReporting } from "./queue/reach.ts"
import { rules } from "./queue/rules.ts"
import { type CampaignContext, type StepResult, stepResultOf, type Withdrawals } from "./queue/step.ts"
import type { Place, Waiting } from "./rules/line.ts"
import type { Newcomer as Admission, Admitted } from "./rules/queue/admit.ts"
import type { TicketSnapshot } from "./rules/queue/attach.ts"
import type { Cleared as RuleCleared } from "./rules/queue/clear.ts"
import type { Doubt } from "./rules/queue/doubts.ts"
import type { Failed, FailedStart } from "./rules/queue/fail.ts"
import type { TicketHeartbeat } from "./rules/queue/heartbeat.ts"
import type { Start } from "./rules/queue/start.ts"
import type { Swept as RuleSwept } from "./rules/queue/sweep.ts"
import { MAX_WITHDRAWN_PER_STEP } from "./rules/queue/withdraw.ts"
import type { QueueContext, Settlement, SettlementKind, Signal, SignalKind, StepAnswer } from "./rules/step.ts"
import type { StoreUnavailable, TicketState } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { type Ask, type Rule, Store } from "./Store.ts"

export type {
  Admitted,
  CampaignContext,
  Doubt,
  Place,
  Settlement,
  SettlementKind,
  Signal,
  SignalKind,
  Start,
  StepResult,
  TicketSnapshot,
  Waiting,
  Withdrawals,
}

/** One ticket of a heartbeat; `state` is undefined when the ticket is unknown. */
export interface HeartbeatEntry {
  readonly ticket: string
  readonly state: TicketState | undefined
  readonly position: number
  readonly startBefore: number
  readonly lease: string
}

/**
 * Why a start failed (`rules/queue/fail.ts`). After `capacity`, `limited`, `elsewhere` and `disrupted` the ticket keeps its place and the
 * campaign backs off, for `millis` where given. After `answered` and `doubt` the ticket keeps its place, and after `doubt` the slot stays
 * held. `failed` and `refused` end the ticket; `refused` gives no quota back.
 */
export type StartFailure =
  | { readonly _tag: "capacity" | "answered" | "doubt" | "failed" | "refused" }
  | { readonly _tag: "limited" | "elsewhere"; readonly millis: number }
  | { readonly _tag: "disrupted"; readonly millis?: number | undefined }

/** The result of a sweep. */
export interface Swept extends Omit<RuleSwept, "junk" | "owed" | "quarantined"> {
  /** settlements that the process which caused them did not carry out */
  readonly owed: ReadonlyArray<Settlement>
  /**
   * how many invalid records were ever found (`rules/load.ts`), when the last was found (ms since 1970), and in which key
   */
  readonly quarantined: { readonly count: number; readonly at: number; readonly key: string }
}

type Served = Extract<RuleCleared, { readonly _tag: "served" }>

export type Cleared =
  | Served
  | (Omit<Exclude<RuleCleared, Served>, "owed"> & {
      /** settlements that the process which caused them did not carry out */
      readonly owed: ReadonlyArray<Settlement>
    })

type Step<A> = Effect.Effect<StepResult<A>, StoreUnavailable>

export interface Newcomer {
  readonly id: string
  /** the rate limiter's key */
  readonly caller: string
  /** the network whose share of slots and places the ticket counts toward, without spaces; empty for none */
  readonly network: string
  /** the caller holds a concurrent unit until the ticket ends */
  readonly holds: boolean
  /** stored with the ticket and returned by its start */
  readonly data: string
}

export class FifoQueue extends Context.Service<
  FifoQueue,
  {
    /** Admits a newcomer to a slot, to the queue, or not at all. */
    readonly admit: (at: CampaignContext, newcomer: Newcomer) => Step<Admitted>
    /** A called ticket takes its slot; the answer's lease fences what follows. */
    readonly start: (at: CampaignContext, id: string) => Step<Start>
    /**
     * Binds the running session: `stale` when the lease is no longer this ticket's, `ended` when the session's end was already reported.
     */
    readonly bind: (
      at: CampaignContext,
      id: string,
      lease: string,
      session: { readonly ids: ReadonlyArray<string>; readonly data: Readonly<Record<string, string>> },
    ) => Step<"live" | "ended" | "stale">
    /**
     * Adds further ids of a running session, under any of which its end may be reported. `ended` when the end was already reported under
     * one of them, and the session ends now; `stale` when the known session is not running.
     */
    readonly alias: (
      at: CampaignContext,
      knownId: string,
      furtherIds: ReadonlyArray<string>,
    ) => Step<"kept" | "ended" | "stale">
    /**
     * The platform has not started the session: the reason decides what becomes of the ticket, its slot and the campaign.
     */
    readonly fail: (at: CampaignContext, id: string, lease: string, why: StartFailure) => Step<Failed>
    /** The starts in doubt older than `ageMillis`. This instance claims the check for `claimMillis`. */
    readonly doubts: (
      at: CampaignContext,
      ageMillis: number,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<Doubt>, StoreUnavailable>
    /**
     * Resolves a start in doubt by the sessions that the platform reports for it, each by its ids. A session that belongs to no ticket
     * holds the slot until it ends. When none was reported twice, the slot is freed.
     */
    readonly resolve: (
      at: CampaignContext,
      doubt: string,
      sessions: ReadonlyArray<ReadonlyArray<string>>,
    ) => Step<"running" | "open" | "free" | "stale">
    /** A session ended; any of its ids. */
    readonly end: (at: CampaignContext, sessionIds: ReadonlyArray<string>) => Step<"released" | "repeat" | "unknown">
    readonly leave: (at: CampaignContext, id: string) => Step<"left" | "busy" | "ended" | "unknown">
    /**
     * Withdraws tickets whose callers do not know of them, at most `MAX_WITHDRAWN_PER_STEP`, and gives their quota back: frees places and
     * slots, except those of a running session. None of them is called later, even if its admission arrives only later. Returns how many
     * ended. Idempotent.
     */
    readonly withdraw: (at: CampaignContext, ids: ReadonlyArray<string>) => Step<number>
    /** Returns a ticket's state, keeps it present, and records where its connection is. */
    readonly attach: (at: CampaignContext, id: string, connected: boolean) => Step<TicketSnapshot>
    /** All tickets of an instance at once, every `TICK_MILLIS`: keeps them present and returns where they stand. */
    readonly heartbeat: (
      at: CampaignContext,
      ids: ReadonlyArray<string>,
    ) => Step<Omit<Place, "position"> & { readonly tickets: ReadonlyArray<HeartbeatEntry> }>
    /**
     * Enforces deadlines, once a second. `heartbeatAt` is when this gate last sent the heartbeat of its connected tickets (ms), now by default: none
     * of them counts as absent if it was present until later.
     */
    readonly sweep: (at: CampaignContext, heartbeatAt?: number) => Step<Swept>
    /** This gate stops: no rule waits for it any more. */
    readonly unregister: (at: CampaignContext) => Step<void>
    /**
     * Clears a campaign that no gate has swept for `unservedMillis`, in place of a sweep: removes tickets that waited or were called
     * before, with a refund; enforces the deadlines of starts in flight and running sessions; forgets ended tickets. Nobody is called.
     * Idempotent.
     */
    readonly clear: (at: CampaignContext, unservedMillis: number) => Step<Cleared>
    readonly acknowledge: (
      at: CampaignContext,
      settlements: ReadonlyArray<Settlement>,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Session ids of live leases older than `ageMillis`. This instance claims the check for `claimMillis`. */
    readonly audit: (
      at: CampaignContext,
      ageMillis: number,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /** What an operator sees and does. */
    readonly operator: OperatorQueue
  }
>()("voicegate/FifoQueue") {}

/** The queue's part of a store step that also does something else (`Admission.ts`). */
export interface AdmissionPort {
  readonly keys: (at: CampaignContext) => ReadonlyArray<string>
  /** The same object while nothing changes. */
  readonly context: (at: CampaignContext) => QueueContext
  readonly newcomer: (newcomer: Newcomer) => Admission
  /**
   * Runs a step of the campaign. An outage of this gate is reported to the store first, and a failure of the step is recorded as an
   * outage. The step gets the store's time.
   */
  readonly reportFirst: <A, E extends { readonly _tag: string }>(
    at: CampaignContext,
    step: (now: number) => Effect.Effect<StepResult<A>, E>,
  ) => Effect.Effect<StepResult<A>, E | StoreUnavailable>
}

const admissionPorts = new WeakMap<FifoQueue["Service"], AdmissionPort & { readonly store: Store["Service"] }>()

/** The queue's part for this store; undefined for a queue that is not this package's, or is over another store. */
export const admissionPortOf = (queue: FifoQueue["Service"], store: Store["Service"]): AdmissionPort | undefined => {
  const found = admissionPorts.get(queue)
  return found?.store === store ? found : undefined
}

/** How often an instance sends the heartbeat of its tickets. */
export const TICK_MILLIS = 2_000
/** Prefix of the channel of an instance, followed by its id. */
export const INSTANCE_CHANNEL = "vg:i:"

const identity = <A>(result: A): A => result

const heartbeatEntryOf = (
  ticket: string,
  { lease = "", position = 0, startBefore = 0, state }: TicketHeartbeat,
): HeartbeatEntry => ({
  ticket,
  // a start in doubt is not a ticket that a caller can hold
  state: state === "doubt" ? undefined : state,
  position,
  startBefore,
  lease,
})

const failureOf = (id: string, lease: string, why: StartFailure): FailedStart =>
  "millis" in why && why.millis !== undefined && Number.isFinite(why.millis)
    ? { id, lease, reason: why._tag, millis: Math.max(0, Math.round(why.millis)) }
    : { id, lease, reason: why._tag }

/** The queue over any store; reads `Queue.*`. */
export const layer: Layer.Layer<FifoQueue, never, Store | Settings> = Layer.effect(
  FifoQueue,
  Effect.gen(function* () {
    const store = yield* Store
    const settings = (yield* Settings).Queue
    const graceMillis = settings.DisconnectGraceSeconds * 1000

    /** the input of every step of a campaign; replaced when its slots change */
    const known = new Map<string, { readonly keys: ReadonlyArray<string>; readonly context: QueueContext }>()
    const stepInput = ({ campaign, instance, slots: requestedSlots }: CampaignContext) => {
      // JSON has no infinity
      const slots = requestedSlots > 0 ? Math.min(requestedSlots, Number.MAX_SAFE_INTEGER) : 0
      const last = known.get(campaign)
      if (last?.context.slots === slots && last.context.instance === instance) return last
      const context: QueueContext = {
        slots,
        share: settings.NetworkShare,
        maxLength: settings.MaxLength,
        instance,
        channel: INSTANCE_CHANNEL,
        windowMillis: settings.StartWindowSeconds * 1000,
        graceMillis,
        // the next heartbeat shows a connected ticket again, and only after that can it become absent
        seenMillis: graceMillis + TICK_MILLIS,
        callMillis: settings.MaxCallMinutes * 60_000,
      }
      const created = { keys: last?.keys ?? keysOf(campaign), context }
      known.set(campaign, created)
      return created
    }

    const run = <Call extends object, R, A>(
      rule: Rule<QueueContext, Call, StepAnswer<R>>,
      at: CampaignContext,
      now: number,
      call: Call,
      read: (result: R) => A,
    ): Step<A> => {
      const { context, keys } = stepInput(at)
      const ask: Ask<QueueContext, Call> = { keys, now, context, call }
      return Effect.map(store.run(rule, ask), (answer) => {
        const { result, ...left } = stepResultOf(answer)
        return { result: read(result), ...left }
      })
    }

    /**
     * Reports an outage with the tickets to withdraw: in several steps where there are many, newest tickets first. All are sent at once, so
     * that the hold of the first outlasts them. The connection keeps their order.
     */
    const report = Effect.fnUntraced(function* (at: CampaignContext, since: number) {
      const ids = at.withdrawals?.ids() ?? []
      const now = yield* store.now
      const ends = [ids.length]
      for (let end = ids.length - MAX_WITHDRAWN_PER_STEP; end > 0; end -= MAX_WITHDRAWN_PER_STEP) ends.push(end)
      const reported = yield* Effect.forEach(
        ends,
        (end) => {
          const batch = ids.slice(Math.max(0, end - MAX_WITHDRAWN_PER_STEP), end)
          const call = {
            since,
            ...(batch.length === 0 ? {} : { ids: batch }),
            ...(end > MAX_WITHDRAWN_PER_STEP ? { more: true as const } : {}),
          }
          return Effect.tap(run(rules.reportOutage, at, now, call, identity), ({ result }) =>
            at.withdrawals === undefined || batch.length === 0 ? Effect.void : at.withdrawals.done(batch, result),
          )
        },
        { concurrency: "unbounded" },
      )
      return {
        signals: reported.flatMap(({ signals }) => signals),
        settlements: reported.flatMap(({ settlements }) => settlements),
      }
    })

    const outages = yield* makeOutageReporting(store.now)
    const reportFirst: AdmissionPort["reportFirst"] = (at, step) =>
      outages.reportFirst(at.campaign, (since) => report(at, since), step)

    const step = <Call extends object, R, A>(
      rule: Rule<QueueContext, Call, StepAnswer<R>>,
      at: CampaignContext,
      call: Call,
      read: (result: R) => A,
    ): Step<A> => reportFirst(at, (now) => run(rule, at, now, call, read))

    const newcomerOf = ({ caller, data, holds, id, network }: Newcomer): Admission => ({
      id,
      data,
      ...(caller === "" ? {} : { caller }),
      ...(caller !== "" && holds ? { holds } : {}),
      ...(network === "" ? {} : { network }),
    })

    const queue = FifoQueue.of({
      admit: (at, newcomer) => step(rules.admit, at, newcomerOf(newcomer), identity),
      start: (at, id) => step(rules.start, at, { id }, identity),
      bind: (at, id, lease, { data, ids }) =>
        step(rules.bind, at, { id, lease, data: JSON.stringify({ ...data, s: ids }), sessions: ids }, identity),
      alias: (at, known, further) => step(rules.alias, at, { known, further }, identity),
      fail: (at, id, lease, why) => step(rules.fail, at, failureOf(id, lease, why), identity),
      doubts: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(rules.doubts, at, { ageMillis, claimMillis }, ({ doubts = [] }) => doubts),
          ({ result }) => result,
        ),
      resolve: (at, id, candidates) =>
        step(rules.resolve, at, candidates.length === 0 ? { id } : { id, candidates }, identity),
      end: (at, sessions) => step(rules.end, at, { sessions }, identity),
      leave: (at, id) => step(rules.leave, at, { id }, identity),
      withdraw: (at, ids) => step(rules.withdraw, at, { ids }, identity),
      attach: (at, id, connected) => step(rules.attach, at, { id, connected }, identity),
      heartbeat: (at, ids) =>
        step(rules.heartbeat, at, { ids }, ({ averageMillis, disrupted, length, tickets = [] }) => ({
          length,
          averageMillis,
          disrupted,
          tickets: ids.map((id, i) => heartbeatEntryOf(id, tickets[i] ?? {})),
        })),
      sweep: (at, heartbeatAt) =>
        reportFirst(at, (now) =>
          Effect.tap(
            run(
              rules.sweep,
              at,
              now,
              heartbeatAt === undefined ? {} : { heartbeatAt },
              ({ junk, owed = [], quarantined, ...swept }) => ({
                ...swept,
                owed,
                quarantined: { count: quarantined, at: junk?.at ?? 0, key: junk?.key ?? "" },
              }),
            ),
            () => Effect.sync(() => outages.swept(at.campaign, now)),
          ),
        ),
      unregister: (at) => step(rules.gateGone, at, {}, () => undefined),
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
      audit: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(rules.audit, at, { ageMillis, claimMillis }, ({ sessions = [] }) => sessions),
          ({ result }) => result,
        ),
      operator: makeOperatorQueue(step),
    })
    const port: AdmissionPort = {
      keys: (at) => stepInput(at).keys,
      context: (at) => stepInput(at).context,
      newcomer: newcomerOf,
      reportFirst,
    }
    admissionPorts.set(queue, { ...port, store })
    return queue
  }),
)
