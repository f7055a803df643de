/**
 * Until when a server may carry out a command. A gate gives a command up after `COMMAND_TIMEOUT_MILLIS`, but a network that holds
 * it back, or a server that stands still, may carry it out much later, when its caller was told long ago that it failed. So a rule that
 * would do harm then is sent with a deadline in the server's time, and does nothing when it arrives later (`Rule.expires`).
 *
 * The deadline follows the timer that ioredis starts for the command, which is this process's own and no `Clock`. It is never later
 * than that timer: the offset of the server's clock is measured by its lower bound.
 */
import { Effect } from "effect"
import { Cluster, type Redis } from "ioredis"
import { COMMAND_TIMEOUT_MILLIS } from "./client.ts"
import { sendCommand } from "./send.ts"
import { checkTime, millisOf } from "./time.ts"

/** The clocks do not drift apart by more than this between two measurements (ms). */
const MARGIN_MILLIS = 100
/** When the clocks of a Cluster's nodes differ by more than this (ms), its commands have no deadline: those for one node would always be late. */
const MAX_SKEW_MILLIS = 1_000

/** How a server's answer begins that did not carry out a rule, because it arrived after its deadline. */
export const EXPIRED = "EXPIRED"

export interface Deadlines {
  /** Measures the clocks of a Cluster's masters; does nothing for a single server, whose time comes through `measuring`. Never fails. */
  readonly measure: Effect.Effect<void>
  /** Passes on a single server's time as `ask` reads it, and measures with it. */
  readonly measuring: (ask: Effect.Effect<number, Error>) => Effect.Effect<number, Error>
  /** The deadline of a command that is sent now (ms since 1970 by the server's clock); undefined while that is unknown. */
  readonly next: () => number | undefined
}

/** A server's time minus this process's monotonic time (ms), or less: what it was at least when it was measured last. */
const measured = (known: number | undefined, time: number, sentAt: number): number => {
  const [earliest, latest] = [time - performance.now(), time - sentAt]
  return known === undefined || known < earliest || known > latest ? earliest : known
}

export const makeDeadlines = (client: Redis | Cluster): Deadlines => {
  let offset: number | undefined
  const next = (): number | undefined =>
    offset === undefined ? undefined : Math.floor(performance.now() + offset + COMMAND_TIMEOUT_MILLIS - MARGIN_MILLIS)

  if (!(client instanceof Cluster)) {
    const measuring: Deadlines["measuring"] = (ask) =>
      Effect.suspend(() => {
        const sentAt = performance.now()
        return Effect.tap(ask, (time) =>
          Effect.sync(() => {
            offset = measured(offset, time, sentAt)
          }),
        )
      })
    return { measure: Effect.void, measuring, next }
  }

  /** by node, since ioredis makes a new client for each that joins */
  const offsets = new WeakMap<Redis, number>()
  const measureNode = (node: Redis): Effect.Effect<ReadonlyArray<number>> =>
    Effect.suspend(() => {
      const sentAt = performance.now()
      return sendCommand((done) => node.call("TIME", checkTime(done))).pipe(
        Effect.map((reply) => {
          const found = measured(offsets.get(node), millisOf(reply), sentAt)
          offsets.set(node, found)
          return [found]
        }),
        Effect.orElseSucceed(() => {
          const known = offsets.get(node)
          return known === undefined ? [] : [known]
        }),
      )
    })
  const measure = Effect.suspend(() =>
    Effect.map(Effect.forEach(client.nodes("master"), measureNode, { concurrency: "unbounded" }), (found) => {
      const all = found.flat()
      const slowest = Math.min(...all)
      offset = all.length === 0 || Math.max(...all) - slowest > MAX_SKEW_MILLIS ? undefined : slowest
    }),
  )
  return { measure, measuring: (ask) => ask, next }
}
