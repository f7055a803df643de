/**
 * The shared store on Redis 6.2 or newer (single, Sentinel, Cluster) through ioredis.
 *
 * Commands fail at once while the connection is down (nothing waits in a queue whose fate is unknown), and none is sent
 * twice by itself. The connection is restored in the background for as long as it takes.
 */
import { createHash } from "node:crypto"
import { Clock, Deferred, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Cluster, type Redis } from "ioredis"
import { StoreUnavailable, stackless } from "../Session.ts"
import { type Ask, type Rule, Store } from "../Store.ts"
import type { HostPort, RedisConnection } from "../settings/connection-string.ts"
import { type Done, makeJoin, type Send, type Sent } from "./join.ts"
import { CONNECT_TIMEOUT_MILLIS, open, openListener } from "./redis-client.ts"
import { makeFailovers } from "./redis-failover.ts"
import { makeFaults } from "./redis-faults.ts"
import { identify } from "./redis-hosts.ts"
import { makeListener } from "./redis-listener.ts"
import { isReplica, StoreRefused, type Trouble, troubleOf, wasDemoted } from "./redis-trouble.ts"
import { MEASURE_EVERY_MILLIS, makeServerClock } from "./server-clock.ts"

/** How soon a connection that could not be used is tried again. */
const RETRY_MILLIS = 500

/** Writing this key shows whether the server takes writes. It is kept for as short as can be. */
const PROBE_KEY = "vg:probe"
const PROBE_TTL_MILLIS = 1

/** Asks the node of a key for its time. */
const TIME_THERE = "return redis.call('TIME')"

/** How often the log says that the store can still not be used (ms). */
const COMPLAIN_EVERY_MILLIS = 60_000

/** What ioredis calls a command that was not answered in time. */
const TIMED_OUT = "Command timed out"

/** What a replica says to a write, also within a script. Nothing of the command was carried out. */
const READONLY = /READONLY/

/** How long a write that a replica refused waits for the primary (ms). */
const REPEAT_MILLIS = 2_000

/** `cause` is a text: an error of ioredis holds the arguments of its command. */
const unavailable = (cause: string, why: { unasked: boolean } | { refusal: string }): StoreUnavailable =>
  stackless(
    () => new StoreUnavailable({ message: "The shared store cannot be reached.", cause, unasked: false, ...why }),
  )

/** The server itself said it, not ioredis of a connection. */
const isReplyError = (error: Error): boolean => error.name === "ReplyError"

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** Milliseconds since 1970 of an answer to TIME; NaN for any other answer. */
const millisOf = (told: unknown): number => {
  const [seconds, micros] = Array.isArray(told) ? told : []
  return Number(seconds) * 1000 + Number(micros) / 1000
}

/** Takes an answer to TIME, and any other as a failure. */
const timed =
  (done: Done): Done =>
  (error, told) =>
    done(error ?? (Number.isFinite(millisOf(told)) ? null : new Error("TIME: no time")), told)

/** One answer of ioredis as an effect. A command under way is not cancelled: it may have been carried out. */
const ask = (send: (done: Done) => unknown): Effect.Effect<unknown, Error> =>
  Effect.callback((resume) => {
    try {
      send((error, reply) => resume(error ? Effect.fail(error) : Effect.succeed(reply)))
    } catch (error) {
      // as ioredis throws when no node of a cluster has the key's slot
      resume(Effect.fail(errorOf(error)))
    }
  })

/** The digests of rules' texts, by which the server knows them once it has seen them. */
const digests = new WeakMap<Sent, string>()
const digestOf = (rule: Sent): string => {
  const known = digests.get(rule) ?? createHash("sha1").update(rule.lua).digest("hex")
  digests.set(rule, known)
  return known
}

/** An answer of another shape is a fault of the rule. */
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

/** The nodes of a Cluster that are known by now. */
const nodesOf = (client: Redis | Cluster): ReadonlyArray<HostPort> =>
  client instanceof Cluster
    ? client.nodes("master").flatMap(({ options: { host, port } }) => (host && port ? [{ host, port }] : []))
    : []

/** The layer for a connection of which it is known what it leads to. */
const connected = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  Layer.effect(
    Store,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const context = yield* Effect.context<Scope.Scope>()
      const log = Effect.runForkWith(context)
      /** time that goes on evenly when the wall clock is set (ms) */
      const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      /** the connection is what the connection string says */
      let examined = false
      const trouble = troubleOf(connection)
      const noteFault = yield* makeFaults()
      // Sentinel and a primary's hosts are asked again: a failover may be under way
      const replica = connection.kind === "redis" ? isReplica : wasDemoted
      /** what waits until there is a measured connection again */
      let connectedAgain = Deferred.makeUnsafe<void>()
      /** a failover is under way: what the present master acknowledges would be lost */
      let failingOver = false
      /** what stood in the way last; empty while nothing does */
      let complaint = ""
      /** when the log said so last, by the steady time */
      let complainedAt = 0
      /** a connection that is closed on purpose is nothing to complain of */
      let closing = false
      /** how the first connect went; a server that is away is waited for later */
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

      /** `listening` is what troubles the listener's connection alone, which decides nothing about the start. */
      const complain = ({ message, refused }: Trouble, listening = false): void => {
        if (closing) return
        // the failure of the start says it
        if (
          refused &&
          !listening &&
          Deferred.doneUnsafe(first, Effect.fail(new StoreRefused({ message: `StoreConnectionString: ${message}.` })))
        ) {
          return
        }
        if (complaint === message && steady() - complainedAt < COMPLAIN_EVERY_MILLIS) return
        complaint = message
        complainedAt = steady()
        const said = refused ? "The store refuses the connection" : "The store cannot be reached"
        log(Effect.logWarning(`${said} (${message}); trying again until it can be used.`))
        if (!listening) Deferred.doneUnsafe(first, Effect.void)
      }

      const askTime = ask((done) => client.call("TIME", timed(done)))
      const time = makeServerClock(
        clock,
        // of a cluster always the same node, so that all gates agree; while that is away any
        (client instanceof Cluster
          ? Effect.catch(
              ask((done) => client.eval(TIME_THERE, 1, PROBE_KEY, timed(done))),
              () => askTime,
            )
          : askTime
        ).pipe(
          Effect.map(millisOf),
          Effect.tapError((error) => Effect.sync(() => giveUp(error))),
        ),
      )
      /** There is a connection, and by it the server's time is known. */
      const isUsable = (): boolean => examined && time.isMeasured()

      /**
       * Whether a new connection is what the connection string says. ioredis goes on without its user when the server knows no
       * password, and in database 0 when the server has no such database. These are sent together.
       */
      const examine = Effect.gen(function* () {
        const { password, username } = connection
        const user = username === undefined ? [] : [username]
        const [, , role] = yield* Effect.all(
          [
            client instanceof Cluster || password === undefined
              ? Effect.void
              : ask((done) => client.call("AUTH", ...user, Redacted.value(password), done)),
            connection.kind === "cluster"
              ? Effect.void
              : ask((done) => client.call("SELECT", connection.database, done)),
            // a user who may not ask for the role is told by the write
            client instanceof Cluster
              ? Effect.void
              : Effect.catchIf(
                  ask((done) => client.call("ROLE", done)),
                  ({ message }) => message.startsWith("NOPERM"),
                  () => Effect.void,
                ),
            // of a cluster the node with this key may be away while others serve
            Effect.catchIf(
              ask((done) => client.del(PROBE_KEY, done)),
              (error) => client instanceof Cluster && !trouble(error).refused,
              () => Effect.void,
            ),
          ],
          { concurrency: "unbounded" },
        ).pipe(Effect.mapError(trouble))
        if (Array.isArray(role) && role[0] === "slave") return yield* Effect.fail(isReplica)
        return yield* Effect.mapError(time.measure, trouble)
      }).pipe(Effect.mapError((found) => (found === isReplica ? replica : found)))

      /** counts connections: what is said of an old one must not end a newer one, nor one that is being made (see `renew`) */
      let connections = 0
      const onReady = Effect.suspend(() => {
        const connection = ++connections
        return examine.pipe(
          Effect.tap((ahead) => {
            complaint = ""
            if (connection === connections) examined = client.status === "ready"
            Deferred.doneUnsafe(first, Effect.void)
            Deferred.doneUnsafe(connectedAgain, Effect.void)
            connectedAgain = Deferred.makeUnsafe()
            return Effect.logInfo(`The store is connected; its clock is ${ahead} ms ahead of this process's.`)
          }),
          Effect.tapError((found) => {
            complain(found)
            // one server is asked on a new connection, a cluster's perhaps another node
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
        examined = false
        time.forget()
      }
      client.on("close", forget)
      const failed = (error: unknown): void => complain(trouble(error))
      client.on("error", failed)
      client.connect().catch(failed)

      const listener = yield* makeListener({
        open: () => openListener(connection, failovers?.redirect, nodesOf(client)),
        publish: (channel, message) =>
          Effect.map(publish(channel, message), (receivers) =>
            typeof receivers === "number" && !(client instanceof Cluster) ? receivers : undefined,
          ),
        failed: (error) => complain(trouble(error), true),
      })

      /** Connects anew, to whichever server is the primary by then. */
      const renew = (): void => {
        // ioredis gives up for ever what is told to disconnect while it connects
        if (client.status === "connecting") client.once("connect", () => client.disconnect(true))
        else if (client.status === "connect" || client.status === "ready") client.disconnect(true)
      }
      if (failovers !== undefined) {
        yield* failovers.listen({
          onBegin: () => {
            if (failingOver) return
            failingOver = true
            log(Effect.logWarning("The store's Sentinels begin a failover; nothing is written until it is over."))
          },
          onEnd: () => {
            if (failingOver) log(Effect.logInfo("The failover of the store is over."))
            failingOver = false
          },
          onSwitch: () => {
            log(Effect.logWarning("The store has another master; connecting to it."))
            forget()
            renew()
            listener.renew()
          },
        })
      }

      yield* Effect.suspend(() => (examined ? time.measure : Effect.void)).pipe(
        Effect.ignore,
        Effect.delay(MEASURE_EVERY_MILLIS),
        Effect.forever,
        Effect.forkScoped,
      )

      /** A replica refused a write. Of a cluster the nodes themselves say where it is to go. */
      const isDemotion = (error: Error): boolean => !(client instanceof Cluster) && READONLY.test(error.message)

      /**
       * A server that hangs, a connection that leads nowhere, a primary that became a replica: what follows fails at once until a
       * new connection stands.
       */
      const giveUp = (error: Error): void => {
        const demoted = isDemotion(error)
        // of a cluster only one node may hang
        if (!(demoted || error.message === TIMED_OUT) || client instanceof Cluster || !examined) return
        forget()
        complain(demoted ? replica : trouble(error))
        client.disconnect(true)
        if (demoted) listener.renew()
      }
      const lost = (error: Error, asked: string): StoreUnavailable => {
        giveUp(error)
        const found = trouble(error)
        // a demotion is a matter of the connection, as is whatever the server did not say itself
        if (!isReplyError(error) || isDemotion(error)) return unavailable(found.message, { unasked: false })
        noteFault(found, asked)
        return unavailable(found.message, { refusal: found.kind })
      }
      const notConnected = (): StoreUnavailable =>
        unavailable(failingOver ? "a failover is under way" : complaint === "" ? "not connected" : complaint, {
          unasked: true,
        })

      /** ioredis throws when no node of a cluster has the key's slot. */
      const attempt = (done: Done, send: () => unknown): void => {
        try {
          send()
        } catch (error) {
          done(errorOf(error))
        }
      }

      /** Sends what a replica refused once more when the primary is connected, or answers the refusal when that takes too long. */
      const repeat = (refusal: Error, done: Done, send: () => unknown): void => {
        giveUp(refusal)
        log(
          Effect.matchEager(Effect.timeout(Deferred.await(connectedAgain), REPEAT_MILLIS), {
            onSuccess: () => attempt(done, send),
            onFailure: () => done(refusal),
          }),
        )
      }

      const ready = (asked: string, send: (done: Done) => unknown): Effect.Effect<unknown, StoreUnavailable> =>
        Effect.suspend(() => {
          if (!isUsable() || failingOver) return Effect.fail(notConnected())
          const sent = ask((done) =>
            send((error, reply) => {
              if (error && isDemotion(error)) repeat(error, done, () => send(done))
              else done(error, reply)
            }),
          )
          return Effect.mapError(sent, (error) => lost(error, asked))
        })

      const evaluate = (rule: Sent, rest: ReadonlyArray<string>, numberOfKeys: number, done: Done): void =>
        attempt(done, () =>
          client.evalsha(digestOf(rule), numberOfKeys, ...rest, (error, reply) => {
            // the server forgot its scripts, or this one is new to it: once with the text
            if (error?.message.startsWith("NOSCRIPT")) {
              attempt(done, () => client.eval(rule.lua, numberOfKeys, ...rest, done))
            } else {
              done(error, reply)
            }
          }),
        )
      const send: Send = (rule, keys, args, done) => {
        const rest = [...keys, ...args]
        evaluate(rule, rest, keys.length, (error, reply) => {
          if (error && isDemotion(error)) {
            repeat(error, done, () => evaluate(rule, rest, keys.length, done))
          } else {
            done(error, reply)
          }
        })
      }
      const run = makeJoin(send, client instanceof Cluster)

      const publish = (channel: string, message: string): Effect.Effect<unknown, StoreUnavailable> =>
        ready("PUBLISH", (done) => client.publish(channel, message, done))

      // whoever hears nothing in this time counts as away
      yield* Effect.timeoutOption(Deferred.await(first), CONNECT_TIMEOUT_MILLIS)
      Deferred.doneUnsafe(first, Effect.void)

      return Store.of({
        // one primitive for the whole: every admission waits for it
        run: <RuleContext extends object, Call extends object, Answer>(
          rule: Rule<RuleContext, Call, Answer>,
          asked: Ask<RuleContext, Call>,
        ) =>
          Effect.callback<Answer, StoreUnavailable>((resume) => {
            if (!isUsable() || failingOver) return resume(Effect.fail(notConnected()))
            run(rule, asked, (error, answer) => {
              resume(error ? Effect.fail(lost(error, rule.name)) : decoded(rule, answer))
            })
          }),
        crossSlot: !(client instanceof Cluster),
        get: (key) =>
          Effect.map(
            ready("GET", (done) => client.get(key, done)),
            (value) => (typeof value === "string" ? value : undefined),
          ),
        set: (key, value, ttlMillis) =>
          Effect.asVoid(ready("SET", (done) => client.set(key, value, "PX", ttlMillis, done))),
        publish: (channel, message) => Effect.asVoid(publish(channel, message)),
        subscribe: listener.subscribe,
        listens: Effect.sync(listener.hears),
        ping: Effect.asVoid(
          ready("SET", (done) => {
            const written: Done = (error) => {
              // of a cluster the node with this key may be away while others serve
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
 * string, and goes on without a connection when no server answers. Until a connection stands, and the difference between the
 * clocks is measured, every operation fails with `StoreUnavailable`. Of several hosts one must have said what they are.
 */
export const layer = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  connection.kind === "hosts" ? Layer.unwrap(Effect.map(identify(connection), connected)) : connected(connection)
