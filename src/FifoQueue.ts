/**
 * Slots and waiting tickets of a campaign, over the store.
 *
 * Guarantees, on every store and with any number of instances: leases never exceed the slots; tickets are called in the
 * order of acceptance, except that a network at its share of the slots is passed over while another one waits, and no newcomer
 * passes one who waits; one opened slot calls one ticket, once; ends of sessions are
 * idempotent; an answer for an old lease touches nothing; what a dead process held is freed by its deadline, by anybody's
 * sweep. Every operation is one atomic step of the store.
 */
import { Context, Effect, Layer } from "effect"
import { keysOf } from "./queue/keys.ts"
import { makeOperatorQueue, type OperatorQueue } from "./queue/operator.ts"
import { makeReaching } from "./queue/reach.ts"
import * as rules from "./queue/rules.ts"
import { type At, type Stepped, steppedOf, type Withdrawals } from "./queue/step.ts"
import type { Place, Waiting } from "./rules/line.ts"
import type { Newcomer as Admission, Admitted } from "./rules/queue/admit.ts"
import type { Standing } from "./rules/queue/attach.ts"
import type { Cleared as RuleCleared } from "./rules/queue/clear.ts"
import type { Doubt } from "./rules/queue/doubts.ts"
import type { Failed, FailedStart } from "./rules/queue/fail.ts"
import type { Beat } from "./rules/queue/heartbeat.ts"
import type { Start } from "./rules/queue/start.ts"
import type { Swept as RuleSwept } from "./rules/queue/sweep.ts"
import { WITHDRAW_LIMIT } from "./rules/queue/withdraw.ts"
import type { QueueContext, Settlement, SettlementKind, Signal, SignalKind, StepAnswer } from "./rules/step.ts"
import type { StoreUnavailable, TicketState } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { type Ask, type Rule, Store } from "./Store.ts"

export type {
  Admitted,
  At,
  Doubt,
  Place,
  Settlement,
  SettlementKind,
  Signal,
  SignalKind,
  Standing,
  Start,
  Stepped,
  Waiting,
  Withdrawals,
}

/** One ticket of a touch; `state` is undefined when the ticket is not known. */
export interface Touched {
  readonly ticket: string
  readonly state: TicketState | undefined
  readonly position: number
  readonly startBefore: number
  readonly lease: string
}

/**
 * Why a start failed, as `rules/queue/fail.ts` tells it: `capacity`, `limited` and `elsewhere` (for `millis`) leave the ticket at its place and let the
 * campaign rest; `disrupted` too (for `millis`, where known), since the platform cannot be reached; `answered` and `doubt` leave the
 * ticket at its place, and after `doubt` the slot is held; `failed` and `refused` end the ticket, and `refused` gives no quota back.
 */
export type StartFailure =
  | { readonly _tag: "capacity" | "answered" | "doubt" | "failed" | "refused" }
  | { readonly _tag: "limited" | "elsewhere"; readonly millis: number }
  | { readonly _tag: "disrupted"; readonly millis?: number | undefined }

/** What a sweep found and left. */
export interface Swept extends Omit<RuleSwept, "junk" | "owed" | "quarantined"> {
  /** settlements that the process which caused them did not carry out */
  readonly owed: ReadonlyArray<Settlement>
  /** how many records were ever found that were none (`rules/load.ts`), when the last was (ms since 1970), and in which key */
  readonly quarantined: { readonly count: number; readonly at: number; readonly key: string }
}

type Served = Extract<RuleCleared, { readonly _tag: "served" }>

export type Cleared =
  | Served
  | (Omit<Exclude<RuleCleared, Served>, "owed"> & {
      /** settlements that the process which caused them did not carry out */
      readonly owed: ReadonlyArray<Settlement>
    })

type Step<A> = Effect.Effect<Stepped<A>, StoreUnavailable>

export interface Newcomer {
  readonly id: string
  /** the rate limiter's key */
  readonly caller: string
  /** whose share of slots and places the ticket counts to; empty for none. Without blanks */
  readonly network: string
  /** the caller holds a concurrent unit until the ticket is over */
  readonly holds: boolean
  /** comes back at its start */
  readonly data: string
}

export class FifoQueue extends Context.Service<
  FifoQueue,
  {
    /** Admits a newcomer to a slot, to the queue, or not at all. */
    readonly admit: (at: At, newcomer: Newcomer) => Step<Admitted>
    /** A called ticket takes its slot; the answer's lease fences what follows. */
    readonly start: (at: At, id: string) => Step<Start>
    /** The session runs: `stale` when the lease is no longer this ticket's, `ended` when its end was heard already. */
    readonly bind: (
      at: At,
      id: string,
      lease: string,
      session: { readonly ids: ReadonlyArray<string>; readonly data: Readonly<Record<string, string>> },
    ) => Step<"live" | "ended" | "stale">
    /**
     * A running session has these ids too: its end may be told by any of them. `ended` when it was told already, and the
     * session ends now; `stale` when the known session does not run.
     */
    readonly alias: (at: At, knownId: string, furtherIds: ReadonlyArray<string>) => Step<"kept" | "ended" | "stale">
    /** The platform has not started the session: what becomes of the ticket, its slot and the campaign depends on why. */
    readonly fail: (at: At, id: string, lease: string, why: StartFailure) => Step<Failed>
    /** The starts in doubt that are older than `ageMillis`, claimed by this instance for `claimMillis`. */
    readonly doubts: (
      at: At,
      ageMillis: number,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<Doubt>, StoreUnavailable>
    /**
     * What the platform says of a start in doubt: the sessions that may be its own, each by its ids. One that belongs to no ticket
     * holds the slot until it ends; without one, said twice, the slot is free.
     */
    readonly resolve: (
      at: At,
      doubt: string,
      sessions: ReadonlyArray<ReadonlyArray<string>>,
    ) => Step<"running" | "open" | "free" | "stale">
    /** A session ended, by any of its ids. */
    readonly end: (at: At, sessionIds: ReadonlyArray<string>) => Step<"released" | "repeat" | "unknown">
    readonly leave: (at: At, id: string) => Step<"left" | "busy" | "over" | "unknown">
    /**
     * Takes back tickets of which nobody was told, `WITHDRAW_LIMIT` at most, and gives their quota back: places and slots, except
     * of a session that runs. None of them is called any more, not even one whose admission is carried out only later. Answers
     * how many ended. Idempotent.
     */
    readonly withdraw: (at: At, ids: ReadonlyArray<string>) => Step<number>
    /** Asks for one ticket, keeps it present, and notes where its connection is. */
    readonly attach: (at: At, id: string, connected: boolean) => Step<Standing>
    /** All tickets of an instance at once, every `TICK_MILLIS`: keeps them present and says where they stand. */
    readonly touch: (
      at: At,
      ids: ReadonlyArray<string>,
    ) => Step<Omit<Place, "position"> & { readonly tickets: ReadonlyArray<Touched> }>
    /**
     * Upholds what time decides, once a second. `shown` is when this gate's tickets with a connection were touched last (ms), now by
     * default: none of them is absent that was present until later.
     */
    readonly sweep: (at: At, shown?: number) => Step<Swept>
    /** This gate goes: nothing of its own waits for it any more. */
    readonly gone: (at: At) => Step<void>
    /**
     * Brings a campaign nearer to its end that no gate has swept for `unservedMillis`, instead of a sweep: sends away who waited or
     * was called before, and gives their quota back; upholds the deadlines of starts under way and running sessions; forgets what
     * is over. Nobody is called. Idempotent.
     */
    readonly clear: (at: At, unservedMillis: number) => Step<Cleared>
    readonly settled: (at: At, settlements: ReadonlyArray<Settlement>) => Effect.Effect<void, StoreUnavailable>
    /** Session ids of live leases older than `ageMillis`, claimed by this instance for `claimMillis`. */
    readonly audit: (
      at: At,
      ageMillis: number,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /** What an operator sees and does. */
    readonly operator: OperatorQueue
  }
>()("voicegate/FifoQueue") {}

/** How an admission is asked of the store, for a step that does more with it (`Admission.ts`). */
export interface Admitting {
  readonly keys: (at: At) => ReadonlyArray<string>
  /** The same object where it is the same. */
  readonly context: (at: At) => QueueContext
  readonly newcomer: (newcomer: Newcomer) => Admission
  /**
   * Takes a step of the campaign. The store is told first when this gate could not reach it, and when the step fails it is noted that it
   * cannot. The step is given the store's time.
   */
  readonly reached: <A, E extends { readonly _tag: string }>(
    at: At,
    step: (now: number) => Effect.Effect<Stepped<A>, E>,
  ) => Effect.Effect<Stepped<A>, E | StoreUnavailable>
}

const admittings = new WeakMap<FifoQueue["Service"], Admitting & { readonly store: Store["Service"] }>()

/** How the queue asks this store for an admission; undefined for a queue that is not this package's, or over another store. */
export const admittingOf = (queue: FifoQueue["Service"], store: Store["Service"]): Admitting | undefined => {
  const found = admittings.get(queue)
  return found?.store === store ? found : undefined
}

/** How often an instance touches its tickets. */
export const TICK_MILLIS = 2_000
/** Instances are reached on this channel, followed by their id. */
export const INSTANCE_CHANNEL = "vg:i:"

const same = <A>(result: A): A => result

const touchedOf = (ticket: string, { lease = "", position = 0, startBefore = 0, state }: Beat): Touched => ({
  ticket,
  // of a start in doubt nobody holds the id
  state: state === "doubt" ? undefined : state,
  position,
  startBefore,
  lease,
})

const failureOf = (id: string, lease: string, why: StartFailure): FailedStart =>
  "millis" in why && why.millis !== undefined && Number.isFinite(why.millis)
    ? { id, lease, reason: why._tag, millis: Math.max(0, Math.round(why.millis)) }
    : { id, lease, reason: why._tag }

/** The queue over whatever store there is; reads `Queue.*`. */
export const layer: Layer.Layer<FifoQueue, never, Store | Settings> = Layer.effect(
  FifoQueue,
  Effect.gen(function* () {
    const store = yield* Store
    const settings = (yield* Settings).Queue
    const graceMillis = settings.DisconnectGraceSeconds * 1000

    /** what is asked with every step of a campaign; made anew when its slots change */
    const known = new Map<string, { readonly keys: ReadonlyArray<string>; readonly context: QueueContext }>()
    const asking = ({ campaign, instance, slots: said }: At) => {
      // JSON knows no infinity
      const slots = said > 0 ? Math.min(said, Number.MAX_SAFE_INTEGER) : 0
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
        // whoever is connected is seen again by the next tick, and only then can begin to be absent
        seenMillis: graceMillis + TICK_MILLIS,
        callMillis: settings.MaxCallMinutes * 60_000,
      }
      const made = { keys: last?.keys ?? keysOf(campaign), context }
      known.set(campaign, made)
      return made
    }

    const run = <Call extends object, R, A>(
      rule: Rule<QueueContext, Call, StepAnswer<R>>,
      at: At,
      now: number,
      call: Call,
      read: (result: R) => A,
    ): Step<A> => {
      const { context, keys } = asking(at)
      const ask: Ask<QueueContext, Call> = { keys, now, context, call }
      return Effect.map(store.run(rule, ask), (answer) => {
        const { result, ...left } = steppedOf(answer)
        return { result: read(result), ...left }
      })
    }

    /** Reports an outage, with the tickets to withdraw: in several steps where they are many, the youngest tickets first. */
    const report = Effect.fnUntraced(function* (at: At, since: number) {
      const ids = at.withdrawals?.ids() ?? []
      const signals: Array<Signal> = []
      const settlements: Array<Settlement> = []
      for (let to = ids.length; to >= 0; to -= WITHDRAW_LIMIT) {
        const some = ids.slice(Math.max(0, to - WITHDRAW_LIMIT), to)
        const call = {
          since,
          ...(some.length === 0 ? {} : { ids: some }),
          ...(to > WITHDRAW_LIMIT ? { more: true as const } : {}),
        }
        const reported = yield* run(rules.reportOutage, at, yield* store.now, call, same)
        signals.push(...reported.signals)
        settlements.push(...reported.settlements)
        if (some.length > 0 && at.withdrawals !== undefined) yield* at.withdrawals.done(some, reported.result)
        if (to <= WITHDRAW_LIMIT) break
      }
      return { signals, settlements }
    })

    const reaching = yield* makeReaching(store.now)
    const reached: Admitting["reached"] = (at, taken) =>
      reaching.reached(at.campaign, (since) => report(at, since), taken)

    const step = <Call extends object, R, A>(
      rule: Rule<QueueContext, Call, StepAnswer<R>>,
      at: At,
      call: Call,
      read: (result: R) => A,
    ): Step<A> => reached(at, (now) => run(rule, at, now, call, read))

    const newcomerOf = ({ caller, data, holds, id, network }: Newcomer): Admission => ({
      id,
      data,
      ...(caller === "" ? {} : { caller }),
      ...(caller !== "" && holds ? { holds } : {}),
      ...(network === "" ? {} : { network }),
    })

    const queue = FifoQueue.of({
      admit: (at, newcomer) => step(rules.admit, at, newcomerOf(newcomer), same),
      start: (at, id) => step(rules.start, at, { id }, same),
      bind: (at, id, lease, { data, ids }) =>
        step(rules.bind, at, { id, lease, data: JSON.stringify({ ...data, s: ids }), sessions: ids }, same),
      alias: (at, known, further) => step(rules.alias, at, { known, further }, same),
      fail: (at, id, lease, why) => step(rules.fail, at, failureOf(id, lease, why), same),
      doubts: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(rules.doubts, at, { ageMillis, claimMillis }, ({ doubts = [] }) => doubts),
          ({ result }) => result,
        ),
      resolve: (at, id, candidates) =>
        step(rules.resolve, at, candidates.length === 0 ? { id } : { id, candidates }, same),
      end: (at, sessions) => step(rules.end, at, { sessions }, same),
      leave: (at, id) => step(rules.leave, at, { id }, same),
      withdraw: (at, ids) => step(rules.withdraw, at, { ids }, same),
      attach: (at, id, connected) => step(rules.attach, at, { id, connected }, same),
      touch: (at, ids) =>
        step(rules.heartbeat, at, { ids }, ({ averageMillis, disrupted, length, tickets = [] }) => ({
          length,
          averageMillis,
          disrupted,
          tickets: ids.map((id, i) => touchedOf(id, tickets[i] ?? {})),
        })),
      sweep: (at, shown) =>
        reached(at, (now) =>
          Effect.tap(
            run(
              rules.sweep,
              at,
              now,
              shown === undefined ? {} : { shown },
              ({ junk, owed = [], quarantined, ...swept }) => ({
                ...swept,
                owed,
                quarantined: { count: quarantined, at: junk?.at ?? 0, key: junk?.key ?? "" },
              }),
            ),
            () => Effect.sync(() => reaching.swept(at.campaign, now)),
          ),
        ),
      gone: (at) => step(rules.gateGone, at, {}, () => undefined),
      // of a campaign that this gate does not serve: what it could not reach is nobody's outage there
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
      settled: (at, settlements) => Effect.asVoid(step(rules.acknowledge, at, { settlements }, same)),
      audit: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(rules.audit, at, { ageMillis, claimMillis }, ({ sessions = [] }) => sessions),
          ({ result }) => result,
        ),
      operator: makeOperatorQueue(step),
    })
    const admitting: Admitting = {
      keys: (at) => asking(at).keys,
      context: (at) => asking(at).context,
      newcomer: newcomerOf,
      reached,
    }
    admittings.set(queue, { ...admitting, store })
    return queue
  }),
)
