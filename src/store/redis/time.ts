/** Reads the server's time by TIME. */
import { Effect } from "effect"
import { Cluster, type Redis } from "ioredis"
import type { Done } from "./batch.ts"
import { sendCommand } from "./send.ts"
import { PROBE_KEY } from "./verify.ts"

/** Reads the time of the node that has a key. */
const TIME_SCRIPT = "return redis.call('TIME')"

/** Milliseconds since 1970; NaN for any other reply. */
export const millisOf = (reply: unknown): number => {
  const [seconds, micros] = Array.isArray(reply) ? reply : []
  return Number(seconds) * 1000 + Number(micros) / 1000
}

/** Turns an invalid reply to TIME into a failure. */
export const checkTime =
  (done: Done): Done =>
  (error, reply) =>
    done(error ?? (Number.isFinite(millisOf(reply)) ? null : new Error("TIME: no time")), reply)

/** The server's time (ms since 1970). On a cluster always the same node's, so that all gates agree; any other's while that one is down. */
export const readServerTime = (client: Redis | Cluster): Effect.Effect<number, Error> => {
  const readTime = sendCommand((done) => client.call("TIME", checkTime(done)))
  return Effect.map(
    client instanceof Cluster
      ? Effect.catch(
          sendCommand((done) => client.eval(TIME_SCRIPT, 1, PROBE_KEY, checkTime(done))),
          () => readTime,
        )
      : readTime,
    millisOf,
  )
}
