/**
 * Follows failovers by the Sentinels' announcements. In a planned failover the old master stays a master for about ten seconds
 * after its replica was promoted, and every write that it acknowledges in that time is lost. So writes stop just before the
 * promotion, until its result is known, and then go to the new master.
 *
 * Subscribes to every Sentinel of the connection string, because only the one that leads the failover announces its start.
 */
import { Effect, Redacted, type Scope } from "effect"
import { Redis } from "ioredis"
import type { HostPort, RedisConnection } from "../connection-string.ts"
import { COMMAND_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS, listenerRetryDelay } from "./client.ts"
import { nameOf } from "./hosts.ts"
import { describeProblem } from "./problems.ts"
import { onStreamError, sentinelTlsOptions } from "./tls.ts"

type Sentinels = Extract<RedisConnection, { readonly kind: "sentinel" }>

/** Writes resume after this time when a promotion is neither confirmed nor aborted (ms). It usually takes a second. */
const PROMOTION_MILLIS = 5_000

/** A Sentinel may still report the old master for this long (ms). */
const STALE_SENTINEL_MILLIS = 10_000

/** The delay before a Sentinel that refused the subscription is tried again (ms). */
const RESUBSCRIBE_MILLIS = 2_000

/** Channels of a Sentinel: https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#pubsub-messages */
const ANNOUNCEMENTS = {
  /** The Sentinel will promote the replica within 100 ms. */
  started: "+failover-state-send-slaveof-noone",
  /** The replica reports that it is the master. */
  promoted: "+promoted-slave",
  /** The replica did not report it in time. */
  abandoned: "-failover-abort-slave-timeout",
  /** The failover is complete; every Sentinel announces this. */
  switched: "+switch-master",
} as const

/** The result of a failover. */
interface Switch {
  readonly master: string
  readonly from: HostPort
  readonly to: HostPort
}

const hostOf = (host = "", port = ""): HostPort => ({ host, port: Number(port) })

/** The form in which ioredis passes an address to `redirect`. */
const addressOf = ({ host, port }: HostPort): string => `${host}:${port}`

/** `slave <name> <new host> <new port> @ <master> <old host> <old port>` */
const readPromotion = (text: string): Switch => {
  const [, , host, port, , master = "", oldHost, oldPort] = text.split(" ")
  return { master, from: hostOf(oldHost, oldPort), to: hostOf(host, port) }
}

/** `<master> <old host> <old port> <new host> <new port>` */
const readSwitched = (text: string): Switch => {
  const [master = "", oldHost, oldPort, host, port] = text.split(" ")
  return { master, from: hostOf(oldHost, oldPort), to: hostOf(host, port) }
}

/** Callbacks for a failover of the connection's own master. */
export interface FailoverHandlers {
  /** A replica is being promoted: writes that the current master acknowledges from now on may be lost. */
  readonly onBegin: () => void
  /** The promotion succeeded or was aborted. */
  readonly onEnd: () => void
  /** There is a new master. Called once for each, before `onEnd`. */
  readonly onSwitch: () => void
}

export interface Failovers {
  /** The new master when a Sentinel reports this outdated address (`host:port`), else null. */
  readonly redirect: (address: string) => HostPort | null
  /** Subscribes to the Sentinels until the scope closes. */
  readonly listen: (handlers: FailoverHandlers) => Effect.Effect<void, never, Scope.Scope>
}

export const makeFailovers = (connection: Sentinels): Failovers => {
  const describe = describeProblem(connection)
  /** the master's address as a Sentinel last reported it */
  let master: string | undefined
  /** the last failover, while a Sentinel may still report the old master */
  let recent: { readonly from: string; readonly to: HostPort } | undefined

  const listen: Failovers["listen"] = Effect.fnUntraced(function* (handlers) {
    const scope = yield* Effect.scope
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const later = (millis: number, work: () => void): void => {
      run(Effect.forkIn(Effect.delay(Effect.sync(work), millis), scope))
    }
    let closing = false
    /** counts promotions, so that the timeout of an earlier one does not end a later one */
    let promotions = 0

    const begin = (): void => {
      const promotion = ++promotions
      handlers.onBegin()
      later(PROMOTION_MILLIS, () => {
        if (promotion === promotions) handlers.onEnd()
      })
    }

    const end = (): void => {
      promotions++
      handlers.onEnd()
    }

    const switchTo = ({ from, to }: Switch): void => {
      if (master !== addressOf(to)) {
        master = addressOf(to)
        const failover = { from: addressOf(from), to }
        recent = failover
        later(STALE_SENTINEL_MILLIS, () => {
          if (recent === failover) recent = undefined
        })
        handlers.onSwitch()
      }
      end()
    }

    const onMessage = (channel: string, text: string): void => {
      if (channel === ANNOUNCEMENTS.switched || channel === ANNOUNCEMENTS.promoted) {
        const found = channel === ANNOUNCEMENTS.switched ? readSwitched(text) : readPromotion(text)
        if (found.master === connection.master) switchTo(found)
      } else if (channel === ANNOUNCEMENTS.started) {
        if (readPromotion(text).master === connection.master) begin()
      } else if (text.startsWith(`master ${connection.master} `)) {
        end()
      }
    }

    /** The answer reveals a failover that was announced while there was no subscription. */
    const onAddress = (answer: unknown): void => {
      if (!Array.isArray(answer)) return
      const address = addressOf(hostOf(String(answer[0]), String(answer[1])))
      const known = master
      master = address
      if (known !== undefined && known !== address) handlers.onSwitch()
    }

    const follow = (sentinel: HostPort): Redis => {
      const client = new Redis({
        ...sentinel,
        ...(connection.sentinelUsername === undefined ? {} : { username: connection.sentinelUsername }),
        ...(connection.sentinelPassword === undefined ? {} : { password: Redacted.value(connection.sentinelPassword) }),
        ...(connection.tls ? { tls: { ...sentinelTlsOptions(connection) } } : {}),
        connectTimeout: CONNECT_TIMEOUT_MILLIS,
        commandTimeout: COMMAND_TIMEOUT_MILLIS,
        enableOfflineQueue: false,
        enableReadyCheck: false,
        disableClientInfo: true,
        autoResubscribe: false,
        lazyConnect: true,
        retryStrategy: listenerRetryDelay,
      })
      let warned = false
      const failed = (error: unknown): void => {
        if (closing || warned) return
        warned = true
        run(
          Effect.logWarning(
            `Cannot subscribe to the Sentinel ${nameOf(sentinel)} (${describe(error).message}); a failover that it leads may be noticed late. The gate keeps trying.`,
          ),
        )
      }
      client.on("error", failed)
      onStreamError(client, failed)
      client.on("message", onMessage)
      client.on("ready", () => {
        // sent together, so that no announcement in between is missed
        Promise.all([
          client.call("SENTINEL", "get-master-addr-by-name", connection.master).then(onAddress),
          client.subscribe(...Object.values(ANNOUNCEMENTS)),
        ]).then(
          () => {
            warned = false
          },
          (error: unknown) => {
            failed(error)
            later(RESUBSCRIBE_MILLIS, () => client.disconnect(true))
          },
        )
      })
      client.connect().catch(failed)
      return client
    }

    for (const sentinel of connection.sentinels) {
      yield* Effect.acquireRelease(
        Effect.sync(() => follow(sentinel)),
        (client) =>
          Effect.sync(() => {
            closing = true
            client.disconnect()
          }),
      )
    }
  })

  return { redirect: (address) => (address === recent?.from ? recent.to : null), listen }
}
