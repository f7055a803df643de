/**
 * The verified connection to Redis: it connects, checks that the server matches the connection string, follows failovers, measures
 * the server's clock, and logs why the store cannot be used. It reconnects in the background for as long as it takes.
 *
 * Commands may be sent while `isOpen`: the current connection is verified, the server's clock is measured and no failover is under way.
 */
import { Clock, Deferred, Effect, Schedule, type Scope } from "effect"
import { Cluster, type Redis } from "ioredis"
import type { HostPort, RedisConnection } from "../connection-string.ts"
import { CONNECT_TIMEOUT_MILLIS, open, openListener, retryDelay } from "./client.ts"
import { makeDeadlines } from "./deadline.ts"
import { watchEviction } from "./eviction.ts"
import { makeFailovers } from "./failover.ts"
import {
  describeProblem,
  isReplica,
  oneSided,
  type RedisProblem,
  refusalOf,
  type StoreRefused,
  wasDemoted,
} from "./problems.ts"
import { makeScripts } from "./scripts.ts"
import { TIMED_OUT } from "./send.ts"
import { MEASURE_EVERY_MILLIS, makeServerClock } from "./server-clock.ts"
import { readServerTime } from "./time.ts"
import { onStreamError, tlsOptions, tlsProblem } from "./tls.ts"
import { verifyServer } from "./verify.ts"

/** How long the report of a failed connection waits for a better one (ms). */
const CAUSE_MILLIS = 200

/** For this long a problem with a name of its own is not followed by one without (ms). */
const NAMED_MILLIS = 1_000

/** After this time without a connection the gate looks whether TLS is the reason (ms). */
const TLS_AFTER_MILLIS = 1_000

/** The delay before an unusable connection is tried again. */
const RETRY_MILLIS = 500

/** How often the log repeats that the store cannot be used (ms). */
const LOG_EVERY_MILLIS = 60_000

/** A replica's answer to a write, also within a script. Nothing of the command was carried out. */
const READONLY = /READONLY/

export interface VerifiedConnection {
  readonly client: Redis | Cluster
  /** Whether commands may be sent. */
  readonly isOpen: () => boolean
  readonly closedBecause: () => string
  /** Whether a replica refused a write. On a cluster the nodes redirect writes themselves. */
  readonly isDemotion: (error: Error) => boolean
  /**
   * Drops the connection when this error of a command shows that its server hangs, is unreachable or became a replica. It is not open
   * then until a new connection is verified. Other errors change nothing.
   */
  readonly dropAfter: (error: Error) => void
  /** Waits for the next connection that is verified after this call. */
  readonly reconnected: () => Effect.Effect<void>
  /** Until when a command that is sent now may be carried out, by the server's clock (ms); undefined while unknown. */
  readonly deadline: () => number | undefined
  /** Measures the server's clock again. Never fails. */
  readonly measure: Effect.Effect<void>
  /** Loads the scripts of the rules again, in the background: a server has forgotten one. */
  readonly loadScripts: () => void
  /** What is wrong with a server that works, as a sentence without its full stop; empty if nothing is. */
  readonly problem: () => string
  /** Describes an error without the secrets of the connection string. */
  readonly describe: (error: unknown) => RedisProblem
  /** Creates a client for subscriptions, to the same server or, on a cluster, to a node. */
  readonly openListener: () => Redis
  readonly onListenerError: (error: unknown) => void
  /** Calls back when another server is the primary, or may be. Replaces an earlier callback. */
  readonly onPrimaryChange: (callback: () => void) => void
  /**
   * Waits for the first connect. Fails when the server refuses the connection string; succeeds when no server answers in
   * `CONNECT_TIMEOUT_MILLIS`, since the client keeps trying.
   */
  readonly connected: Effect.Effect<void, StoreRefused>
  /** The server's time (ms since 1970). */
  readonly now: Effect.Effect<number>
}

/** The first address that is connected to; undefined for several hosts, which are asked before. */
const addressOf = (connection: RedisConnection): HostPort | undefined => {
  switch (connection.kind) {
    case "redis":
      return connection
    case "sentinel":
      return connection.sentinels[0]
    case "cluster":
      return connection.nodes[0]
    case "hosts":
      return undefined
  }
}

/** The nodes of a Cluster that are known so far. */
const nodesOf = (client: Redis | Cluster): ReadonlyArray<HostPort> =>
  client instanceof Cluster
    ? client.nodes("master").flatMap(({ options: { host, port } }) => (host && port ? [{ host, port }] : []))
    : []

/** Connects until the scope closes, for a connection whose kind of servers is known. Does not wait for the first connect. */
export const makeConnection = Effect.fnUntraced(function* (
  connection: RedisConnection,
): Effect.fn.Return<VerifiedConnection, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const log = Effect.runForkWith(yield* Effect.context<Scope.Scope>())
  /** monotonic time (ms) */
  const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  /** whether the connection matches the connection string (see `verify`) */
  let verified = false
  let everVerified = false
  const describe = describeProblem(connection)
  // with Sentinel or several hosts a failover may be under way, so a replica is a temporary problem
  const replica = connection.kind === "redis" ? isReplica : wasDemoted
  /** completed when there is a verified connection again */
  let connectedAgain = Deferred.makeUnsafe<void>()
  /** a failover is under way: writes that the current master acknowledges would be lost */
  let failingOver = false
  /** empty when there is none */
  let lastProblem = ""
  /** by monotonic time */
  let loggedAt = 0
  /** when it was last one with a name of its own, by monotonic time */
  let namedAt = Number.NEGATIVE_INFINITY
  /** connections since the last verified one */
  let attempts = 0
  /** the store is closing, so a lost connection is not a problem */
  let closing = false
  let primaryChanged = (): void => {}
  /** the result of the first connect; it succeeds when no server answers, since the client keeps trying */
  const first = yield* Deferred.make<void, StoreRefused>()

  const failovers = connection.kind === "sentinel" ? makeFailovers(connection) : undefined
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => open(connection, () => retryDelay(++attempts), failovers?.redirect)),
    (each) =>
      Effect.sync(() => {
        closing = true
        each.disconnect()
      }),
  )

  /** Logs a problem. `listening` marks one of the listener's connection, which does not decide whether the start succeeds. */
  const reportProblem = ({ kind, message, refused }: RedisProblem, listening = false): void => {
    if (closing) return
    if (kind !== "OTHER") namedAt = steady()
    // not logged, since the start fails with this message
    if (refused && !listening && Deferred.doneUnsafe(first, Effect.fail(refusalOf(message, connection)))) {
      return
    }
    if (lastProblem === message && steady() - loggedAt < LOG_EVERY_MILLIS) return
    lastProblem = message
    loggedAt = steady()
    const summary = refused ? "The store refuses the connection" : "The store cannot be reached"
    log(Effect.logWarning(`${summary} (${message}); the gate keeps trying.`))
    if (!listening) Deferred.doneUnsafe(first, Effect.void)
  }

  const deadlines = makeDeadlines(client)
  const time = makeServerClock(
    clock,
    Effect.tapError(deadlines.measuring(readServerTime(client)), (error) => Effect.sync(() => dropAfter(error))),
  )
  const measure = Effect.all([time.measure, deadlines.measure], { concurrency: "unbounded" })
  const scripts = makeScripts(client, log)
  const eviction = yield* watchEviction(client, () => verified)
  let loading = false
  const loadScripts = (): void => {
    if (loading) return
    loading = true
    log(
      Effect.ensuring(
        Effect.ignore(scripts.load),
        Effect.sync(() => {
          loading = false
        }),
      ),
    )
  }
  /** There is a verified connection, and the server's time is known. */
  const isUsable = (): boolean => verified && time.isMeasured()

  /** Returns how far the server's clock is ahead (ms). */
  const verify = verifyServer(client, connection, describe).pipe(
    Effect.andThen(Effect.mapError(Effect.all([measure, eviction.read], { concurrency: "unbounded" }), describe)),
    Effect.map(([[ahead]]) => ahead),
    // later connections are used while the scripts are on their way: a rule without its script is sent with its text
    Effect.tap(() => (everVerified ? Effect.sync(loadScripts) : Effect.mapError(scripts.load, describe))),
    Effect.mapError((found) => (found === isReplica ? replica : found)),
  )

  /** Why there is no connection yet, if one side speaks TLS and the other does not: no error says that. */
  const askForTls = Effect.suspend(() => {
    const address = addressOf(connection)
    return everVerified || address === undefined
      ? Effect.undefined
      : Effect.promise(() => tlsProblem(address, tlsOptions(connection)))
  })
  /** Reports a problem of connecting or verifying, or the lack of TLS behind it. */
  const reportFailure = (found: RedisProblem): void => {
    // this failure follows from the server's closing, after the server said why
    if (found.kind === "OTHER" && steady() - namedAt < NAMED_MILLIS) return
    if (everVerified || found.kind !== "OTHER") {
      reportProblem(found)
      return
    }
    // another event may name the cause meanwhile
    log(
      Effect.map(Effect.delay(askForTls, CAUSE_MILLIS), (fault) => {
        reportProblem(fault === undefined ? found : oneSided(fault, connection.tls))
      }),
    )
  }
  const failed = (error: unknown): void => reportFailure(describe(error))

  /** counts connections, so that a result for an old one does not close a newer one, or one that `renew` is opening */
  let connections = 0
  const onReady = Effect.suspend(() => {
    const connection = ++connections
    return verify.pipe(
      Effect.tap((ahead) => {
        lastProblem = ""
        if (connection === connections) verified = client.status === "ready"
        everVerified = true
        attempts = 0
        namedAt = Number.NEGATIVE_INFINITY
        Deferred.doneUnsafe(first, Effect.void)
        Deferred.doneUnsafe(connectedAgain, Effect.void)
        connectedAgain = Deferred.makeUnsafe()
        return Effect.logInfo(
          `The store is connected; its clock is ${Math.abs(ahead)} ms ${ahead < 0 ? "behind" : "ahead of"} this process's.`,
        )
      }),
      Effect.tapError((found) => {
        reportFailure(found)
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
  const forget = (): void => {
    verified = false
    time.forget()
  }
  const isDemotion = (error: Error): boolean => !(client instanceof Cluster) && READONLY.test(error.message)
  const dropAfter = (error: Error): void => {
    const demoted = isDemotion(error)
    // on a cluster perhaps only one node hangs
    if (!(demoted || error.message === TIMED_OUT) || client instanceof Cluster || !verified) return
    forget()
    reportProblem(demoted ? replica : describe(error))
    client.disconnect(true)
    if (demoted) primaryChanged()
  }

  client.on("ready", () => {
    log(onReady)
  })
  client.on("close", forget)
  client.on("error", failed)
  onStreamError(client, failed)
  client.connect().catch(failed)

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
        primaryChanged()
      },
    })
  }

  // a server without TLS waits for more of what begins a TLS connection, so nothing fails until the connect times out
  yield* Effect.forkScoped(
    Effect.flatMap(Effect.delay(askForTls, TLS_AFTER_MILLIS), (fault) =>
      Effect.sync(() => {
        if (fault !== undefined) reportProblem(oneSided(fault, connection.tls))
      }),
    ),
  )

  yield* Effect.suspend(() => (verified ? measure : Effect.void)).pipe(
    Effect.ignore,
    Effect.schedule(Schedule.spaced(MEASURE_EVERY_MILLIS)),
    Effect.forkScoped,
  )

  return {
    client,
    isOpen: () => isUsable() && !failingOver,
    closedBecause: () => (failingOver ? "a failover is under way" : lastProblem === "" ? "not connected" : lastProblem),
    isDemotion,
    dropAfter,
    reconnected: () => Deferred.await(connectedAgain),
    deadline: deadlines.next,
    measure: Effect.ignore(measure),
    problem: eviction.problem,
    loadScripts,
    describe,
    openListener: () => openListener(connection, failovers?.redirect, nodesOf(client)),
    onListenerError: (error) => {
      const found = describe(error)
      // a Cluster's client only says that it has no node
      reportProblem(found, everVerified || found.kind !== "TLS")
    },
    onPrimaryChange: (callback) => {
      primaryChanged = callback
    },
    // no answer in this time counts as unreachable
    connected: Effect.andThen(
      Effect.timeoutOption(Deferred.await(first), CONNECT_TIMEOUT_MILLIS),
      Effect.sync(() => void Deferred.doneUnsafe(first, Effect.void)),
    ),
    now: time.now,
  }
})
