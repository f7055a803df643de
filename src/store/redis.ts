/**
 * The shared store on Redis 6.2 or newer (single, Sentinel, Cluster) through ioredis.
 *
 * Commands fail fast while the connection is down: they are not queued, because nobody could tell whether they will be carried
 * out. None is sent twice. The client reconnects in the background for as long as it takes.
 */
import { createHash } from "node:crypto"
import { Clock, Deferred, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Cluster, type Redis } from "ioredis"
import { StoreUnavailable, stackless } from "../Session.ts"
import { type Ask, type Rule, Store } from "../Store.ts"
import type { HostPort, RedisConnection } from "../settings/connection-string.ts"
import { type Done, makeBatcher, type Send, type SentRule } from "./batch.ts"
import { makeTimer } from "./durations.ts"
import { CONNECT_TIMEOUT_MILLIS, open, openListener } from "./redis-client.ts"
import { makeFailovers } from "./redis-failover.ts"
import { makeRefusalLog } from "./redis-faults.ts"
import { identify } from "./redis-hosts.ts"
import { makeListener } from "./redis-listener.ts"
import { describeProblem, isReplica, type RedisProblem, StoreRefused, wasDemoted } from "./redis-problems.ts"
import { MEASURE_EVERY_MILLIS, makeServerClock } from "./server-clock.ts"
import { withSpans } from "./spans.ts"

/** The delay before an unusable connection is tried again. */
const RETRY_MILLIS = 500

/** Writing this key shows whether the server accepts writes. It has the shortest lifetime possible. */
const PROBE_KEY = "vg:probe"
const PROBE_TTL_MILLIS = 1

/** Reads the time of the node that has a key. */
const TIME_SCRIPT = "return redis.call('TIME')"

/** How often the log repeats that the store cannot be used (ms). */
const LOG_EVERY_MILLIS = 60_000

/** ioredis's message for a command without an answer in time. */
const TIMED_OUT = "Command timed out"

/** A replica's answer to a write, also within a script. Nothing of the command was carried out. */
const READONLY = /READONLY/

/** How long a write that a replica refused waits for a connection to the primary (ms). */
const RETRY_ON_PRIMARY_MILLIS = 2_000

/** `cause` is a text, because an error of ioredis contains the arguments of its command. */
const unavailable = (cause: string, why: { unasked: boolean } | { refusal: string }): StoreUnavailable =>
  stackless(
    () => new StoreUnavailable({ message: "The shared store cannot be reached.", cause, unasked: false, ...why }),
  )

/** The error is a reply of the server, not one of the connection. */
const isReplyError = (error: Error): boolean => error.name === "ReplyError"

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** Milliseconds since 1970 from a reply to TIME; NaN for any other reply. */
const millisOf = (reply: unknown): number => {
  const [seconds, micros] = Array.isArray(reply) ? reply : []
  return Number(seconds) * 1000 + Number(micros) / 1000
}

/** Turns an invalid reply to TIME into a failure. */
const checkTime =
  (done: Done): Done =>
  (error, reply) =>
    done(error ?? (Number.isFinite(millisOf(reply)) ? null : new Error("TIME: no time")), reply)

/** A command of ioredis as an effect. Interruption does not cancel it: it may have been carried out already. */
const sendCommand = (send: (done: Done) => unknown): Effect.Effect<unknown, Error> =>
  Effect.callback((resume) => {
    try {
      send((error, reply) => resume(error ? Effect.fail(error) : Effect.succeed(reply)))
    } catch (error) {
      // ioredis throws when no node of a cluster has the key's slot
      resume(Effect.fail(errorOf(error)))
    }
  })

/** SHA-1 digests of the rules' Lua, for EVALSHA. */
const digests = new WeakMap<SentRule, string>()
const digestOf = (rule: SentRule): string => {
  const known = digests.get(rule) ?? createHash("sha1").update(rule.lua).digest("hex")
  digests.set(rule, known)
  return known
}

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

/** The nodes of a Cluster that are known so far. */
const nodesOf = (client: Redis | Cluster): ReadonlyArray<HostPort> =>
  client instanceof Cluster
    ? client.nodes("master").flatMap(({ options: { host, port } }) => (host && port ? [{ host, port }] : []))
    : []

/** The layer for a connection whose kind of servers is known. */
const connected = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  Layer.effect(
    Store,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const context = yield* Effect.context<Scope.Scope>()
      const log = Effect.runForkWith(context)
      /** monotonic time (ms) */
      const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      /** whether the connection matches the connection string (see `verify`) */
      let verified = false
      const describe = describeProblem(connection)
      const logRefusal = yield* makeRefusalLog()
      // with Sentinel or several hosts a failover may be under way, so a replica is a temporary problem
      const replica = connection.kind === "redis" ? isReplica : wasDemoted
      /** completed when there is a verified connection again */
      let connectedAgain = Deferred.makeUnsafe<void>()
      /** a failover is under way: writes that the current master acknowledges would be lost */
      let failingOver = false
      /** the current problem of the connection; empty when there is none */
      let lastProblem = ""
      /** when it was last logged, by monotonic time */
      let loggedAt = 0
      /** the store is closing, so a lost connection is not a problem */
      let closing = false
      /** the result of the first connect; it succeeds when no server answers, since the client keeps trying */
      const first = yield* Deferred.make<void, StoreRefused>()

      const failovers = connection.kind === "sentinel" ? makeFailovers(connection) : undefined
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => open(connection, failovers?.redirect)),
        (each) =>
          Effect.sync(() => {
            closing = true
            each.disconnect()
          }),
      )

      /** Logs a problem. `listening` marks one of the listener's connection, which does not decide whether the start succeeds. */
      const reportProblem = ({ message, refused }: RedisProblem, listening = false): void => {
        if (closing) return
        // not logged, since the start fails with this message
        if (
          refused &&
          !listening &&
          Deferred.doneUnsafe(first, Effect.fail(new StoreRefused({ message: `StoreConnectionString: ${message}.` })))
        ) {
          return
        }
        if (lastProblem === message && steady() - loggedAt < LOG_EVERY_MILLIS) return
        lastProblem = message
        loggedAt = steady()
        const summary = refused ? "The store refuses the connection" : "The store cannot be reached"
        log(Effect.logWarning(`${summary} (${message}); the gate keeps trying.`))
        if (!listening) Deferred.doneUnsafe(first, Effect.void)
      }

      const readTime = sendCommand((done) => client.call("TIME", checkTime(done)))
      const time = makeServerClock(
        clock,
        // on a cluster always the same node, so that all gates agree; any other while that one is down
        (client instanceof Cluster
          ? Effect.catch(
              sendCommand((done) => client.eval(TIME_SCRIPT, 1, PROBE_KEY, checkTime(done))),
              () => readTime,
            )
          : readTime
        ).pipe(
          Effect.map(millisOf),
          Effect.tapError((error) => Effect.sync(() => dropConnection(error))),
        ),
      )
      /** There is a verified connection, and the server's time is known. */
      const isUsable = (): boolean => verified && time.isMeasured()

      /**
       * Verifies that a new connection matches the connection string. ioredis continues without the user when the server has no
       * password, and in database 0 when the server has no such database. The commands are pipelined. Returns how far the
       * server's clock is ahead (ms).
       */
      const verify = Effect.gen(function* () {
        const { password, username } = connection
        const user = username === undefined ? [] : [username]
        const [, , role] = yield* Effect.all(
          [
            client instanceof Cluster || password === undefined
              ? Effect.void
              : sendCommand((done) => client.call("AUTH", ...user, Redacted.value(password), done)),
            connection.kind === "cluster"
              ? Effect.void
              : sendCommand((done) => client.call("SELECT", connection.database, done)),
            // a user who may not send ROLE learns from the write whether the server is a replica
            client instanceof Cluster
              ? Effect.void
              : Effect.catchIf(
                  sendCommand((done) => client.call("ROLE", done)),
                  ({ message }) => message.startsWith("NOPERM"),
                  () => Effect.void,
                ),
            // on a cluster the node with this key may be down while others serve
            Effect.catchIf(
              sendCommand((done) => client.del(PROBE_KEY, done)),
              (error) => client instanceof Cluster && !describe(error).refused,
              () => Effect.void,
            ),
          ],
          { concurrency: "unbounded" },
        ).pipe(Effect.mapError(describe))
        if (Array.isArray(role) && role[0] === "slave") return yield* Effect.fail(isReplica)
        return yield* Effect.mapError(time.measure, describe)
      }).pipe(Effect.mapError((found) => (found === isReplica ? replica : found)))

      /** counts connections, so that a result for an old one does not close a newer one, or one that `renew` is opening */
      let connections = 0
      const onReady = Effect.suspend(() => {
        const connection = ++connections
        return verify.pipe(
          Effect.tap((ahead) => {
            lastProblem = ""
            if (connection === connections) verified = client.status === "ready"
            Deferred.doneUnsafe(first, Effect.void)
            Deferred.doneUnsafe(connectedAgain, Effect.void)
            connectedAgain = Deferred.makeUnsafe()
            return Effect.logInfo(`The store is connected; its clock is ${ahead} ms ahead of this process's.`)
          }),
          Effect.tapError((found) => {
            reportProblem(found)
            // a single server is tried again on a new connection; a cluster is tried again on the same client, perhaps on another node
            return client instanceof Cluster
              ? Effect.void
              : Effect.delay(
                  Effect.sync(() => {
                    if (connection === connections && client.status === "ready") client.disconnect(true)
                  }),
                  RETRY_MILLIS,
                )
          }),
          Effect.retry({
            schedule: Schedule.spaced(RETRY_MILLIS),
            while: () => client instanceof Cluster && client.status === "ready",
          }),
          Effect.ignore,
        )
      })
      client.on("ready", () => {
        log(onReady)
      })
      const forget = (): void => {
        verified = false
        time.forget()
      }
      client.on("close", forget)
      const failed = (error: unknown): void => reportProblem(describe(error))
      client.on("error", failed)
      client.connect().catch(failed)

      const listener = yield* makeListener({
        open: () => openListener(connection, failovers?.redirect, nodesOf(client)),
        publish: (channel, message) =>
          Effect.map(publish(channel, message), (receivers) =>
            typeof receivers === "number" && !(client instanceof Cluster) ? receivers : undefined,
          ),
        onError: (error) => reportProblem(describe(error), true),
      })

      /** Reconnects, to the current primary. */
      const renew = (): void => {
        // ioredis never reconnects a client that is told to disconnect while it is connecting
        if (client.status === "connecting") client.once("connect", () => client.disconnect(true))
        else if (client.status === "connect" || client.status === "ready") client.disconnect(true)
      }
      if (failovers !== undefined) {
        yield* failovers.listen({
          onBegin: () => {
            if (failingOver) return
            failingOver = true
            log(Effect.logWarning("The store's Sentinels start a failover; nothing is written until it ends."))
          },
          onEnd: () => {
            if (failingOver) log(Effect.logInfo("The failover of the store has ended."))
            failingOver = false
          },
          onSwitch: () => {
            log(Effect.logWarning("The store has a new master; connecting to it."))
            forget()
            renew()
            listener.renew()
          },
        })
      }

      yield* Effect.suspend(() => (verified ? time.measure : Effect.void)).pipe(
        Effect.ignore,
        Effect.schedule(Schedule.spaced(MEASURE_EVERY_MILLIS)),
        Effect.forkScoped,
      )

      /** A replica refused a write. On a cluster the nodes redirect writes themselves. */
      const isDemotion = (error: Error): boolean => !(client instanceof Cluster) && READONLY.test(error.message)

      /**
       * Drops a connection whose server hangs, is unreachable or became a replica. Further commands fail fast until a new
       * connection is verified.
       */
      const dropConnection = (error: Error): void => {
        const demoted = isDemotion(error)
        // on a cluster perhaps only one node hangs
        if (!(demoted || error.message === TIMED_OUT) || client instanceof Cluster || !verified) return
        forget()
        reportProblem(demoted ? replica : describe(error))
        client.disconnect(true)
        if (demoted) listener.renew()
      }
      const failureOf = (error: Error, operation: string): StoreUnavailable => {
        dropConnection(error)
        const found = describe(error)
        // a demotion is a problem of the connection, as is any error that is not a reply of the server
        if (!isReplyError(error) || isDemotion(error)) return unavailable(found.message, { unasked: false })
        logRefusal(found, operation)
        return unavailable(found.message, { refusal: found.kind })
      }
      const notConnected = (): StoreUnavailable =>
        unavailable(failingOver ? "a failover is under way" : lastProblem === "" ? "not connected" : lastProblem, {
          unasked: true,
        })

      /** Passes what ioredis throws to `done`: it throws when no node of a cluster has the key's slot. */
      const attempt = (done: Done, send: () => unknown): void => {
        try {
          send()
        } catch (error) {
          done(errorOf(error))
        }
      }

      /** Sends a write that a replica refused once more when the primary is connected; fails with the refusal when that takes too long. */
      const retryOnPrimary = (refusal: Error, done: Done, send: () => unknown): void => {
        dropConnection(refusal)
        log(
          Effect.matchEager(Effect.timeout(Deferred.await(connectedAgain), RETRY_ON_PRIMARY_MILLIS), {
            onSuccess: () => attempt(done, send),
            onFailure: () => done(refusal),
          }),
        )
      }

      const timed = makeTimer(context, clock)

      const execute = (operation: string, send: (done: Done) => unknown): Effect.Effect<unknown, StoreUnavailable> =>
        Effect.suspend(() => {
          if (!isUsable() || failingOver) return Effect.fail(notConnected())
          const sent = sendCommand((resume) => {
            const done = timed(operation, resume)
            return send((error, reply) => {
              if (error && isDemotion(error)) retryOnPrimary(error, done, () => send(done))
              else done(error, reply)
            })
          })
          return Effect.mapError(sent, (error) => failureOf(error, operation))
        })

      /**
       * EVALSHA, and the text once after NOSCRIPT. `defineCommand` of ioredis does it too, but a Cluster that lacks a node then fails
       * calls for every key (`redis-lost-answers.system.test.ts`); `Redis.eval` of Effect looks up a `Cache` for each call, up to 43 µs.
       */
      const evaluate = (rule: SentRule, rest: ReadonlyArray<string>, numberOfKeys: number, done: Done): void =>
        attempt(done, () =>
          client.evalsha(digestOf(rule), numberOfKeys, ...rest, (error, reply) => {
            // the server does not have this script: send its text once
            if (error?.message.startsWith("NOSCRIPT")) {
              attempt(done, () => client.eval(rule.lua, numberOfKeys, ...rest, done))
            } else {
              done(error, reply)
            }
          }),
        )
      const send: Send = (rule, keys, args, answered) => {
        const rest = [...keys, ...args]
        const done = timed(rule.name, answered)
        evaluate(rule, rest, keys.length, (error, reply) => {
          if (error && isDemotion(error)) {
            retryOnPrimary(error, done, () => evaluate(rule, rest, keys.length, done))
          } else {
            done(error, reply)
          }
        })
      }
      const run = makeBatcher(send, client instanceof Cluster)

      const publish = (channel: string, message: string): Effect.Effect<unknown, StoreUnavailable> =>
        execute("PUBLISH", (done) => client.publish(channel, message, done))

      // no answer in this time counts as unreachable
      yield* Effect.timeoutOption(Deferred.await(first), CONNECT_TIMEOUT_MILLIS)
      Deferred.doneUnsafe(first, Effect.void)

      return yield* withSpans({
        // hot path: a single primitive instead of a chain of effects
        run: <RuleContext extends object, Call extends object, Answer>(
          rule: Rule<RuleContext, Call, Answer>,
          call: Ask<RuleContext, Call>,
        ) =>
          Effect.callback<Answer, StoreUnavailable>((resume) => {
            if (!isUsable() || failingOver) return resume(Effect.fail(notConnected()))
            run(rule, call, (error, answer) => {
              resume(error ? Effect.fail(failureOf(error, rule.name)) : decoded(rule, answer))
            })
          }),
        crossSlot: !(client instanceof Cluster),
        get: (key) =>
          Effect.map(
            execute("GET", (done) => client.get(key, done)),
            (value) => (typeof value === "string" ? value : undefined),
          ),
        set: (key, value, ttlMillis) =>
          Effect.asVoid(execute("SET", (done) => client.set(key, value, "PX", ttlMillis, done))),
        publish: (channel, message) => Effect.asVoid(publish(channel, message)),
        subscribe: listener.subscribe,
        listens: Effect.sync(listener.isReceiving),
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
        now: time.now,
      })
    }),
  )

/**
 * A store on Redis. Building it waits for the first connect: it fails with `StoreRefused` when the server refuses the connection
 * string, and continues without a connection when no server answers. Until a connection is verified and the server's clock is
 * measured, every operation fails with `StoreUnavailable`. With several hosts, building waits until one has reported its role.
 */
export const layer = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  connection.kind === "hosts" ? Layer.unwrap(Effect.map(identify(connection), connected)) : connected(connection)
