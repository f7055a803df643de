/**
 * The shared key-value store. It runs one script atomically, keeps cached values with a lifetime, carries messages
 * between instances (at most once: a message is a hint to look, never the truth), and says whether it is reachable.
 *
 * A script is written once per store, as twins side by side: Lua for Redis, TypeScript for memory.
 */
import { Context, type Effect, type Scope } from "effect"
import type { StoreUnavailable } from "./Session.ts"
import type { MemoryDb } from "./store/MemoryDb.ts"

/** What a script answers: strings and integers, nested in lists, on both stores alike. */
export type Reply = string | number | ReadonlyArray<Reply>

/**
 * One atomic step of the store.
 *
 * All `KEYS` of one call share a hash tag, so that every script is legal on Redis Cluster. Arguments reach the script as
 * strings. Scripts never read the clock: the time is an argument.
 */
export interface Script {
  /** names the script in logs, unique */
  readonly name: string
  readonly numberOfKeys: number
  readonly lua: string
  /**
   * Set where several calls may travel as one command, which then does what the calls would do one after the other. The
   * arguments at the places `own` (from 0) are each call's own, those at `times` are moments (ms), of which the first call's
   * count, and all others are equal; ARGV is the first call's arguments and then the own ones of each further call. The first `ownKeys` keys are each call's own, all others are equal; KEYS are the own ones of every
   * call, and then the others. The Lua text then
   * always answers a list with one reply a call; the memory twin is given one call and answers its reply.
   */
  readonly joins?: {
    readonly own: ReadonlyArray<number>
    readonly times: ReadonlyArray<number>
    readonly ownKeys: number
  }
  readonly memory: (db: MemoryDb, keys: ReadonlyArray<string>, args: ReadonlyArray<string>) => Reply
}

export class Store extends Context.Service<
  Store,
  {
    /** Runs a script, all or nothing. */
    readonly run: (
      script: Script,
      keys: ReadonlyArray<string>,
      args: ReadonlyArray<string | number>,
    ) => Effect.Effect<Reply, StoreUnavailable>
    /** Whether one script may have keys of several hash tags, as a cluster does not allow. */
    readonly spans: boolean
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
