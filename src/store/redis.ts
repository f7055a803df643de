/**
 * The shared store on Redis 6.2 or newer (single, Sentinel, Cluster) through ioredis.
 *
 * Commands fail at once while the connection is down (nothing waits in a queue whose fate is unknown), and none is sent
 * twice by itself. The connection is restored in the background for as long as it takes.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis"
import { StoreUnavailable, stackless } from "../Session.ts"
import { type Reply, type Script, Store } from "../Store.ts"
import type { RedisConnection } from "../settings/connection-string.ts"
import { type Done, makeJoin, type Send } from "./join.ts"

/** A command that is not answered in this time has failed; whether it was carried out is not known. */
const COMMAND_TIMEOUT_MILLIS = 2_000
const CONNECT_TIMEOUT_MILLIS = 5_000
/** How often the server's time is measured again. */
const RESYNC_MILLIS = 30_000

/** How soon after it could not be measured. */
const REMEASURE_MILLIS = 500

/** What ioredis calls a command that was not answered in time. */
const TIMED_OUT = /^Command timed out$/

const retryDelay = (attempt: number): number => Math.min(2_000, 50 * 2 ** Math.min(attempt, 10))

const unavailable = (cause: unknown): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message: "The shared store cannot be reached.", cause }))

/** Opens a client as the connection string says; it connects when told to. */
const open = (connection: RedisConnection): Redis | Cluster => {
  const common: RedisOptions = {
    ...(connection.username === undefined ? {} : { username: connection.username }),
    ...(connection.password === undefined ? {} : { password: Redacted.value(connection.password) }),
    ...(connection.tls ? { tls: {} } : {}),
    connectTimeout: CONNECT_TIMEOUT_MILLIS,
    commandTimeout: COMMAND_TIMEOUT_MILLIS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  }
  switch (connection.kind) {
    case "redis":
      return new Redis({
        ...common,
        host: connection.host,
        port: connection.port,
        db: connection.database,
        retryStrategy: retryDelay,
      })
    case "sentinel":
      return new Redis({
        ...common,
        sentinels: [...connection.sentinels],
        name: connection.master,
        db: connection.database,
        ...(connection.sentinelPassword === undefined
          ? {}
          : { sentinelPassword: Redacted.value(connection.sentinelPassword) }),
        retryStrategy: retryDelay,
        sentinelRetryStrategy: retryDelay,
      })
    case "cluster": {
      const { enableOfflineQueue: _, lazyConnect: __, ...redisOptions } = common
      const options: ClusterOptions = {
        redisOptions,
        enableAutoPipelining: true,
        enableOfflineQueue: false,
        lazyConnect: true,
        clusterRetryStrategy: retryDelay,
        slotsRefreshTimeout: COMMAND_TIMEOUT_MILLIS,
        // else what was under way when a connection broke is sent again, though it may have been carried out
        retryDelayOnFailover: 0,
      }
      return new Cluster([...connection.nodes], options)
    }
  }
}

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

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

/** What Redis answers to scripts that return strings, integers and lists of them. */
const isReply = (value: unknown): value is Reply =>
  typeof value === "string" || typeof value === "number" || (Array.isArray(value) && value.every(isReply))

/** The scripts' digests, by which the server knows them once it has seen them. */
const digests = new WeakMap<Script, string>()
const digestOf = (script: Script): string => {
  const known = digests.get(script) ?? createHash("sha1").update(script.lua).digest("hex")
  digests.set(script, known)
  return known
}

/**
 * A store on Redis. Building it does not wait for the connection: until it stands, and the difference between the clocks
 * is measured, every operation fails with `StoreUnavailable`.
 */
export const layer = (connection: RedisConnection): Layer.Layer<Store> =>
  Layer.effect(
    Store,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const context = yield* Effect.context<Scope.Scope>()
      const log = Effect.runForkWith(context)
      /** time that goes on evenly when the wall clock is set (ms) */
      const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      /** added to the steady time it is the server's; undefined while there is no measured connection */
      let offset: number | undefined
      let complained = false

      /** a connection that is closed on purpose is nothing to complain of */
      let closing = false
      const opened = Effect.acquireRelease(
        Effect.sync(() => open(connection)),
        (each) =>
          Effect.sync(() => {
            closing = true
            each.disconnect()
          }),
      )
      const client = yield* opened
      const subscriber = yield* opened

      const measure = Effect.gen(function* () {
        const before = steady()
        const time = yield* ask((done) => client.call("TIME", done))
        const [seconds, micros] = Array.isArray(time) ? time : []
        offset = Math.round(Number(seconds) * 1000 + Number(micros) / 1000 - (before + steady()) / 2)
        return steady() + offset - clock.currentTimeMillisUnsafe()
      })

      client.on("ready", () => {
        log(
          measure.pipe(
            Effect.tap((ahead) => {
              complained = false
              return Effect.logInfo(`The store is connected; its clock is ${ahead} ms ahead of this process's.`)
            }),
            // nothing works without it: one server is asked on a new connection, a cluster's perhaps another node
            Effect.tapError(() => Effect.sync(() => client instanceof Redis && client.disconnect(true))),
            Effect.retry({ schedule: Schedule.spaced(REMEASURE_MILLIS), while: () => client.status === "ready" }),
            Effect.catch((error) => Effect.logWarning(`The store's time cannot be read: ${error.message}`)),
          ),
        )
      })
      client.on("close", () => {
        offset = undefined
      })
      const complain = (error: unknown): void => {
        if (complained || closing) return
        complained = true
        log(
          Effect.logWarning(
            `The store cannot be reached (${error instanceof Error ? error.message : String(error)}); trying again until it can.`,
          ),
        )
      }
      client.on("error", complain)
      subscriber.on("error", complain)

      const listeners = new Map<string, Set<(message: string) => void>>()
      subscriber.on("message", (channel: string, message: string) => {
        for (const listener of listeners.get(channel) ?? []) listener(message)
      })
      // what was asked for while there was no connection; ioredis itself renews what it had
      subscriber.on("ready", () => {
        if (listeners.size > 0) subscriber.subscribe(...listeners.keys()).catch(complain)
      })
      for (const each of [client, subscriber]) each.connect().catch(complain)

      yield* measure.pipe(Effect.ignore, Effect.delay(RESYNC_MILLIS), Effect.forever, Effect.forkScoped)

      /** A server that hangs, or a connection that leads nowhere: what follows fails at once until a new one stands. */
      const giveUp = (error: Error): void => {
        // of a cluster only one node may hang
        if (!TIMED_OUT.test(error.message) || client instanceof Cluster || offset === undefined) return
        offset = undefined
        complain(error)
        client.disconnect(true)
      }

      const ready = (send: (done: Done) => unknown): Effect.Effect<unknown, StoreUnavailable> =>
        Effect.suspend(() =>
          offset === undefined
            ? Effect.fail(unavailable("not connected"))
            : Effect.catch(ask(send), (error) => {
                giveUp(error)
                return Effect.fail(unavailable(error))
              }),
        )

      /** ioredis throws when no node of a cluster has the key's slot. */
      const attempt = (done: Done, send: () => unknown): void => {
        try {
          send()
        } catch (error) {
          done(errorOf(error))
        }
      }
      const send: Send = (script, keys, args, done) => {
        const rest = [...keys, ...args]
        attempt(done, () =>
          client.evalsha(digestOf(script), keys.length, ...rest, (error, reply) => {
            // the server forgot its scripts, or this one is new to it: once with the text
            if (error?.message.startsWith("NOSCRIPT")) {
              attempt(done, () => client.eval(script.lua, keys.length, ...rest, done))
            } else {
              done(error, reply)
            }
          }),
        )
      }
      const run = makeJoin(send, client instanceof Cluster)

      return Store.of({
        // one primitive for the whole: every admission waits for it
        run: (script, keys, args) =>
          Effect.callback<Reply, StoreUnavailable>((resume) => {
            if (offset === undefined) return resume(Effect.fail(unavailable("not connected")))
            run(script, keys, args, (error, reply) => {
              if (error) {
                giveUp(error)
                resume(Effect.fail(unavailable(error)))
              } else if (isReply(reply)) {
                resume(Effect.succeed(reply))
              } else {
                resume(
                  Effect.die(
                    new TypeError(`the script ${script.name} answered something else than strings and integers`),
                  ),
                )
              }
            })
          }),
        spans: !(client instanceof Cluster),
        get: (key) =>
          Effect.map(
            ready((done) => client.get(key, done)),
            (value) => (typeof value === "string" ? value : undefined),
          ),
        set: (key, value, ttlMillis) => Effect.asVoid(ready((done) => client.set(key, value, "PX", ttlMillis, done))),
        publish: (channel, message) => Effect.asVoid(ready((done) => client.publish(channel, message, done))),
        subscribe: (channel, onMessage) =>
          Effect.acquireRelease(
            Effect.suspend(() => {
              const set = listeners.get(channel) ?? new Set()
              listeners.set(channel, set.add(onMessage))
              return subscriber.status === "ready"
                ? Effect.ignore(Effect.tryPromise(() => subscriber.subscribe(channel)))
                : Effect.void
            }),
            () =>
              Effect.sync(() => {
                const set = listeners.get(channel)
                set?.delete(onMessage)
                if (set?.size !== 0) return
                listeners.delete(channel)
                if (subscriber.status === "ready") subscriber.unsubscribe(channel).catch(complain)
              }),
          ),
        ping: Effect.asVoid(ready((done) => client.call("PING", done))),
        now: Effect.sync(() => (offset === undefined ? clock.currentTimeMillisUnsafe() : steady() + offset)),
      })
    }),
  )
