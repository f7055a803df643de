/**
 * The connection on which an instance receives what the others publish. It reconnects when the connection closes, and also when
 * nothing arrives any more (`subscription-probe.ts`): a network that drops packets, a server that closed without notice, or one that is no
 * longer the primary does not close the connection.
 *
 * Messages published in between are lost. Subscribers are notified (`onGap`) when the subscription is restored.
 */
import { randomBytes } from "node:crypto"
import { Deferred, Effect, Metric, type Scope } from "effect"
import type { Redis } from "ioredis"
import type { Store } from "../Store.ts"
import { listenerRetryDelay } from "./client.ts"
import { isReplyError } from "./send.ts"
import { makeProbe } from "./subscription-probe.ts"
import { onStreamError } from "./tls.ts"

/** Prefix of the channel that only this instance uses; random characters follow. */
export const OWN_CHANNEL = "vg:listens:"

const silenceCounter = Metric.counter("voicegate_listener_silent_total", {
  description: "How often messages of other instances stopped arriving, so that the connection was replaced",
  incremental: true,
})

export interface Listener {
  readonly subscribe: Store["Service"]["subscribe"]
  /** Replaces the connection; the new one leads to the current primary. */
  readonly renew: () => void
  /** Whether published messages arrive, as far as known. */
  readonly isReceiving: () => boolean
  /** Waits until the server has accepted the first subscription; fails with its error if it refuses it. */
  readonly subscribed: Effect.Effect<void, Error>
}

export interface ListenerOptions {
  /** Creates a client, which connects on `connect` and does not reconnect. */
  readonly open: () => Redis
  /** Publishes on another connection; returns the number of receivers at its server, or undefined when other servers may have some. */
  readonly publish: (channel: string, message: string) => Effect.Effect<number | undefined, unknown>
  readonly onError: (error: unknown) => void
  /** begins the name of each channel at the server; `publish` adds it too */
  readonly prefix?: string
}

interface Subscription {
  readonly onMessage: (message: string) => void
  readonly onGap: () => void
  /** it was confirmed before */
  established: boolean
}

export const makeListener = Effect.fnUntraced(function* ({
  onError,
  open,
  prefix = "",
  publish,
}: ListenerOptions): Effect.fn.Return<Listener, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const ownChannel = OWN_CHANNEL + randomBytes(6).toString("base64url")
  const subscriptions = new Map<string, Set<Subscription>>()
  /** the current connection; events of earlier ones are ignored */
  let current: Redis | undefined
  /** whether the server has confirmed the subscription on it */
  let confirmed = false
  /** connections that ended since the last message */
  let attempts = 0
  let receiving = true
  let closed = false
  const first = Deferred.makeUnsafe<void, Error>()

  const subscribed = (channel: string): void => {
    for (const each of subscriptions.get(channel) ?? []) {
      if (each.established) each.onGap()
      each.established = true
    }
  }
  /** Reconnects after a refusal or without an answer. Never rejects. */
  const subscribeTo = (client: Redis, channels: ReadonlyArray<string>): Promise<void> =>
    client.subscribe(...channels.map((channel) => prefix + channel)).then(
      () => {
        if (current !== client) return
        confirmed = true
        Deferred.doneUnsafe(first, Effect.void)
        for (const channel of channels) subscribed(channel)
      },
      (error: unknown) => {
        if (current !== client) return
        onError(error)
        if (error instanceof Error && isReplyError(error)) Deferred.doneUnsafe(first, Effect.fail(error))
        reconnectLater()
      },
    )

  const connect = (): void => {
    if (closed) return
    const client = open()
    current = client
    confirmed = false
    client.on("error", (error) => {
      if (current === client) onError(error)
    })
    onStreamError(client, () => {})
    client.on("message", (name: string, message: string) => {
      if (current !== client) return
      const channel = name.slice(prefix.length)
      if (channel === ownChannel) {
        attempts = 0
        probe.received(message)
      } else {
        for (const { onMessage } of subscriptions.get(channel) ?? []) onMessage(message)
      }
    })
    client.on("ready", () => {
      if (current === client) void subscribeTo(client, [ownChannel, ...subscriptions.keys()])
    })
    client.on("end", () => {
      if (current === client) reconnectLater()
    })
    client.connect().catch(() => {
      // handled by the "error" and "end" events
    })
  }
  const disconnect = (): void => {
    const client = current
    current = undefined
    confirmed = false
    client?.disconnect()
  }
  const renew = (): void => {
    disconnect()
    connect()
  }
  const reconnectLater = (): void => {
    disconnect()
    const pause = Effect.sync(() => {
      if (current === undefined) connect()
    })
    run(Effect.forkIn(Effect.delay(pause, listenerRetryDelay(attempts++)), scope))
  }

  const probe = makeProbe({
    connection: () => (confirmed ? current : undefined),
    publish: (message) => Effect.map(publish(ownChannel, message), (receivers) => receivers !== 0 || !confirmed),
    renew: Effect.sync(renew),
    onChange: (now) => {
      receiving = now
      return now
        ? Effect.logInfo("Messages of other instances arrive again.")
        : Effect.andThen(
            Metric.update(silenceCounter, 1),
            Effect.logWarning(
              "Messages of other instances do not arrive; start calls are up to 2 s late. The gate reconnects until the messages arrive.",
            ),
          )
    },
  })

  connect()
  // so that /metrics shows it from the start
  yield* Metric.value(silenceCounter)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      disconnect()
    }),
  )
  yield* Effect.forkScoped(probe.run)

  return {
    renew,
    isReceiving: () => receiving,
    subscribed: Deferred.await(first),
    subscribe: (channel, onMessage, onGap = () => {}) =>
      Effect.acquireRelease(
        Effect.promise(async () => {
          const subscription: Subscription = { onMessage, onGap, established: false }
          const set = subscriptions.get(channel) ?? new Set()
          subscriptions.set(channel, set.add(subscription))
          if (current?.status === "ready") await subscribeTo(current, [channel])
          return subscription
        }),
        (subscription) =>
          Effect.sync(() => {
            const set = subscriptions.get(channel)
            set?.delete(subscription)
            if (set?.size !== 0) return
            subscriptions.delete(channel)
            if (current?.status === "ready") current.unsubscribe(prefix + channel).catch(() => {})
          }),
      ).pipe(Effect.asVoid),
  }
})
