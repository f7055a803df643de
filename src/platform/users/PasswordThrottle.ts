/**
 * Limits the CPU time of password checks and the rate of guesses per address. A check costs a third of a second of a core
 * (`Passwords.ts`), so an attacker could use them for denial of service:
 *
 * - at most `MAX_CONCURRENT_CHECKS` run, at most one per network (IPv4 /24, IPv6 /48), round-robin over networks, so a check
 *   waits for at most one check of each other network;
 * - an address waits longer after each wrong password, up to `MAX_DELAY_MILLIS`. Nobody is locked out: the right password is
 *   accepted after that delay, from that address and from any other;
 * - waiting checks are bounded per address, per network and in total. Beyond that a check is refused (`Busy`), first the newest
 *   of the network with the most waiting checks.
 *
 * Counted per process: several processes allow a multiple.
 */

import { Context, Deferred, Effect, Layer, Schema, Semaphore } from "effect"
import { monotonicMillis } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import { makeHeld } from "../../lib/held.ts"

export const MAX_CONCURRENT_CHECKS = 2
/** Wrong passwords from an address before it is delayed. */
export const FREE_ATTEMPTS = 3
/** The maximum delay before the next check of an address, in milliseconds; it starts at 1 s and doubles. */
export const MAX_DELAY_MILLIS = 5_000
/** After this time without a wrong password an address has no delay again, in milliseconds. */
export const RESET_MILLIS = 15 * 60_000
/** Limit of running and waiting checks per address. With `MAX_DELAY_MILLIS` the last one completes within about 16 s. */
export const MAX_PENDING_PER_ADDRESS = 3
const MAX_PENDING_PER_NETWORK = 12
/** Limit of checks of all networks that wait in the scheduler. */
const MAX_WAITING = 100
/** Limit of tracked addresses; the least recently used ones are evicted. */
const MAX_ADDRESSES = 10_000

export interface CheckSource {
  /** what is delayed after wrong passwords: an address, or a known browser */
  readonly lane: string
  /** at most one check per network runs */
  readonly network: string
  /** a browser that has signed in to this account before: it has priority, and is never refused because of other clients */
  readonly known: boolean
}

/** Too many checks are waiting. */
export class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfterSeconds: Schema.Int }) {}

export class PasswordThrottle extends Context.Service<
  PasswordThrottle,
  {
    /** Schedules and runs a check, which returns whether the password is right; a wrong one delays the lane. */
    readonly check: <E, R>(
      source: CheckSource,
      right: Effect.Effect<boolean, E, R>,
    ) => Effect.Effect<boolean, E | Busy, R>
  }
>()("voicegate/platform/PasswordThrottle") {}

const busy = () => new Busy({ retryAfterSeconds: MAX_DELAY_MILLIS / 1000 })

/** In milliseconds. */
export const delayAfter = (wrong: number): number =>
  wrong < FREE_ATTEMPTS ? 0 : Math.min(1_000 * 2 ** (wrong - FREE_ATTEMPTS), MAX_DELAY_MILLIS)

interface Lane {
  readonly oneByOne: Semaphore.Semaphore
  pending: number
  wrong: number
  lastWrongAt: number
}

interface QueuedCheck {
  readonly network: string
  readonly known: boolean
  readonly begin: Deferred.Deferred<void, Busy>
  state: "waiting" | "running" | "over"
}

/** Schedules checks round-robin over networks; known browsers have priority. */
const makeScheduler = () => {
  // Networks in round-robin order; no list is empty.
  const queues = { known: new Map<string, Array<QueuedCheck>>(), others: new Map<string, Array<QueuedCheck>>() }
  const running = new Set<string>()
  let waiting = 0

  const startNext = (queue: Map<string, Array<QueuedCheck>>): void => {
    for (const [network, turns] of [...queue]) {
      if (running.size >= MAX_CONCURRENT_CHECKS) return
      const [check, ...rest] = turns
      if (check === undefined || running.has(network)) continue
      // Move it behind the other networks.
      queue.delete(network)
      if (rest.length > 0) queue.set(network, rest)
      if (!check.known) waiting--
      running.add(network)
      check.state = "running"
      Deferred.doneUnsafe(check.begin, Effect.void)
    }
  }
  const dispatch = (): void => {
    startNext(queues.known)
    startNext(queues.others)
  }

  const remove = (check: QueuedCheck): void => {
    const queue = check.known ? queues.known : queues.others
    const rest = (queue.get(check.network) ?? []).filter((each) => each !== check)
    if (rest.length === 0) queue.delete(check.network)
    else queue.set(check.network, rest)
    if (!check.known) waiting--
    check.state = "over"
  }

  /** Refuses the newest check of the network with the most waiting ones. */
  const evictNewest = (): void => {
    let longest: ReadonlyArray<QueuedCheck> = []
    for (const turns of queues.others.values()) if (turns.length >= longest.length) longest = turns
    const newest = longest.at(-1)
    if (newest === undefined) return
    remove(newest)
    Deferred.doneUnsafe(newest.begin, Effect.fail(busy()))
  }

  const enqueue = ({ known, network }: CheckSource): QueuedCheck => {
    const check: QueuedCheck = { network, known, begin: Deferred.makeUnsafe(), state: "waiting" }
    const queue = known ? queues.known : queues.others
    queue.set(network, [...(queue.get(network) ?? []), check])
    if (!known) waiting++
    dispatch()
    if (waiting > MAX_WAITING) evictNewest()
    return check
  }

  const release = (check: QueuedCheck): void => {
    if (check.state === "waiting") remove(check)
    else if (check.state === "running") {
      check.state = "over"
      running.delete(check.network)
      // Move it behind the networks that were added while it ran.
      for (const queue of [queues.known, queues.others]) {
        const rest = queue.get(check.network)
        if (rest !== undefined && queue.delete(check.network)) queue.set(check.network, rest)
      }
    }
    dispatch()
  }

  return <A, E, R>(source: CheckSource, work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Busy, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const check = enqueue(source)
        return restore(Deferred.await(check.begin)).pipe(
          // A started check is not interruptible: it uses its core to the end even when its caller has disconnected.
          Effect.andThen(work),
          Effect.ensuring(Effect.sync(() => release(check))),
        )
      }),
    )
}

export const layer: Layer.Layer<PasswordThrottle> = Layer.sync(PasswordThrottle, () => {
  const lanes = boundedCache<Lane>(MAX_ADDRESSES)
  const networks = makeHeld()
  const schedule = makeScheduler()

  const laneOf = (name: string, now: number): Lane => {
    const lane = lanes.get(name) ?? {
      oneByOne: Semaphore.makeUnsafe(1),
      pending: 0,
      wrong: 0,
      lastWrongAt: Number.NEGATIVE_INFINITY,
    }
    if (now - lane.lastWrongAt >= RESET_MILLIS) lane.wrong = 0
    lanes.set(name, lane)
    return lane
  }
  return PasswordThrottle.of({
    check: Effect.fnUntraced(function* (source, right) {
      const lane = laneOf(source.lane, yield* monotonicMillis)
      const crowded = !source.known && networks.of(source.network) >= MAX_PENDING_PER_NETWORK
      if (crowded || lane.pending >= MAX_PENDING_PER_ADDRESS) return yield* busy()

      const checkAndCount = Effect.gen(function* () {
        const matches = yield* right
        if (!matches) {
          lane.wrong++
          lane.lastWrongAt = yield* monotonicMillis
        }
        return matches
      })
      const delayedCheck = Effect.gen(function* () {
        const wait = lane.lastWrongAt + delayAfter(lane.wrong) - (yield* monotonicMillis)
        if (wait > 0) yield* Effect.sleep(wait)
        return yield* schedule(source, checkAndCount)
      })
      return yield* Effect.acquireUseRelease(
        Effect.sync(() => {
          lane.pending++
          networks.acquire(source.network)
        }),
        () => lane.oneByOne.withPermit(delayedCheck),
        () =>
          Effect.sync(() => {
            lane.pending--
            networks.release(source.network)
          }),
      )
    }),
  })
})
