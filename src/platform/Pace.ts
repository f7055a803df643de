/**
 * How much of this process checks of passwords may take, and how fast one address may guess. A check costs a third of a second
 * of a core (`Passwords.ts`), so checks are what a hostile caller would spend:
 *
 * - at most `AT_ONCE` run, at most one for each network (IPv4 /24, IPv6 /48), and networks take turns, so nobody waits for more
 *   than one check of each other network;
 * - an address waits longer after each wrong password, up to `LONGEST_DELAY_MILLIS`. Nobody is locked out: the right password is
 *   checked after that wait too, from that address and from every other;
 * - what waits is bounded for an address, a network, and all. Beyond that a check is refused (`Busy`), the newest of the network
 *   that has most of them waiting first.
 *
 * Counted in this process: several processes allow as many times more.
 */
import { Clock, Deferred, Effect, Schema, Semaphore } from "effect"
import { boundedCache } from "../bounded-cache.ts"

/** Checks that run together. */
export const AT_ONCE = 2
/** Wrong passwords of an address before it is slowed. */
export const FREE_TRIES = 3
/** The longest pause before the next check of an address, in milliseconds; the first is 1 s, each is twice the one before. */
export const LONGEST_DELAY_MILLIS = 5_000
/** An address without a wrong password for so long starts afresh. */
export const FORGOTTEN_MILLIS = 15 * 60_000
/** Checks of one address that run or wait. With `LONGEST_DELAY_MILLIS` the last of them is answered within about 16 s. */
export const PENDING_OF_ADDRESS = 3
const PENDING_OF_NETWORK = 12
/** Checks of all networks that only wait for their turn. */
const WAITING = 100
/** Addresses remembered; the ones that have not tried for longest make way. */
const ADDRESSES = 10_000

/** Who wants a password checked. */
export interface Guest {
  /** what is slowed after wrong passwords: an address, or a browser that is known */
  readonly lane: string
  /** what has at most one check running */
  readonly network: string
  /** a browser that has signed in to this account before: it goes first, and is never refused for what others do */
  readonly known: boolean
}

/** Too many checks wait; it may be tried again after so many seconds. */
export class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfterSeconds: Schema.Int }) {}

export interface Pace {
  /** Runs a check when it is its turn. It answers whether the password was right; a wrong one slows the lane. */
  readonly check: <E, R>(guest: Guest, right: Effect.Effect<boolean, E, R>) => Effect.Effect<boolean, E | Busy, R>
}

const busy = () => new Busy({ retryAfterSeconds: LONGEST_DELAY_MILLIS / 1000 })

/** The pause after so many wrong passwords, in milliseconds. */
export const delayAfter = (wrong: number): number =>
  wrong < FREE_TRIES ? 0 : Math.min(1_000 * 2 ** (wrong - FREE_TRIES), LONGEST_DELAY_MILLIS)

interface Lane {
  readonly oneByOne: Semaphore.Semaphore
  pending: number
  wrong: number
  lastWrongAt: number
}

interface Turn {
  readonly network: string
  readonly known: boolean
  readonly begin: Deferred.Deferred<void, Busy>
  state: "waiting" | "running" | "over"
}

/** Networks take turns; those of known browsers come before all. */
const makeTurns = () => {
  // In the order in which networks have their turn; no list is empty.
  const queues = { known: new Map<string, Array<Turn>>(), others: new Map<string, Array<Turn>>() }
  const running = new Set<string>()
  let waiting = 0

  const begin = (queue: Map<string, Array<Turn>>): void => {
    for (const [network, turns] of [...queue]) {
      if (running.size >= AT_ONCE) return
      const [turn, ...rest] = turns
      if (turn === undefined || running.has(network)) continue
      // Behind the other networks.
      queue.delete(network)
      if (rest.length > 0) queue.set(network, rest)
      if (!turn.known) waiting--
      running.add(network)
      turn.state = "running"
      Deferred.doneUnsafe(turn.begin, Effect.void)
    }
  }
  const dispatch = (): void => {
    begin(queues.known)
    begin(queues.others)
  }

  const remove = (turn: Turn): void => {
    const queue = turn.known ? queues.known : queues.others
    const rest = (queue.get(turn.network) ?? []).filter((each) => each !== turn)
    if (rest.length === 0) queue.delete(turn.network)
    else queue.set(turn.network, rest)
    if (!turn.known) waiting--
    turn.state = "over"
  }

  /** Whoever has most waiting makes room. */
  const makeRoom = (): void => {
    let longest: ReadonlyArray<Turn> = []
    for (const turns of queues.others.values()) if (turns.length >= longest.length) longest = turns
    const newest = longest.at(-1)
    if (newest === undefined) return
    remove(newest)
    Deferred.doneUnsafe(newest.begin, Effect.fail(busy()))
  }

  const join = ({ known, network }: Guest): Turn => {
    const turn: Turn = { network, known, begin: Deferred.makeUnsafe(), state: "waiting" }
    const queue = known ? queues.known : queues.others
    queue.set(network, [...(queue.get(network) ?? []), turn])
    if (!known) waiting++
    dispatch()
    if (waiting > WAITING) makeRoom()
    return turn
  }

  const leave = (turn: Turn): void => {
    if (turn.state === "waiting") remove(turn)
    else if (turn.state === "running") {
      turn.state = "over"
      running.delete(turn.network)
      // Behind the networks that came while it ran.
      for (const queue of [queues.known, queues.others]) {
        const rest = queue.get(turn.network)
        if (rest !== undefined && queue.delete(turn.network)) queue.set(turn.network, rest)
      }
    }
    dispatch()
  }

  return <A, E, R>(guest: Guest, work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Busy, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const turn = join(guest)
        return restore(Deferred.await(turn.begin)).pipe(
          // A check that has begun costs its core to the end, whether its caller still listens or not.
          Effect.andThen(work),
          Effect.ensuring(Effect.sync(() => leave(turn))),
        )
      }),
    )
}

export const makePace = (): Pace => {
  const lanes = boundedCache<Lane>(ADDRESSES)
  const networks = new Map<string, number>()
  const inTurn = makeTurns()

  const laneOf = (name: string, now: number): Lane => {
    const lane = lanes.get(name) ?? { oneByOne: Semaphore.makeUnsafe(1), pending: 0, wrong: 0, lastWrongAt: 0 }
    if (now - lane.lastWrongAt >= FORGOTTEN_MILLIS) lane.wrong = 0
    lanes.set(name, lane)
    return lane
  }
  const pend = (lane: Lane, network: string, by: 1 | -1): void => {
    lane.pending += by
    const left = (networks.get(network) ?? 0) + by
    if (left === 0) networks.delete(network)
    else networks.set(network, left)
  }

  return {
    check: Effect.fnUntraced(function* (guest, right) {
      const lane = laneOf(guest.lane, yield* Clock.currentTimeMillis)
      const crowded = !guest.known && (networks.get(guest.network) ?? 0) >= PENDING_OF_NETWORK
      if (crowded || lane.pending >= PENDING_OF_ADDRESS) return yield* busy()

      const counted = Effect.gen(function* () {
        const matches = yield* right
        if (!matches) {
          lane.wrong++
          lane.lastWrongAt = yield* Clock.currentTimeMillis
        }
        return matches
      })
      const paced = Effect.gen(function* () {
        const wait = lane.lastWrongAt + delayAfter(lane.wrong) - (yield* Clock.currentTimeMillis)
        if (wait > 0) yield* Effect.sleep(wait)
        return yield* inTurn(guest, counted)
      })
      return yield* Effect.acquireUseRelease(
        Effect.sync(() => pend(lane, guest.network, 1)),
        () => lane.oneByOne.withPermit(paced),
        () => Effect.sync(() => pend(lane, guest.network, -1)),
      )
    }),
  }
}
