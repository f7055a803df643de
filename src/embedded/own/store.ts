/** A host's own store, as a plain object: the gate's data on a database or a client that the host already has. */
import { Clock, Effect, Layer } from "effect"
import { StoreUnavailable } from "../../protocol/refusals.ts"
import { type Ask, type Rule, Store } from "../../store/Store.ts"
import { withSpans } from "../../store/spans.ts"
import { checkMembers } from "./check.ts"

/** A promise that rejects is an outage: the caller is answered 503. Each must settle within a time that the host bounds. */
export interface OwnStore {
  /**
   * Runs a rule in one atomic step, all or nothing: `rule.run` on a `MemoryDb`, or `rule.lua` on a server with Redis' commands, with
   * `ask.keys` and `ask.ownKeys` as keys. Then the arguments are `ask.now`, and `ask.context` and `ask.call` as JSON; the answer is a JSON
   * list, whose first value `rule.decode` reads. (`Rule.lua` says how several calls are sent, with each of `rule.texts` beside the JSON.) Where the host puts a prefix before the keys, the Lua publishes on channels with this prefix.
   */
  readonly run: <Context extends object, Call extends object, Answer>(
    rule: Rule<Context, Call, Answer>,
    ask: Ask<Context, Call>,
  ) => Promise<Answer>
  /** A value; undefined when there is none or it has expired. */
  readonly get: (key: string) => Promise<string | undefined>
  readonly set: (key: string, value: string, ttlMillis: number) => Promise<void>
  /** Sends a message to the subscribers of a channel, on every instance. At most once is enough. */
  readonly publish: (channel: string, message: string) => Promise<void>
  /**
   * Resolves when the messages of a channel arrive, with a function that unsubscribes. `onGap` must be called after an interruption in which
   * messages may have been lost.
   */
  readonly subscribe: (
    channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
  ) => Promise<() => unknown>
  /** Resolves when the store answers and accepts writes. */
  readonly ping: () => Promise<void>
  /** The time all instances agree on, in ms since 1970; that of this process by default. */
  readonly now?: () => Promise<number>
  /** Whether the keys of one step may be on different nodes of a cluster; true by default. */
  readonly crossSlot?: boolean
  /** Whether published messages arrive here, as far as known; true by default. */
  readonly listens?: () => Promise<boolean>
}

const outage = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable({ message: "The host's store failed.", cause, unasked: false })

const attempt = <A>(call: () => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
  Effect.tryPromise({ try: async () => await call(), catch: outage })

/** A time that is no number would become the deadline of tickets. */
const checkNow = (now: unknown): Effect.Effect<number> =>
  typeof now === "number" && Number.isFinite(now)
    ? Effect.succeed(now)
    : Effect.die(new TypeError("options.store.now: expected ms since 1970"))

export const ownStore = (own: OwnStore): Layer.Layer<Store> => {
  checkMembers("options.store", own, {
    required: {
      run: "function",
      get: "function",
      set: "function",
      publish: "function",
      subscribe: "function",
      ping: "function",
    },
    optional: { now: "function", crossSlot: "boolean", listens: "function" },
  })
  const listens = own.listens?.bind(own)
  const now = own.now?.bind(own)
  // The host's data outlives this process, so its instances need a common clock: the time of day, not one that begins
  // with the process.
  const clock = Clock.currentTimeMillis
  return Layer.effect(
    Store,
    withSpans({
      run: (rule, ask) => attempt(() => own.run(rule, ask)),
      crossSlot: own.crossSlot ?? true,
      // clients of Redis answer null
      get: (key) => attempt(async () => (await own.get(key)) ?? undefined),
      set: (key, value, ttlMillis) => attempt(() => own.set(key, value, ttlMillis)),
      publish: (channel, message) => attempt(() => own.publish(channel, message)),
      subscribe: (channel, onMessage, onGap = () => {}) =>
        Effect.acquireRelease(
          Effect.promise(async () => await own.subscribe(channel, onMessage, onGap)),
          (unsubscribe) => Effect.ignore(Effect.tryPromise(async () => await unsubscribe())),
        ).pipe(Effect.asVoid),
      ping: attempt(() => own.ping()),
      // an outage is reported by what is asked next
      now:
        now === undefined
          ? clock
          : Effect.flatMap(
              Effect.catch(attempt(now), () => clock),
              checkNow,
            ),
      ...(listens === undefined ? {} : { listens: Effect.catch(attempt(listens), () => Effect.succeed(false)) }),
    }),
  )
}
