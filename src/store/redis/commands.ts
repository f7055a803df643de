/**
 * The commands that the store sends over its verified connection.
 *
 * They fail fast while the connection is not open: they are not queued, because nobody could tell whether they will be carried out.
 * None is sent twice, except one that a replica refused, of which nothing was carried out. Some are not carried out after they were given
 * up (`deadline.ts`).
 */
import { Clock, Effect, type Scope } from "effect"
import { Cluster } from "ioredis"
import { StoreUnavailable, stackless } from "../../protocol/refusals.ts"
import type { Ask, Rule } from "../Store.ts"
import { type Done, makeBatcher, type SentRule } from "./batch.ts"
import type { VerifiedConnection } from "./connection.ts"
import { EXPIRED } from "./deadline.ts"
import { makeTimer } from "./metrics.ts"
import { tryCommands } from "./permissions.ts"
import { makeRefusalLog } from "./refusal-log.ts"
import { digestOf } from "./scripts.ts"
import { attempt, isReplyError, sendCommand } from "./send.ts"
import { PROBE_KEY } from "./verify.ts"

/** How long a command that a replica refused waits for a connection to the primary (ms). */
const RETRY_ON_PRIMARY_MILLIS = 2_000

/** The lifetime of `PROBE_KEY`: the shortest possible. */
const PROBE_TTL_MILLIS = 1

/** `cause` is a text, because an error of ioredis contains the arguments of its command. */
const unavailable = (
  cause: string,
  why: { unasked: boolean } | { unasked: true; expired: true } | { refusal: string },
): StoreUnavailable =>
  stackless(
    () => new StoreUnavailable({ message: "The shared store cannot be reached.", cause, unasked: false, ...why }),
  )

/** An answer with the wrong shape is a defect of the rule. */
const decoded = <Answer>(
  { decode }: { readonly decode: (answer: unknown) => Answer },
  answer: unknown,
): Effect.Effect<Answer> => {
  try {
    return Effect.succeed(decode(answer))
  } catch (error) {
    return Effect.die(error)
  }
}

/** @param prefix begins every channel; that of the keys is the client's */
export const makeCommands = Effect.fnUntraced(function* (
  {
    client,
    closedBecause,
    deadline,
    describe,
    dropAfter,
    isDemotion,
    isOpen,
    loadScripts,
    measure,
    reconnected,
  }: VerifiedConnection,
  prefix = "",
) {
  const context = yield* Effect.context<Scope.Scope>()
  const fork = Effect.runForkWith(context)
  const logRefusal = yield* makeRefusalLog()
  const timed = makeTimer(context, yield* Clock.Clock)

  const notSent = (): StoreUnavailable => unavailable(closedBecause(), { unasked: true })
  const failureOf = (error: Error, operation: string): StoreUnavailable => {
    if (error.message.startsWith(EXPIRED)) {
      return unavailable("the command arrived after its time", { unasked: true, expired: true })
    }
    dropAfter(error)
    const found = describe(error)
    // a demotion is a problem of the connection, as is any error that is not a reply of the server
    if (!isReplyError(error) || isDemotion(error)) return unavailable(found.message, { unasked: false })
    logRefusal(found, operation)
    return unavailable(found.message, { refusal: found.kind })
  }

  /** Sends a command once and records how long its answer takes. */
  const sendTimed = (operation: string, send: (done: Done) => unknown, answered: Done): void => {
    const done = timed(operation, answered)
    attempt(done, () => send(done))
  }

  /**
   * Sends a command; sends one that a replica refused once more when the primary is connected, and answers with the refusal when that
   * takes too long.
   */
  const sendToPrimary = (operation: string, send: (done: Done) => unknown, answered: Done): void =>
    sendTimed(operation, send, (error, reply) => {
      if (!error || !isDemotion(error)) return answered(error, reply)
      dropAfter(error)
      fork(
        Effect.matchEager(Effect.timeout(reconnected(), RETRY_ON_PRIMARY_MILLIS), {
          onSuccess: () => sendTimed(operation, send, answered),
          onFailure: () => answered(error),
        }),
      )
    })

  const execute = (operation: string, send: (done: Done) => unknown): Effect.Effect<unknown, StoreUnavailable> =>
    Effect.suspend(() =>
      isOpen()
        ? Effect.mapError(
            sendCommand((done) => sendToPrimary(operation, send, done)),
            (error) => failureOf(error, operation),
          )
        : Effect.fail(notSent()),
    )

  /**
   * EVALSHA, and the text once after NOSCRIPT: the server has forgotten the script since it was loaded. The server may then run commands
   * first that were sent later.
   *
   * `defineCommand` of ioredis also sends a missing text, but a Cluster that lacks a node then fails calls for every key
   * (`test/store/redis/lost-answers.system.test.ts`); `Redis.eval` of Effect looks up a `Cache` for each call, up to 43 µs.
   */
  const evaluate = (rule: SentRule, keys: ReadonlyArray<string>, args: ReadonlyArray<string>, done: Done): unknown => {
    const rest = [...keys, ...args]
    const until = rule.expires === true ? deadline() : undefined
    if (until !== undefined) rest[keys.length] = `${rest[keys.length]} ${until}`
    const answered: Done = (error, reply) => {
      // either the answer took long, or this process no longer knows the server's time
      if (error?.message.startsWith(EXPIRED))
        fork(
          Effect.andThen(
            measure,
            Effect.sync(() => done(error)),
          ),
        )
      else done(error, reply)
    }
    return client.evalsha(digestOf(rule), keys.length, ...rest, (error, reply) => {
      if (error?.message.startsWith("NOSCRIPT")) {
        loadScripts()
        attempt(answered, () => client.eval(rule.lua, keys.length, ...rest, answered))
      } else {
        answered(error, reply)
      }
    })
  }
  const call = makeBatcher(
    (rule, keys, args, answered) => {
      sendToPrimary(rule.name, (done) => evaluate(rule, keys, args, done), answered)
    },
    client instanceof Cluster,
  )

  return {
    /** Hot path: a single primitive instead of a chain of effects. */
    run: <RuleContext extends object, Call extends object, Answer>(
      rule: Rule<RuleContext, Call, Answer>,
      ask: Ask<RuleContext, Call>,
    ) =>
      Effect.callback<Answer, StoreUnavailable>((resume) => {
        if (!isOpen()) return resume(Effect.fail(notSent()))
        call(rule, ask, (error, answer) => {
          resume(error ? Effect.fail(failureOf(error, rule.name)) : decoded(rule, answer))
        })
      }),
    get: (key: string) =>
      Effect.map(
        execute("GET", (done) => client.get(key, done)),
        (value) => (typeof value === "string" ? value : undefined),
      ),
    set: (key: string, value: string, ttlMillis: number) =>
      Effect.asVoid(execute("SET", (done) => client.set(key, value, "PX", ttlMillis, done))),
    /** The number of receivers at the server; undefined on a cluster, where other nodes may have some. */
    publish: (channel: string, message: string) =>
      Effect.map(
        execute("PUBLISH", (done) => client.publish(prefix + channel, message, done)),
        (receivers) => (typeof receivers === "number" && !(client instanceof Cluster) ? receivers : undefined),
      ),
    check: Effect.suspend(() =>
      isOpen()
        ? Effect.mapError(tryCommands(client, describe, prefix), ({ kind, message, refused }) =>
            unavailable(message, refused || kind !== "OTHER" ? { refusal: kind } : { unasked: false }),
          )
        : Effect.fail(notSent()),
    ),
    ping: Effect.asVoid(
      execute("SET", (done) => {
        const written: Done = (error) => {
          // on a cluster the node with this key may be down while others serve
          if (error && client instanceof Cluster && !isReplyError(error)) {
            attempt(done, () => client.call("PING", done))
          } else {
            done(error)
          }
        }
        attempt(written, () => client.set(PROBE_KEY, "", "PX", PROBE_TTL_MILLIS, written))
      }),
    ),
  }
})
