/**
 * The shared store on Redis 6.2 or newer (single, Sentinel, Cluster) through ioredis: a verified connection (`connection.ts`),
 * the commands over it (`commands.ts`), and a connection for subscriptions (`listener.ts`).
 */
import { Effect, Layer } from "effect"
import { Cluster } from "ioredis"
import type { RedisConnection } from "../connection-string.ts"
import { Store } from "../Store.ts"
import { withSpans } from "../spans.ts"
import { COMMAND_TIMEOUT_MILLIS } from "./client.ts"
import { makeCommands } from "./commands.ts"
import { makeConnection } from "./connection.ts"
import { identify } from "./hosts.ts"
import { makeListener } from "./listener.ts"
import { refusalOf, type StoreRefused } from "./problems.ts"

/** The layer for a connection whose kind of servers is known. */
const connected = (settings: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  Layer.effect(
    Store,
    Effect.gen(function* () {
      const connection = yield* makeConnection(settings)
      const { check, get, ping, publish, run, set } = yield* makeCommands(connection, settings.keyPrefix)
      const listener = yield* makeListener({
        open: connection.openListener,
        ...(settings.keyPrefix === undefined ? {} : { prefix: settings.keyPrefix }),
        publish,
        onError: connection.onListenerError,
      })
      connection.onPrimaryChange(listener.renew)
      yield* connection.connected
      // a user may lack the permission for channels alone; a server that does not answer is waited for in the background
      if (connection.isOpen()) {
        yield* Effect.catch(Effect.timeoutOption(listener.subscribed, COMMAND_TIMEOUT_MILLIS), (error) => {
          const { message, refused } = connection.describe(error)
          return refused ? Effect.fail(refusalOf(message, settings)) : Effect.void
        })
      }

      return yield* withSpans({
        run,
        get,
        set,
        ping,
        crossSlot: !(connection.client instanceof Cluster),
        publish: (channel, message) => Effect.asVoid(publish(channel, message)),
        subscribe: listener.subscribe,
        listens: Effect.sync(listener.isReceiving),
        check,
        problem: Effect.sync(connection.problem),
        now: connection.now,
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
