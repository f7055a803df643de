/**
 * What a soak consists of: the gate's settings, how many callers come when, and what each of them and the platform does.
 * All of it follows from the seed; only time itself does not.
 */
import { Chance, keyed } from "../../test/simulation/chance.ts"

export const SLOTS = 50
/** of slots and scarce places, a network's most while others wait: heavy callers are of one network, and meet it */
export const NETWORK_SHARE = 0.25
/** Longer than any wait of these callers for themselves, so that a busy machine does not make them late. */
export const GRACE_SECONDS = 8
export const WINDOW_SECONDS = 8
/** Longer than every call, and than it takes the gate to ask after a session (3 to 4 minutes). */
export const MAX_CALL_MINUTES = 5
/** The peaks reach it. */
export const QUEUE_MAX = 120
/** What a regular caller needs who misses a turn now and then, which costs three units; the heavy ones ask ten times as often. */
export const HOURLY = 30
export const DAILY = 60
export const CONCURRENT = 3

/** Callers a second who about fill the slots: a call holds one for some 5 s, and not every caller takes one. */
const CAPACITY = 9.5
/** The rate swings between 0.7 and 1.3 times that. */
const SWING = 0.3

/** Callers a second at a moment of a run of so many minutes: five swings, or as many as keep one below four minutes. */
export const rateAt = (millis: number, minutes: number): number => {
  const period = Math.min(4, minutes / 5) * 60_000
  return CAPACITY * (1 + SWING * Math.sin((2 * Math.PI * millis) / period))
}

export type Transport = "socket" | "events" | "poll" | "hub"
/**
 * What a caller in the queue does: waits and starts; gives the place up; goes without a word; comes back by the ticket on
 * the other gate; starts too late; never starts; or hangs up while the request is under way.
 */
export type Mood = "patient" | "leaves" | "vanishes" | "moves" | "late" | "never" | "hangs-up"

export interface Caller {
  readonly id: number
  readonly address: string
  /** `heavy` ones call far more often than allowed, `vpn` ones are to be refused */
  readonly kind: "regular" | "heavy" | "vpn"
  readonly gate: 0 | 1
  readonly transport: Transport
  readonly mood: Mood
  /** when a mood other than patience takes over, after having been queued */
  readonly patienceMillis: number
  /** from the start call to the start */
  readonly reactionMillis: number
  /** stays connected until the call has ended */
  readonly lingers: boolean
  /** uses a connection that lasts, as behind a proxy */
  readonly keepsAlive: boolean
  /** starts over its WebSocket where it has one */
  readonly startsBySocket: boolean
}

/** So many addresses take turns: each calls about 15 times an hour, and never twice within three minutes. */
export const REGULARS = 2_500
const HEAVIES = 8
const VPNS = 20

/** Every fourth one has IPv6. All are public, since others are not looked up. */
export const regularAddress = (index: number): string =>
  index % 4 === 3
    ? `2606:4700:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::7`
    : `45.${10 + (index >> 8)}.${index & 255}.9`
export const isVpn = (address: string): boolean => address.startsWith("185.220.101.")

/** The first of these whose share of `whole` is drawn. */
const drawn = <A>(chance: Chance, whole: number, shares: ReadonlyArray<readonly [number, A]>, otherwise: A): A => {
  let left = chance.below(whole)
  for (const [share, what] of shares) {
    left -= share
    if (left < 0) return what
  }
  return otherwise
}

const MOODS: ReadonlyArray<readonly [number, Mood]> = [
  [4, "leaves"],
  [4, "vanishes"],
  [4, "moves"],
  [2, "late"],
  [1, "never"],
  [1, "hangs-up"],
]

export const callerOf = (seed: number, id: number): Caller => {
  const chance = new Chance(keyed(seed, `caller ${id}`))
  const kind = drawn<Caller["kind"]>(chance, 100, [[6, "heavy"], [1, "vpn"]], "regular") // biome-ignore format: a table
  const address =
    kind === "regular"
      ? regularAddress(id % REGULARS)
      : kind === "heavy"
        ? `51.15.0.${chance.between(1, HEAVIES)}`
        : `185.220.101.${chance.between(1, VPNS)}`
  const transport = drawn<Transport>(chance, 100, [[15, "events"], [15, "poll"], [10, "hub"]], "socket") // biome-ignore format: a table
  const mood = drawn<Mood>(chance, 100, MOODS, "patient")
  return {
    id,
    address,
    kind,
    gate: chance.percent(50) ? 0 : 1,
    transport,
    // the hub starts by itself, so its callers are never late; and whoever leaves the queue is given a call back, which would
    // make it hard to say how many calls a heavy caller may have
    mood:
      (transport === "hub" && (mood === "late" || mood === "never")) || (kind === "heavy" && mood === "leaves")
        ? "patient"
        : mood,
    patienceMillis: chance.between(300, 12_000),
    reactionMillis: chance.between(50, 1_500),
    lingers: chance.percent(30),
    keepsAlive: chance.percent(50),
    startsBySocket: chance.percent(50),
  }
}

/**
 * What the platform makes of a start: a session, at once or slowly; all slots taken; a refusal; not now, so that the caller is
 * called again; a session whose answer is lost, so that its slot is held in doubt and the caller is called again; or one that is
 * over before its answer.
 */
export type Outcome = "session" | "slow" | "capacity" | "refused" | "unavailable" | "ghost" | "early"
/** How the end is told: once, twice at both gates, seconds later, or not; then the gate may ask, or is told nothing. */
export type Ending = "told" | "repeated" | "late" | "lost" | "silent"

export interface Start {
  readonly outcome: Outcome
  readonly delayMillis: number
  readonly talkMillis: number
  readonly ending: Ending
  readonly lateMillis: number
  readonly gate: 0 | 1
}

/** `attempt` counts the starts for one caller. In a `calm` time no end is lost. */
export const startOf = (seed: number, caller: number, attempt: number, calm: boolean): Start => {
  const chance = new Chance(keyed(seed, `start ${caller} ${attempt}`))
  const outcome = drawn<Outcome>(
    chance,
    1_000,
    [
      [10, "capacity"],
      [5, "refused"],
      [5, "unavailable"],
      [3, "ghost"],
      [3, "early"],
      [10, "slow"],
    ],
    "session",
  )
  const ending = drawn<Ending>(
    chance,
    2_000,
    [
      [2, "lost"],
      [1, "silent"],
      [40, "repeated"],
      [40, "late"],
    ],
    "told",
  )
  return {
    outcome,
    delayMillis: outcome === "slow" ? chance.between(1_000, 4_000) : chance.between(5, 60),
    talkMillis: chance.between(1_000, 8_000),
    ending: calm && (ending === "lost" || ending === "silent") ? "told" : ending,
    lateMillis: chance.between(1_000, 5_000),
    gate: chance.percent(50) ? 0 : 1,
  }
}
