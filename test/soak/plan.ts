/**
 * The plan of a soak: the gate's settings, the rate of callers over time, and the behaviour of each caller and of the platform.
 * The seed determines everything except timing.
 */
import { Chance, keyed } from "../harness/chance.ts"

export const SLOTS = 50
/** a network's share of slots and scarce places while others wait: heavy callers are in one network and reach it */
export const NETWORK_SHARE = 0.25
/** Longer than these callers ever pause, so that a busy machine does not make them late. */
export const GRACE_SECONDS = 8
export const WINDOW_SECONDS = 8
/** Longer than every call, and than the time until the gate checks a session (3 to 4 minutes). */
export const MAX_CALL_MINUTES = 5
/** Peaks of the load reach it. */
export const QUEUE_MAX = 120
/** Enough for a regular caller who occasionally misses a turn, which costs three units; heavy callers call ten times as often. */
export const HOURLY = 30
export const DAILY = 60
export const CONCURRENT = 3

/** Callers per second that approximately fill the slots: a call takes about 5 s, and not every caller starts one. */
const CAPACITY = 9.5
/** The rate swings between 0.7 and 1.3 times that. */
const SWING = 0.3

/** Callers per second at a time of a run: five periods, or more so that a period is at most four minutes. */
export const rateAt = (millis: number, minutes: number): number => {
  const period = Math.min(4, minutes / 5) * 60_000
  return CAPACITY * (1 + SWING * Math.sin((2 * Math.PI * millis) / period))
}

export type Transport = "socket" | "events" | "poll" | "hub"
/**
 * The behaviour of a caller in the queue: waits and starts; leaves; disconnects; reconnects with the ticket to the other gate; starts
 * too late; never starts; or disconnects during the request.
 */
export type Mood = "patient" | "leaves" | "vanishes" | "moves" | "late" | "never" | "hangs-up"

export interface Caller {
  readonly id: number
  readonly address: string
  /** `heavy` callers call far more often than allowed, `vpn` callers must be refused */
  readonly kind: "regular" | "heavy" | "vpn"
  readonly gate: 0 | 1
  readonly transport: Transport
  readonly mood: Mood
  /** how long after being queued a mood other than `patient` acts */
  readonly patienceMillis: number
  /** the delay from the start call to the start */
  readonly reactionMillis: number
  /** stays connected until the call has ended */
  readonly lingers: boolean
  /** uses a kept-alive connection, as behind a proxy */
  readonly keepsAlive: boolean
  /** starts over its WebSocket if it has one */
  readonly startsBySocket: boolean
}

/** The number of regular addresses: each calls about 15 times an hour, and never twice within three minutes. */
export const REGULARS = 2_500
const HEAVIES = 8
const VPNS = 20

/** Every fourth address is IPv6. All are public, because others are not looked up. */
export const regularAddress = (index: number): string =>
  index % 4 === 3
    ? `2606:4700:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::7`
    : `45.${10 + (index >> 8)}.${index & 255}.9`
export const isVpn = (address: string): boolean => address.startsWith("185.220.101.")

/** Draws one of these according to its share of `whole`. */
const draw = <A>(chance: Chance, whole: number, shares: ReadonlyArray<readonly [number, A]>, fallback: A): A => {
  let left = chance.below(whole)
  for (const [share, what] of shares) {
    left -= share
    if (left < 0) return what
  }
  return fallback
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
  const kind = draw<Caller["kind"]>(chance, 100, [[6, "heavy"], [1, "vpn"]], "regular") // biome-ignore format: a table
  const address =
    kind === "regular"
      ? regularAddress(id % REGULARS)
      : kind === "heavy"
        ? `51.15.0.${chance.between(1, HEAVIES)}`
        : `185.220.101.${chance.between(1, VPNS)}`
  const transport = draw<Transport>(chance, 100, [[15, "events"], [15, "poll"], [10, "hub"]], "socket") // biome-ignore format: a table
  const mood = draw<Mood>(chance, 100, MOODS, "patient")
  return {
    id,
    address,
    kind,
    gate: chance.percent(50) ? 0 : 1,
    transport,
    // the hub starts calls by itself, so its callers are never late
    mood: transport === "hub" && (mood === "late" || mood === "never") ? "patient" : mood,
    patienceMillis: chance.between(300, 12_000),
    reactionMillis: chance.between(50, 1_500),
    lingers: chance.percent(30),
    keepsAlive: chance.percent(50),
    startsBySocket: chance.percent(50),
  }
}

/**
 * The platform's outcome of a start: a session, at once or slowly; all slots taken; a refusal; unavailable, so that the caller is
 * called again; a session whose answer is lost, so that its slot is in doubt and the caller is called again; or one that ends
 * before its answer.
 */
export type Outcome = "session" | "slow" | "capacity" | "refused" | "unavailable" | "ghost" | "early"
/** How the end is reported: once, to both gates, seconds later, or not at all; then the gate finds out by asking, or never. */
export type Ending = "reported" | "repeated" | "late" | "lost" | "silent"

export interface Start {
  readonly outcome: Outcome
  readonly delayMillis: number
  readonly talkMillis: number
  readonly ending: Ending
  readonly lateMillis: number
  readonly gate: 0 | 1
}

/** `attempt` counts the starts of one caller. In `calm` times no end is lost. */
export const startOf = (seed: number, caller: number, attempt: number, calm: boolean): Start => {
  const chance = new Chance(keyed(seed, `start ${caller} ${attempt}`))
  const outcome = draw<Outcome>(
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
  const ending = draw<Ending>(
    chance,
    2_000,
    [
      [2, "lost"],
      [1, "silent"],
      [40, "repeated"],
      [40, "late"],
    ],
    "reported",
  )
  return {
    outcome,
    delayMillis: outcome === "slow" ? chance.between(1_000, 4_000) : chance.between(5, 60),
    talkMillis: chance.between(1_000, 8_000),
    ending: calm && (ending === "lost" || ending === "silent") ? "reported" : ending,
    lateMillis: chance.between(1_000, 5_000),
    gate: chance.percent(50) ? 0 : 1,
  }
}
