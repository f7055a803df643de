/**
 * The shared store on Redis 6.2 or newer (single, Sentinel, Cluster) through ioredis.
 *
 * Commands fail at once while the connection is down (nothing waits in a queue whose fate is unknown), and none is sent
 * twice by itself. The connection is restored in the background for as long as it takes.
 */
import { createHash } from "node:crypto"
import { Clock, Deferred, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Cluster } from "ioredis"
import { StoreUnavailable, stackless } from "../Session.ts"
import { type Reply, type Script, Store } from "../Store.ts"
import type { RedisConnection } from "../settings/connection-string.ts"
import { type Done, makeJoin, type Send } from "./join.ts"
import { CONNECT_TIMEOUT_MILLIS, open } from "./redis-client.ts"
import { identify } from "./redis-hosts.ts"
import { isReplica, StoreRefused, type Trouble, troubleOf } from "./redis-trouble.ts"

/** How often the server's time is measured again. */
const RESYNC_MILLIS = 30_000

/** How soon a connection that could not be used is tried again. */
const RETRY_MILLIS = 500

/** Nothing is kept under this key: deleting it shows whether the server takes writes. */
const PROBE_KEY = "vg:probe"

/** What ioredis calls a command that was not answered in time, and what a replica says to a write, also within a script. */
const LOST = /^Command timed out$|READONLY/

/** `cause` is a text: an error of ioredis holds the arguments of its command. */
const unavailable = (cause: string, unasked: boolean): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message: "The shared store cannot be reached.", cause, unasked }))

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
      /** added to the steady time it is the server's; undefined while there is no measured connection */
      let offset: number | undefined
      const trouble = troubleOf(connection)
      /** what stood in the way last; empty while nothing does */
      let complaint = ""
      /** a connection that is closed on purpose is nothing to complain of */
      let closing = false
      /** how the first connect went; a server that is away is waited for later */
      const first = yield* Deferred.make<void, StoreRefused>()

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

      const complain = ({ message, refused }: Trouble): void => {
        if (closing) return
        // the failure of the start says it
        if (
          refused &&
          Deferred.doneUnsafe(first, Effect.fail(new StoreRefused({ message: `StoreConnectionString: ${message}.` })))
        ) {
          return
        }
        if (complaint === message) return
        complaint = message
        const said = refused ? "The store refuses the connection" : "The store cannot be reached"
        log(Effect.logWarning(`${said} (${message}); trying again until it can be used.`))
        Deferred.doneUnsafe(first, Effect.void)
      }

      const measure = Effect.gen(function* () {
        const before = steady()
        const time = yield* ask((done) => client.call("TIME", done))
        const [seconds, micros] = Array.isArray(time) ? time : []
        offset = Math.round(Number(seconds) * 1000 + Number(micros) / 1000 - (before + steady()) / 2)
        return steady() + offset - clock.currentTimeMillisUnsafe()
      })

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
        return yield* Effect.mapError(measure, trouble)
      }).pipe(
        // Sentinel and a primary's hosts are asked again: a failover may be under way
        Effect.mapError((found) =>
          found === isReplica && connection.kind !== "redis" ? { ...found, refused: false } : found,
        ),
      )

      const onReady = examine.pipe(
        Effect.tap((ahead) => {
          complaint = ""
          Deferred.doneUnsafe(first, Effect.void)
          return Effect.logInfo(`The store is connected; its clock is ${ahead} ms ahead of this process's.`)
        }),
        Effect.tapError((found) => {
          complain(found)
          // one server is asked on a new connection, a cluster's perhaps another node
          return client instanceof Cluster
            ? Effect.void
            : Effect.delay(
                Effect.sync(() => client.disconnect(true)),
                RETRY_MILLIS,
              )
        }),
        Effect.retry({ schedule: Schedule.spaced(RETRY_MILLIS), while: () => client.status === "ready" }),
        Effect.ignore,
      )
      client.on("ready", () => {
        log(onReady)
      })
      client.on("close", () => {
        offset = undefined
      })
      const failed = (error: unknown): void => complain(trouble(error))
      client.on("error", failed)
      subscriber.on("error", failed)

      const listeners = new Map<string, Set<(message: string) => void>>()
      subscriber.on("message", (channel: string, message: string) => {
        for (const listener of listeners.get(channel) ?? []) listener(message)
      })
      // what was asked for while there was no connection; ioredis itself renews what it had
      subscriber.on("ready", () => {
        if (listeners.size > 0) subscriber.subscribe(...listeners.keys()).catch(failed)
      })
      for (const each of [client, subscriber]) each.connect().catch(failed)

      yield* Effect.suspend(() => (offset === undefined ? Effect.void : measure)).pipe(
        Effect.ignore,
        Effect.delay(RESYNC_MILLIS),
        Effect.forever,
        Effect.forkScoped,
      )

      /**
       * A server that hangs, a connection that leads nowhere, a primary that became a replica: what follows fails at once until a
       * new connection stands.
       */
      const giveUp = (error: Error): void => {
        // of a cluster only one node may hang
        if (!LOST.test(error.message) || client instanceof Cluster || offset === undefined) return
        offset = undefined
        failed(error)
        client.disconnect(true)
      }
      const lost = (error: Error): StoreUnavailable => {
        giveUp(error)
        return unavailable(trouble(error).message, false)
      }
      const notConnected = (): StoreUnavailable => unavailable(complaint === "" ? "not connected" : complaint, true)

      const ready = (send: (done: Done) => unknown): Effect.Effect<unknown, StoreUnavailable> =>
        Effect.suspend(() => (offset === undefined ? Effect.fail(notConnected()) : Effect.mapError(ask(send), lost)))

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

      // whoever hears nothing in this time counts as away
      yield* Effect.timeoutOption(Deferred.await(first), CONNECT_TIMEOUT_MILLIS)
      Deferred.doneUnsafe(first, Effect.void)

      return Store.of({
        // one primitive for the whole: every admission waits for it
        run: (script, keys, args) =>
          Effect.callback<Reply, StoreUnavailable>((resume) => {
            if (offset === undefined) return resume(Effect.fail(notConnected()))
            run(script, keys, args, (error, reply) => {
              if (error) {
                resume(Effect.fail(lost(error)))
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
                if (subscriber.status === "ready") subscriber.unsubscribe(channel).catch(failed)
              }),
          ),
        ping: Effect.asVoid(ready((done) => client.call("PING", done))),
        now: Effect.sync(() => (offset === undefined ? clock.currentTimeMillisUnsafe() : steady() + offset)),
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
