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
import { admit } from "./queue/admit.ts"
import { clear } from "./queue/clear.ts"
import { operatorKeysOf } from "./queue/console.ts"
import { makeOperatorQueue, type OperatorQueue } from "./queue/console-queue.ts"
import { doubts, resolve } from "./queue/doubt.ts"
import * as ends from "./queue/end.ts"
import { fail } from "./queue/fail.ts"
import * as gates from "./queue/gates.ts"
import { makeReaching } from "./queue/reach.ts"
import {
  admissionOf,
  doubtOf,
  foundOf,
  placeOf,
  settlementOf,
  signalOf,
  standingOf,
  touchedOf,
} from "./queue/replies.ts"
import * as starts from "./queue/start.ts"
import { keysOf } from "./queue/step.ts"
import * as sweeps from "./queue/sweep.ts"
import * as touches from "./queue/touch.ts"
import { withdraw } from "./queue/withdraw.ts"
import type { StoreUnavailable, TicketState } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { type Reply, type Script, Store } from "./Store.ts"
import { integer, list, text } from "./store/reply.ts"

/** Whose queue, how many slots it has at this moment, and which instance asks. */
export interface At {
  /** names the campaign's keys in the store */
  readonly campaign: string
  readonly slots: number
  /** where this process's push channel is reached; empty when it reaches any ticket from anywhere */
  readonly instance: string
}

/**
 * Where a ticket stands in line. `averageMillis` is the measured length of a call, 0 while none was measured; `disrupted` while
 * the platform cannot be reached.
 */
export interface Place {
  readonly position: number
  readonly length: number
  readonly averageMillis: number
  readonly disrupted: boolean
}

/** Something that a ticket's connection has to know. */
export interface Signal {
  readonly ticket: string
  readonly kind: SignalKind
}
export type SignalKind =
  | { readonly _tag: "called"; readonly startBefore: number; readonly lease: string }
  | { readonly _tag: "ended"; readonly state: TicketState }

/** What the rate limiter owes a caller since this step. */
/** what the ticket took is given back; it is open no more; it missed its turn, which costs more than a call */
export type SettlementKind = "refund" | "release" | "missed"
export interface Settlement {
  readonly kind: SettlementKind
  readonly ticket: string
  readonly caller: string
}

/** What a step answers, the signals it left to this instance, and the settlements it caused. */
export interface Stepped<A> {
  readonly result: A
  readonly signals: ReadonlyArray<Signal>
  readonly settlements: ReadonlyArray<Settlement>
}

export type Admitted =
  | { readonly _tag: "starting"; readonly lease: string }
  | ({ readonly _tag: "waiting" } & Place)
  | { readonly _tag: "full"; readonly length: number; readonly averageMillis: number }
  /** an operator lets no newcomer in */
  | { readonly _tag: "draining" }

/** Where a ticket is, as its holder may ask. `data` is what was bound to it. */
export type Standing =
  | ({ readonly _tag: "waiting" } & Place)
  | { readonly _tag: "called"; readonly startBefore: number; readonly lease: string }
  | { readonly _tag: "starting" }
  | { readonly _tag: "live"; readonly data: string }
  | { readonly _tag: "over"; readonly state: TicketState }
  | { readonly _tag: "unknown" }

/** `calledAt` and `acceptedAt` in ms since 1970; 0 where the ticket's record does not say. */
export type Start =
  | {
      readonly _tag: "starting"
      readonly lease: string
      readonly data: string
      readonly calledAt: number
      readonly acceptedAt: number
    }
  | ({ readonly _tag: "waiting" } & Place)
  | { readonly _tag: "busy" }
  | { readonly _tag: "live"; readonly data: string }
  | { readonly _tag: "over"; readonly state: TicketState }
  | { readonly _tag: "unknown" }

/** One ticket of a touch; `state` is undefined when the ticket is not known. */
export interface Touched {
  readonly ticket: string
  readonly state: TicketState | undefined
  readonly position: number
  readonly startBefore: number
  readonly lease: string
}

/**
 * Why a start failed, as `queue/fail.ts` tells it: `capacity`, `limited` and `elsewhere` (for `millis`) leave the ticket at its place and let the
 * campaign rest; `disrupted` too (for `millis`, where known), since the platform cannot be reached; `answered` and `doubt` leave the
 * ticket at its place, and after `doubt` the slot is held; `failed` and `refused` end the ticket, and `refused` gives no quota back.
 */
export type StartFailure =
  | { readonly _tag: "capacity" | "answered" | "doubt" | "failed" | "refused" }
  | { readonly _tag: "limited" | "elsewhere"; readonly millis: number }
  | { readonly _tag: "disrupted"; readonly millis?: number | undefined }

/** A start that may have happened: its slot is held. */
export interface Doubt {
  readonly id: string
  readonly ticket: string
  /** when its slot was taken (ms since 1970) */
  readonly since: number
  /** what was stored with the ticket */
  readonly data: string
}

export interface Swept {
  /** another sweep has work at once */
  readonly more: boolean
  readonly waiting: number
  readonly leases: number
  /** leases with a running session */
  readonly live: number
  /** leases of starts that may have happened */
  readonly doubts: number
  readonly averageMillis: number
  /** settlements that the process which caused them did not carry out */
  readonly owed: ReadonlyArray<Settlement>
  /** the platform cannot be reached: one ticket at a time is called to find out */
  readonly disrupted: boolean
  /**
   * how many records were ever found that were not what they should be, when the last was (ms), and its key and id
   * (`queue/quarantine.ts`)
   */
  readonly quarantined: { readonly count: number; readonly at: number; readonly last: string }
}

export type Cleared =
  /** a gate serves the campaign, and nothing was done */
  | { readonly _tag: "served" }
  | {
      readonly _tag: "cleared"
      /** another step has work at once */
      readonly more: boolean
      /** tickets that this step sent away */
      readonly sent: number
      /** a ticket is left, one that is over and remembered included, or something is owed to a caller */
      readonly left: boolean
      readonly waiting: number
      readonly leases: number
      /** leases with a running session */
      readonly live: number
      /** settlements that the process which caused them did not carry out */
      readonly owed: ReadonlyArray<Settlement>
    }

type Step<A> = Effect.Effect<Stepped<A>, StoreUnavailable>

/** What a step asks of the store, for one that does more with it. */
export interface Asked<A> {
  readonly script: Script
  readonly keys: ReadonlyArray<string>
  readonly args: ReadonlyArray<string | number>
  readonly read: (reply: Reply) => Stepped<A>
}

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
    readonly fail: (
      at: At,
      id: string,
      lease: string,
      why: StartFailure,
    ) => Step<({ readonly _tag: "waiting" } & Place) | { readonly _tag: "failed" } | { readonly _tag: "stale" }>
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
  /** What an admission asks of the store; whoever sends it does so by `reached`. */
  readonly admitting: (at: At, newcomer: Newcomer, now: number) => Asked<Admitted>
  /**
   * Takes a step of the campaign. The store is told first when this gate could not reach it, and when the step fails it is noted that it
   * cannot. The step is given the store's time.
   */
  readonly reached: <A, E extends { readonly _tag: string }>(
    at: At,
    step: (now: number) => Effect.Effect<A, E>,
  ) => Effect.Effect<A, E | StoreUnavailable>
}

const admittings = new WeakMap<FifoQueue["Service"], Admitting & { readonly store: Store["Service"] }>()

/** How the queue asks this store for an admission; undefined for a queue that is not this package's, or over another store. */
export const admittingOf = (queue: FifoQueue["Service"], store: Store["Service"]): Admitting | undefined => {
  const found = admittings.get(queue)
  return found?.store === store ? found : undefined
}

/** How often an instance touches its tickets. */
export const TICK_MILLIS = 2_000
/** How long a start may take before its slot passes on; longer than the platform client waits. */
export const START_LEASE_MILLIS = 30_000
/**
 * How long a platform at capacity is left alone: the first time, and at most; and at most while no call of this campaign runs,
 * whose end would say that there is room again.
 */
export const REST_FIRST_MILLIS = 2_000
export const REST_LONGEST_MILLIS = 60_000
export const REST_IDLE_MILLIS = 5_000
/** How long an unreachable platform is left alone: the first time, doubled each time, and at most. */
export const DISRUPTED_FIRST_MILLIS = 1_000
export const DISRUPTED_LONGEST_MILLIS = 10_000
/** How long a campaign rests at most when the platform limits the key's requests: its free slots must not rest long. */
export const LIMITED_LONGEST_MILLIS = 5_000
/** Instances are reached on this channel, followed by their id. */
export const INSTANCE_CHANNEL = "vg:i:"

/** First back-off, longest, and longest while no call runs, in ms, as `fail` wants them. */
const backOffOf = (why: StartFailure): readonly [first: number, longest: number, idle: number] => {
  switch (why._tag) {
    case "capacity":
      return [REST_FIRST_MILLIS, REST_LONGEST_MILLIS, REST_IDLE_MILLIS]
    case "limited":
    case "elsewhere":
      return [Math.max(1, Math.round(why.millis)), LIMITED_LONGEST_MILLIS, LIMITED_LONGEST_MILLIS]
    case "disrupted":
      return [
        Math.max(Math.round(why.millis ?? 0), DISRUPTED_FIRST_MILLIS),
        DISRUPTED_LONGEST_MILLIS,
        DISRUPTED_LONGEST_MILLIS,
      ]
    default:
      return [0, 0, 0]
  }
}

const resolutions = ["running", "open", "free", "stale"] as const

/** The queue over whatever store there is; reads `Queue.*`. */
export const layer: Layer.Layer<FifoQueue, never, Store | Settings> = Layer.effect(
  FifoQueue,
  Effect.gen(function* () {
    const store = yield* Store
    const settings = (yield* Settings).Queue
    const windowMillis = settings.StartWindowSeconds * 1000
    const graceMillis = settings.DisconnectGraceSeconds * 1000
    // whoever is connected is seen again by the next tick, and only then can begin to be absent
    const seenMillis = graceMillis + TICK_MILLIS
    const callMillis = settings.MaxCallMinutes * 60_000
    const share = settings.NetworkShare

    const keys = new Map<string, ReadonlyArray<string>>()
    const keysFor = (campaign: string): ReadonlyArray<string> => {
      const known = keys.get(campaign) ?? keysOf(campaign)
      keys.set(campaign, known)
      return known
    }

    const asking = <A>(
      script: Script,
      at: At,
      now: number,
      args: ReadonlyArray<string | number>,
      read: (result: ReadonlyArray<Reply>) => A,
      keys = keysFor(at.campaign),
    ): Asked<A> => ({
      script,
      keys,
      args: [now, share < 1 ? `${at.slots} ${share}` : at.slots, at.instance, INSTANCE_CHANNEL, windowMillis, ...args],
      read: (reply) => {
        const [result, signals = [], settlements = []] = list(reply)
        return {
          result: read(list(result)),
          signals: list(signals).map((signal) => {
            const [ticket, kind, value] = list(signal)
            return signalOf(text(ticket), text(kind), text(value))
          }),
          settlements: list(settlements).map((settlement) => {
            const [kind, ticket, caller] = list(settlement)
            return settlementOf(text(kind), text(ticket), text(caller))
          }),
        }
      },
    })

    const run = <A>({ args, keys, read, script }: Asked<A>): Step<A> => Effect.map(store.run(script, keys, args), read)

    const reaching = yield* makeReaching(store.now)
    const reached = <A, E extends { readonly _tag: string }>(at: At, taken: (now: number) => Effect.Effect<A, E>) =>
      reaching.reached(
        at.campaign,
        (since) =>
          Effect.flatMap(store.now, (now) =>
            run(asking(gates.back, at, now, [since, now + seenMillis], () => undefined)),
          ),
        taken,
      )

    const step = <A>(
      script: Script,
      at: At,
      args: (now: number) => ReadonlyArray<string | number>,
      read: (result: ReadonlyArray<Reply>) => A,
      keys?: ReadonlyArray<string>,
    ): Step<A> => reached(at, (now) => run(asking(script, at, now, args(now), read, keys)))

    const admitting = (at: At, { caller, data, holds, id, network }: Newcomer, now: number): Asked<Admitted> =>
      asking(
        admit,
        at,
        now,
        [
          id,
          settings.MaxLength,
          now + graceMillis,
          now + START_LEASE_MILLIS,
          caller === "" ? "" : (holds ? "+" : "-") + caller,
          data,
          network,
        ],
        admissionOf,
      )

    const owedOf = (entries: Reply | undefined): ReadonlyArray<Settlement> =>
      list(entries).map((entry) => {
        const [kind, ticket, caller] = text(entry).split(" ")
        return settlementOf(kind ?? "", ticket ?? "", caller ?? "")
      })

    const queue = FifoQueue.of({
      admit: (at, newcomer) => reached(at, (now) => run(admitting(at, newcomer, now))),
      start: (at, id) =>
        step(
          starts.start,
          at,
          (now) => [id, now + START_LEASE_MILLIS],
          (reply): Start => {
            if (reply[0] === "starting") {
              const [, lease, data, calledAt, acceptedAt] = reply
              return {
                _tag: "starting",
                lease: text(lease),
                data: text(data),
                calledAt: integer(calledAt),
                acceptedAt: integer(acceptedAt),
              }
            }
            if (reply[0] === "busy") return { _tag: "busy" }
            const standing = standingOf(reply)
            return standing._tag === "called" || standing._tag === "starting" ? { _tag: "busy" } : standing
          },
        ),
      bind: (at, id, lease, session) =>
        step(
          starts.bind,
          at,
          (now) => [id, lease, now + callMillis, JSON.stringify({ ...session.data, s: session.ids }), ...session.ids],
          (reply) => (reply[0] === "live" || reply[0] === "ended" ? reply[0] : "stale"),
        ),
      alias: (at, knownId, furtherIds) =>
        step(
          starts.alias,
          at,
          () => [knownId, ...furtherIds.flatMap((id) => [id, JSON.stringify(id)])],
          (reply) => (reply[0] === "kept" || reply[0] === "ended" ? reply[0] : "stale"),
        ),
      fail: (at, id, lease, why) =>
        step(
          fail,
          at,
          (now) => [id, lease, why._tag, now + seenMillis, ...backOffOf(why)],
          (reply) => (reply[0] === "waiting" ? placeOf(reply) : { _tag: reply[0] === "failed" ? "failed" : "stale" }),
        ),
      doubts: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(
            doubts,
            at,
            (now) => [now - ageMillis, now + claimMillis],
            (reply) => reply.map((doubt) => doubtOf(list(doubt))),
          ),
          (stepped) => stepped.result,
        ),
      resolve: (at, doubt, sessions) =>
        step(
          resolve,
          at,
          (now) => [doubt, now + callMillis, ...sessions.map((ids) => JSON.stringify(ids))],
          (reply) => resolutions.find((each) => each === reply[0]) ?? "stale",
        ),
      end: (at, sessionIds) =>
        step(
          ends.end,
          at,
          () => sessionIds,
          (reply) => (reply[0] === "released" || reply[0] === "repeat" ? reply[0] : "unknown"),
        ),
      leave: (at, id) =>
        step(
          ends.leave,
          at,
          () => [id],
          (reply) => (reply[0] === "left" || reply[0] === "busy" || reply[0] === "over" ? reply[0] : "unknown"),
        ),
      withdraw: (at, ids) =>
        step(
          withdraw,
          at,
          () => ids,
          (reply) => integer(reply[0]),
        ),
      attach: (at, id, connected) =>
        step(
          touches.attach,
          at,
          (now) => [id, connected ? at.instance : "", now + (connected ? seenMillis : graceMillis)],
          standingOf,
        ),
      touch: (at, ids) =>
        step(
          touches.touch,
          at,
          (now) => [now + seenMillis, ...ids],
          (reply) => ({
            length: integer(reply[0]),
            averageMillis: integer(reply[1]),
            disrupted: reply[3] === 1,
            tickets: list(reply[2]).map((ticket, i) => touchedOf(ids[i] ?? "", list(ticket))),
          }),
        ),
      sweep: (at, shown) =>
        reached(at, (now) =>
          Effect.tap(
            run(
              asking(sweeps.sweep, at, now, [now + seenMillis, shown ?? now], (reply) => ({
                more: reply[0] === 1,
                waiting: integer(reply[1]),
                leases: integer(reply[2]),
                live: integer(reply[3]),
                averageMillis: integer(reply[4]),
                doubts: integer(reply[6]),
                owed: owedOf(reply[5]),
                disrupted: reply[9] === 1,
                quarantined: { count: integer(reply[7]), ...foundOf(text(reply[8])) },
              })),
            ),
            () => Effect.sync(() => reaching.swept(at.campaign, now)),
          ),
        ),
      gone: (at) =>
        step(
          gates.gone,
          at,
          () => [],
          () => undefined,
        ),
      // of a campaign that this gate does not serve: what it could not reach is nobody's outage there
      clear: (at, unservedMillis) =>
        Effect.flatMap(store.now, (now) =>
          run(
            asking(
              clear,
              at,
              now,
              [now - unservedMillis],
              (reply): Cleared =>
                reply[0] === 1
                  ? { _tag: "served" }
                  : {
                      _tag: "cleared",
                      more: reply[1] === 1,
                      sent: integer(reply[2]),
                      left: reply[3] === 1,
                      waiting: integer(reply[4]),
                      leases: integer(reply[5]),
                      live: integer(reply[6]),
                      owed: owedOf(reply[7]),
                    },
            ),
          ),
        ),
      settled: (at, settlements) =>
        Effect.asVoid(
          step(
            sweeps.settled,
            at,
            () => settlements.map((s) => `${s.kind} ${s.ticket} ${s.caller}`),
            () => undefined,
          ),
        ),
      audit: (at, ageMillis, claimMillis) =>
        Effect.map(
          step(
            sweeps.audit,
            at,
            (now) => [now - ageMillis, now + claimMillis],
            (reply) => reply.map(text),
          ),
          (stepped) => stepped.result,
        ),
      operator: makeOperatorQueue((script, at, args, read) =>
        step(script, at, args, read, operatorKeysOf(at.campaign)),
      ),
    })
    admittings.set(queue, { admitting, reached, store })
    return queue
  }),
)
