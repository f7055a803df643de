/**
 * The connection on which an instance hears what the others publish. It is made anew whenever it ends, and also when nothing
 * arrives on it any more (`probe.ts`): a path that swallows packets, a server that closed it and could not say so, or one that
 * is no longer the primary closes nothing.
 *
 * What was published in between is lost. Whoever listens is told when the subscription stands again.
 */
import { randomBytes } from "node:crypto"
import { Effect, Metric, type Scope } from "effect"
import type { Redis } from "ioredis"
import type { Store } from "../Store.ts"
import { makeProbe } from "./probe.ts"
import { retryDelay } from "./redis-client.ts"

/** The channel that this instance alone listens to and publishes to, followed by random characters. */
export const OWN_CHANNEL = "vg:listens:"

const silences = Metric.counter("voicegate_listener_silent_total", {
  description: "How often nothing that instances publish arrived any more, so that the connection was made anew",
  incremental: true,
})

export interface Listener {
  readonly subscribe: Store["Service"]["subscribe"]
  /** Makes the connection anew, to whichever server is the primary by then. */
  readonly renew: () => void
  /** What is published arrives, as far as is known. */
  readonly hears: () => boolean
}

export interface ListenerOptions {
  /** Makes a client, which connects when told to, and once. */
  readonly open: () => Redis
  /** Publishes on another connection; answers how many at its server hear it, or undefined where others may. */
  readonly publish: (channel: string, message: string) => Effect.Effect<number | undefined, unknown>
  readonly failed: (error: unknown) => void
}

interface Subscription {
  readonly onMessage: (message: string) => void
  readonly onGap: () => void
  /** it has stood before */
  stood: boolean
}

export const makeListener = Effect.fnUntraced(function* ({
  failed,
  open,
  publish,
}: ListenerOptions): Effect.fn.Return<Listener, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const own = OWN_CHANNEL + randomBytes(6).toString("base64url")
  const subscriptions = new Map<string, Set<Subscription>>()
  /** the one connection that counts: what is heard of an earlier one is over */
  let current: Redis | undefined
  /** the server has confirmed the subscription on it */
  let stands = false
  /** connections that ended since something was heard last */
  let attempts = 0
  let hears = true
  let closed = false

  const subscribed = (channel: string): void => {
    for (const each of subscriptions.get(channel) ?? []) {
      if (each.stood) each.onGap()
      each.stood = true
    }
  }
  /** Asks for these channels; a refusal, or no answer, is a reason to begin again. Never rejects. */
  const ask = (client: Redis, channels: ReadonlyArray<string>): Promise<void> =>
    client.subscribe(...channels).then(
      () => {
        if (current !== client) return
        stands = true
        for (const channel of channels) subscribed(channel)
      },
      (error: unknown) => {
        if (current !== client) return
        failed(error)
        again()
      },
    )

  const connect = (): void => {
    if (closed) return
    const client = open()
    current = client
    stands = false
    client.on("error", (error) => {
      if (current === client) failed(error)
    })
    client.on("message", (channel: string, message: string) => {
      if (current !== client) return
      if (channel === own) {
        attempts = 0
        probe.heard(message)
      } else {
        for (const { onMessage } of subscriptions.get(channel) ?? []) onMessage(message)
      }
    })
    client.on("ready", () => {
      if (current === client) void ask(client, [own, ...subscriptions.keys()])
    })
    client.on("end", () => {
      if (current === client) again()
    })
    client.connect().catch(() => {
      // said by its "error" and "end"
    })
  }
  const leave = (): void => {
    const client = current
    current = undefined
    stands = false
    client?.disconnect()
  }
  const renew = (): void => {
    leave()
    connect()
  }
  const again = (): void => {
    leave()
    const pause = Effect.sync(() => {
      if (current === undefined) connect()
    })
    run(Effect.forkIn(Effect.delay(pause, retryDelay(attempts++)), scope))
  }

  const probe = makeProbe({
    publish: (message) => Effect.map(publish(own, message), (receivers) => receivers !== 0 || !stands),
    renew: Effect.sync(renew),
    changed: (now) => {
      hears = now
      return now
        ? Effect.logInfo("What other instances publish arrives again.")
        : Effect.andThen(
            Metric.update(silences, 1),
            Effect.logWarning(
              "What instances publish does not arrive here; waiting callers hear of their turn up to 2 s late. The connection for it is made anew until it does.",
            ),
          )
    },
  })

  connect()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      leave()
    }),
  )
  yield* Effect.forkScoped(probe.run)

  return {
    renew,
    hears: () => hears,
    subscribe: (channel, onMessage, onGap = () => {}) =>
      Effect.acquireRelease(
        Effect.promise(async () => {
          const subscription: Subscription = { onMessage, onGap, stood: false }
          const set = subscriptions.get(channel) ?? new Set()
          subscriptions.set(channel, set.add(subscription))
          if (current?.status === "ready") await ask(current, [channel])
          return subscription
        }),
        (subscription) =>
          Effect.sync(() => {
            const set = subscriptions.get(channel)
            set?.delete(subscription)
            if (set?.size !== 0) return
            subscriptions.delete(channel)
            if (current?.status === "ready") current.unsubscribe(channel).catch(() => {})
          }),
      ).pipe(Effect.asVoid),
  }
})
