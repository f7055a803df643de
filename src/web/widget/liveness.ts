/**
 * Whether the other side of a call is reached. A browser notices a broken line late or never, and the system's buffers take half a minute
 * of audio before anything looks unsent. So:
 *
 * - A platform that answers pings gets one every half second. The line is down when one is not answered.
 * - Of any other platform only silence is seen, which is usual while the agent listens. Then the gate is asked for a small file: the
 *   network is down if it does not answer either.
 * - A machine that is offline, and was online before, hears nothing more.
 *
 * Times in milliseconds, of one clock.
 */

const PING_EVERY = 500
/** With a ping unanswered this long, or for twice the usual time, audio is held back, because it would arrive late. */
const DELAYED_AFTER = 400
/** With a ping unanswered this long, the line is down. */
const DOWN_AFTER = 3_000
/** After this silence the gate is asked, at this interval. */
const PROBE_AFTER = 1_500
const PROBE_EVERY = 3_000
/** An offline machine may still reach an agent on localhost: the line counts as down only after this silence. */
const SILENT_AFTER = 2_000

/** What is known of the network outside of the line. */
export interface Network {
  readonly isOnline: () => boolean
  /** Whether the gate answers, within two seconds. */
  readonly reachesGate: () => Promise<boolean>
}

export interface Liveness {
  /** The platform answers pings. */
  readonly startPings: () => void
  /** True if a ping is to be sent now. */
  readonly ping: (now: number) => boolean
  readonly pong: (now: number) => void
  /** Anything arrived. */
  readonly heard: (now: number) => void
  /** Whether audio that is sent now would arrive late. */
  readonly isDelayed: (now: number) => boolean
  readonly isDown: (now: number) => boolean
}

export const createLiveness = (network: Network): Liveness => {
  const begunOnline = network.isOnline()
  let pings = false
  let [lastHeard, lastPing, lastProbe, roundTrip] = [0, 0, 0, 0]
  /** when the unanswered ping was sent */
  let unanswered: number | undefined
  let unreached = false

  const waited = (now: number): number => (unanswered === undefined ? 0 : now - unanswered)
  const probe = async (now: number): Promise<void> => {
    lastProbe = now
    const reached = await network.reachesGate()
    unreached = !reached && lastHeard < now
  }

  return {
    startPings: () => {
      pings = true
    },
    ping: (now) => {
      if (!pings || unanswered !== undefined || now - lastPing < PING_EVERY) return false
      lastPing = now
      unanswered = now
      return true
    },
    pong: (now) => {
      roundTrip = waited(now)
      unanswered = undefined
    },
    heard: (now) => {
      lastHeard = now
      unreached = false
    },
    isDelayed: (now) => waited(now) > Math.max(DELAYED_AFTER, 2 * roundTrip),
    isDown: (now) => {
      const silent = now - lastHeard
      if (begunOnline && !network.isOnline() && silent > SILENT_AFTER) return true
      if (pings) return waited(now) > DOWN_AFTER
      if (silent > PROBE_AFTER && now - lastProbe > PROBE_EVERY) void probe(now)
      return unreached
    },
  }
}
