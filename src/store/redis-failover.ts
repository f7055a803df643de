/**
 * Follows failovers behind Sentinels as the Sentinels announce them. In a planned failover the old master stays a master for some
 * ten seconds after its replica was promoted, and whatever it acknowledges in that time is lost. Therefore nothing may be written
 * from just before the promotion until it is known, and everything goes to the new master after that.
 *
 * Every Sentinel of the connection string is listened to: only the one that leads the failover says that it begins.
 */
import { Effect, Redacted, type Scope } from "effect"
import { Redis } from "ioredis"
import type { HostPort, RedisConnection } from "../settings/connection-string.ts"
import { COMMAND_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS, retryDelay } from "./redis-client.ts"
import { nameOf } from "./redis-hosts.ts"
import { troubleOf } from "./redis-trouble.ts"

type Sentinels = Extract<RedisConnection, { readonly kind: "sentinel" }>

/** A promotion that is neither confirmed nor given up after this time is waited for no longer. It usually takes a second. */
const PROMOTION_MILLIS = 5_000

/** A Sentinel may name the old master for a moment longer; after this time all of them know the new one. */
const SETTLED_MILLIS = 10_000

/** How soon a Sentinel that refuses to be listened to is tried again. */
const LISTEN_AGAIN_MILLIS = 2_000

/** What a Sentinel says about a master: https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#pubsub-messages */
const ANNOUNCEMENTS = {
  /** The replica is told within 100 ms that it is the master. */
  begins: "+failover-state-send-slaveof-noone",
  /** It says that it is. */
  promoted: "+promoted-slave",
  /** It did not say so. */
  abandoned: "-failover-abort-slave-timeout",
  /** The failover is over, as each Sentinel hears. */
  switched: "+switch-master",
} as const

/** Where a failover leads. */
interface Switch {
  readonly master: string
  readonly from: HostPort
  readonly to: HostPort
}

const hostOf = (host = "", port = ""): HostPort => ({ host, port: Number(port) })

/** As ioredis names it to `redirect`. */
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

/** What is to be done about a failover of the connection's own master. */
export interface FailoverHandlers {
  /** A replica is being promoted: what the present master acknowledges from now on may be lost. */
  readonly onBegin: () => void
  /** That is over, or has come to nothing. */
  readonly onEnd: () => void
  /** There is a new master. It is called once for each, before `onEnd`. */
  readonly onSwitch: () => void
}

export interface Failovers {
  /** Where to go when a Sentinel names this address (`host:port`) as the master's: elsewhere when that is known to be outdated. */
  readonly redirect: (address: string) => HostPort | null
  /** Listens to the Sentinels until the scope closes. */
  readonly listen: (handlers: FailoverHandlers) => Effect.Effect<void, never, Scope.Scope>
}

/** Makes what follows the failovers of this connection's master. */
export const makeFailovers = (connection: Sentinels): Failovers => {
  const trouble = troubleOf(connection)
  /** the master's address as a Sentinel said it last */
  let master: string | undefined
  /** the last failover, for as long as a Sentinel may not know of it */
  let recent: { readonly from: string; readonly to: HostPort } | undefined

  const listen: Failovers["listen"] = Effect.fnUntraced(function* (handlers) {
    const scope = yield* Effect.scope
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const later = (millis: number, work: () => void): void => {
      run(Effect.forkIn(Effect.delay(Effect.sync(work), millis), scope))
    }
    let closing = false
    /** counts promotions, so that the end of the time of an earlier one does not end a later one */
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
        later(SETTLED_MILLIS, () => {
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
      } else if (channel === ANNOUNCEMENTS.begins) {
        if (readPromotion(text).master === connection.master) begin()
      } else if (text.startsWith(`master ${connection.master} `)) {
        end()
      }
    }

    /** What was announced while nobody listened shows in the answer. */
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
        ...(connection.sentinelPassword === undefined ? {} : { password: Redacted.value(connection.sentinelPassword) }),
        ...(connection.tls ? { tls: {} } : {}),
        connectTimeout: CONNECT_TIMEOUT_MILLIS,
        commandTimeout: COMMAND_TIMEOUT_MILLIS,
        enableOfflineQueue: false,
        enableReadyCheck: false,
        disableClientInfo: true,
        autoResubscribe: false,
        lazyConnect: true,
        retryStrategy: retryDelay,
      })
      let complained = false
      const failed = (error: unknown): void => {
        if (closing || complained) return
        complained = true
        run(
          Effect.logWarning(
            `The Sentinel ${nameOf(sentinel)} cannot be listened to (${trouble(error).message}); a failover that it leads may be noticed late. Trying again until it can.`,
          ),
        )
      }
      client.on("error", failed)
      client.on("message", onMessage)
      client.on("ready", () => {
        // sent together, so that nothing is announced in between
        Promise.all([
          client.call("SENTINEL", "get-master-addr-by-name", connection.master).then(onAddress),
          client.subscribe(...Object.values(ANNOUNCEMENTS)),
        ]).then(
          () => {
            complained = false
          },
          (error: unknown) => {
            failed(error)
            later(LISTEN_AGAIN_MILLIS, () => client.disconnect(true))
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
