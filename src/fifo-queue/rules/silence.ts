/**
 * The page of a running call reports how long nobody has spoken in it, or that somebody speaks. A call that stays silent ends at the
 * campaign's limit: a gate ends it at the platform (`./shared/ending.ts`), if the platform can be asked. The last report counts. A page that reports
 * nothing is not silent: its call ends at the maximum length.
 *
 * Where the vendor says who speaks, its word wins over the page's silence: nobody is silent whom it has heard.
 *
 * A page can report what it likes, since only its own call ends by it: it has `MIN_NOTICE_MILLIS` from the report, and its caller's voice
 * would keep the call as well.
 */
import type { Silence } from "../answers.ts"
import { endBeforeLease, mustEnd } from "./shared/ending.ts"
import { load, loadBySession, save } from "./shared/load.ts"
import type { Step } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"

/** How long a caller has at least to say something after the report (ms). */
export const MIN_NOTICE_MILLIS = 5_000

/** How long somebody counts as speaking at most, if the vendor does not say that they have stopped (ms). */
export const MAX_SPEECH_MILLIS = 120_000

/** What a vendor says of a running call; a side of which it says nothing is absent. */
export interface SpeechReport {
  /** the ids of the session */
  readonly sessions: ReadonlyArray<string>
  /** whether the caller speaks */
  readonly caller?: boolean
  /** whether the agent speaks */
  readonly agent?: boolean
}

export interface SilenceReport {
  readonly id: string
  /** how long nobody has spoken (ms); 0: somebody speaks */
  readonly silentMillis: number
  /** how long nobody may speak (ms); absent when a call may be silent */
  readonly limitMillis?: number
  /** a gate can end the call at the platform */
  readonly ends?: true
}

const notRunning = ({ state }: Ticket): Silence =>
  state === "waiting" || state === "called" || state === "starting" || state === "live" || state === "doubt"
    ? { _tag: "speech" }
    : { _tag: "ended", state }

/** @lazy */
export const reportSilence = (s: Step, { ends, id, limitMillis, silentMillis }: SilenceReport): Silence => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state === "doubt") return { _tag: "unknown" }
  // a session that awaits its offer is not a call yet
  if (ticket.state !== "live" || ticket.offerBefore !== undefined) return notRunning(ticket)
  const isSilent = silentMillis > 0 && limitMillis !== undefined
  if (!isSilent && ticket.silentUntil === undefined) return { _tag: "speech" }
  const heard = Math.max(ticket.callerHeard ?? 0, ticket.agentHeard ?? 0)
  const since = Math.max(s.now - silentMillis, ticket.since ?? s.now, heard)
  const soonest = s.now + MIN_NOTICE_MILLIS
  // said again, as before the page hangs up, it does not give more time
  const endsAt = isSilent ? Math.max(since + limitMillis, Math.min(soonest, ticket.silentUntil ?? soonest)) : undefined
  ticket.silentUntil = endsAt
  ticket.silentSince = isSilent ? since : undefined
  save(s, id, ticket)
  if (!mustEnd(ticket)) {
    endBeforeLease(s, id)
    const due = s.db.zscore(s.keys.ending, id)
    if (ends === true && endsAt !== undefined && due !== undefined && endsAt < due) s.db.zadd(s.keys.ending, endsAt, id)
  }
  return endsAt === undefined ? { _tag: "speech" } : { _tag: "silent", endsAt }
}

/**
 * The vendor has heard somebody who begins to speak, or has just stopped: no end is due because of silence. `live`: the session runs.
 *
 * @lazy
 */
export const reportSpeech = (s: Step, { agent, caller, sessions }: SpeechReport): "live" | "unknown" => {
  for (const session of sessions) {
    const found = loadBySession(s, session)
    if (found !== undefined) {
      const { id, ticket } = found
      if (caller !== undefined) ticket.callerHeard = caller ? s.now + MAX_SPEECH_MILLIS : s.now
      if (agent !== undefined) ticket.agentHeard = agent ? s.now + MAX_SPEECH_MILLIS : s.now
      ticket.silentUntil = undefined
      ticket.silentSince = undefined
      save(s, id, ticket)
      return "live"
    }
  }
  return "unknown"
}
