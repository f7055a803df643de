/**
 * Whether the other side of a call is reached, and which side is to blame if not. A browser notices a broken line late or never, and the
 * system's buffers take half a minute of audio before anything looks unsent. So:
 *
 * - A platform that answers pings gets one every half second. The line is down when one is not answered.
 * - Of any other platform only silence is seen, which is usual while the agent listens. The line is down if the gate does not answer either.
 * - A machine that is offline, and was online before, hears nothing more.
 * - What was sent stays unsent.
 *
 * Before a line counts as down, the gate is asked for a small file. If it answers, the visitor's network works and the agent's service
 * does not.
 *
 * Times in milliseconds, of one clock.
 */

const PING_EVERY = 500
/** With a ping unanswered this long, or for twice the usual time, audio is held back, because it would arrive late. */
const DELAYED_AFTER = 400
/** With a ping unanswered this long, or nothing sent of what waits, the line is down. */
const DOWN_AFTER = 3_000
/** With a ping unanswered this long, or after this silence, the gate is asked. */
const PROBE_AFTER = 1_500
/** The least time between two requests to the gate. */
const PROBE_EVERY = 3_000
/** An offline machine may still reach an agent on localhost: the line counts as down only after this silence. */
const SILENT_AFTER = 2_000

/** What does not answer: only the agent's service, or nothing that the visitor's network should reach. */
export type Down = "agent" | "network"

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
  /**
   * What is down; undefined if nothing is, or it is not known yet.
   *
   * @param unsent bytes that wait because too many are unsent already; 0 if none wait
   */
  readonly down: (now: number, unsent: number) => Down | undefined
}

/** A time in which the other side seems not to be reached. */
interface Doubt {
  /** whether the gate answered last; undefined before its first answer */
  reached?: boolean
  /** The gate did not answer once: whatever does not answer later has been cut off by the network. */
  cutOff?: boolean
}

export const createLiveness = (network: Network): Liveness => {
  const begunOnline = network.isOnline()
  let pings = false
  let [lastHeard, lastPing, lastProbe, roundTrip] = [0, 0, 0, 0]
  /** when the unanswered ping was sent */
  let unanswered: number | undefined
  let doubt: Doubt | undefined
  /** since when so many bytes wait */
  let waiting = { unsent: 0, since: 0 }

  const waited = (now: number): number => (unanswered === undefined ? 0 : now - unanswered)
  const probe = async (now: number, about: Doubt): Promise<void> => {
    lastProbe = now
    about.reached = await network.reachesGate()
    about.cutOff ||= !about.reached
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
    },
    isDelayed: (now) => waited(now) > Math.max(DELAYED_AFTER, 2 * roundTrip),
    down: (now, unsent) => {
      if (unsent === 0 || unsent !== waiting.unsent) waiting = { unsent, since: now }
      const isStuck = now - waiting.since > DOWN_AFTER
      const silent = now - lastHeard
      const isOffline = begunOnline && !network.isOnline() && silent > SILENT_AFTER
      const mute = pings ? waited(now) : silent
      if (!isStuck && !isOffline && mute <= PROBE_AFTER) {
        doubt = undefined
        return undefined
      }
      doubt ??= {}
      const { cutOff, reached } = doubt
      // one answer is enough, except where only the gate tells that the network is back
      if ((!pings || reached === undefined) && now - lastProbe > PROBE_EVERY) void probe(now, doubt)
      const isDown = isStuck || (pings ? mute > DOWN_AFTER : reached === false) || (isOffline && !reached)
      if (!isDown || (reached === undefined && !isOffline)) return undefined
      return reached && !cutOff ? "agent" : "network"
    },
  }
}
