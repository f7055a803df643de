/**
 * The shared key-value store. It runs one rule atomically, keeps cached values with a lifetime, carries messages
 * between instances (at most once: a message is a hint to look, never the truth), and says whether it is reachable.
 *
 * What is decided in one step is a rule (`src/rules`): a TypeScript function, which the memory store runs as it is and Redis as the Lua that
 * is made of it.
 */
import { Context, type Effect, type Scope } from "effect"
import type { Run } from "./rules/run.ts"
import type { StoreUnavailable } from "./Session.ts"

/**
 * One atomic step of the store.
 *
 * The context and the calls are JSON for Redis, and so is the answer. Rules never read the clock: the time is given to them.
 */
export interface Rule<RuleContext extends object, Call extends object, Answer> {
  /** names the rule in logs, unique */
  readonly name: string
  readonly run: Run<RuleContext, Call, Answer>
  /** ARGV 1 now (ms) · 2 context (JSON) · 3… calls (JSON). Answers a JSON list, an answer a call. */
  readonly lua: string
  /** Reads one answer of the Lua; throws where it is another than it should be. */
  readonly decode: (answer: unknown) => Answer
  /** Several calls with the same keys and context may travel as one command, at the time of the first. */
  readonly batch: boolean
}

/** What a rule is asked. Keys that one step needs share a hash tag, so that it is legal on Redis Cluster, unless `Store.crossSlot`. */
export interface Ask<RuleContext extends object, Call extends object> {
  /** those that all calls share */
  readonly keys: ReadonlyArray<string>
  /** this call's own, behind those */
  readonly ownKeys?: ReadonlyArray<string>
  /** ms since 1970, by the store's clock */
  readonly now: number
  /** what does not change from call to call; the same object where it is the same */
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
    /** Whether the keys of one step may have several hash tags, as a cluster does not allow. */
    readonly crossSlot: boolean
    /** A cached value, or undefined when there is none or its lifetime passed. */
    readonly get: (key: string) => Effect.Effect<string | undefined, StoreUnavailable>
    readonly set: (key: string, value: string, ttlMillis: number) => Effect.Effect<void, StoreUnavailable>
    readonly publish: (channel: string, message: string) => Effect.Effect<void, StoreUnavailable>
    /**
     * Receives a channel's messages until the scope closes. Resubscribes by itself after an interruption; what was
     * published meanwhile is lost, and `onGap` is called when the subscription stands again.
     */
    readonly subscribe: (
      channel: string,
      onMessage: (message: string) => void,
      onGap?: () => void,
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Whether what is published arrives here, as far as is known; a store that always hears may leave it out. */
    readonly listens?: Effect.Effect<boolean>
    /** Succeeds when the store answers and takes writes. */
    readonly ping: Effect.Effect<void, StoreUnavailable>
    /** The time all instances agree on, in milliseconds since 1970. */
    readonly now: Effect.Effect<number>
  }
>()("voicegate/Store") {}
