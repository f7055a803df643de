/**
 * The shared key-value store. It runs one rule atomically, keeps cached values with a lifetime, carries messages
 * between instances (at most once: a message is a hint to look, never the truth), and says whether it is reachable.
 *
 * A rule (in the folder `rules` of its concern) is a TypeScript function that is one atomic step. The memory store calls it; Redis runs
 * the Lua that is compiled from it.
 */
import { Context, type Effect, type Scope } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Run } from "./rules/run.ts"

/**
 * One atomic step of the store.
 *
 * Redis gets the context and the calls as JSON and texts, and answers JSON. Rules never read the clock: the time is an argument.
 */
export interface Rule<RuleContext extends object, Call extends object, Answer> {
  /** unique; names the rule in logs */
  readonly name: string
  readonly run: Run<RuleContext, Call, Answer>
  /**
   * ARGV 1 now (ms) · 2 context (JSON) · then each call: its fields without `texts` (JSON), and each of `texts` (empty for none). Returns a
   * JSON list with one answer per call. A message is published on a channel that begins with what KEYS[1] has before `vg:`, the prefix of a
   * store whose keys have one.
   */
  readonly lua: string
  /**
   * Whether ARGV 1 may have a second number after a space: until when the rule may run, by the server's clock (ms since 1970). After that
   * the Lua does nothing and returns an error that begins with `EXPIRED`. For a rule that does harm after its caller was told that it
   * failed; asking the time costs Redis about 4 µs.
   */
  readonly expires?: boolean
  /** The fields of a call that are sent as arguments of their own; `data` when absent. */
  readonly texts?: ReadonlyArray<string>
  /** Decodes one answer of the Lua; throws when it has the wrong shape. */
  readonly decode: (answer: unknown) => Answer
  /** Whether calls with the same keys and context may share one command, which then runs at the time of the first. */
  readonly batch: boolean
}

/** One call of a rule. All its keys share a hash tag, as Redis Cluster requires, unless the store is `crossSlot`. */
export interface Ask<RuleContext extends object, Call extends object> {
  /** keys that all calls share */
  readonly keys: ReadonlyArray<string>
  /** keys of this call alone, appended to `keys` */
  readonly ownKeys?: ReadonlyArray<string>
  /** ms since 1970, by the store's clock */
  readonly now: number
  /** arguments that do not change from call to call; calls share a command only when this is the same object */
  readonly context: RuleContext
  readonly call: Call
}

export class Store extends Context.Service<
  Store,
  {
    /** Runs a rule, all or nothing. */
    readonly run: <RuleContext extends object, Call extends object, Answer>(
      rule: Rule<RuleContext, Call, Answer>,
      ask: Ask<RuleContext, Call>,
    ) => Effect.Effect<Answer, StoreUnavailable>
    /** Whether the keys of one step may have different hash tags; false on a cluster. */
    readonly crossSlot: boolean
    /** A cached value; undefined when there is none or it has expired. */
    readonly get: (key: string) => Effect.Effect<string | undefined, StoreUnavailable>
    readonly set: (key: string, value: string, ttlMillis: number) => Effect.Effect<void, StoreUnavailable>
    readonly publish: (channel: string, message: string) => Effect.Effect<void, StoreUnavailable>
    /**
     * Receives a channel's messages until the scope closes. Resubscribes after an interruption; messages published in
     * between are lost, and `onGap` is called once the subscription is restored.
     *
     * Calls back, as `Redis.subscribe` of Effect does: a `PubSub` with a `Stream` costs 1.5 to 3.5 µs of CPU for a message and
     * delivers it in a later turn of the event loop, a callback costs 0.01 µs and delivers at once. Messages are start calls, whose
     * callers wait.
     */
    readonly subscribe: (
      channel: string,
      onMessage: (message: string) => void,
      onGap?: () => void,
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Whether published messages arrive here, as far as known. Absent for a store that never misses one. */
    readonly listens?: Effect.Effect<boolean>
    /**
     * Tries everything that rules may do, on keys of its own, with this connection's user. Absent for a store that carries out a whole rule
     * or none of it.
     */
    readonly check?: Effect.Effect<void, StoreUnavailable>
    /** What is wrong with a store that works, as a sentence without its full stop; empty if nothing is, and absent if it cannot tell. */
    readonly problem?: Effect.Effect<string>
    /** Succeeds when the store answers and accepts writes. */
    readonly ping: Effect.Effect<void, StoreUnavailable>
    /** The time all instances agree on, in milliseconds since 1970. */
    readonly now: Effect.Effect<number>
    /**
     * How far the time of day is ahead of `now` (ms): to be added to a time that is told as a time of day, and subtracted from one that was
     * given. Absent for a store whose `now` is the time of day.
     */
    readonly aheadMillis?: () => number
  }
>()("voicegate/Store") {}
