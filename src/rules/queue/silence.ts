/**
 * The page of a running call reports how long nobody has spoken in it, or that somebody speaks. A call that stays silent ends at the
 * campaign's limit: a gate ends it at the platform (`../ending.ts`), if the platform can be asked. The last report counts. A page that reports
 * nothing is not silent: its call ends at the maximum length.
 *
 * A page can report what it likes, since only its own call ends by it: it has `MIN_NOTICE_MILLIS` from the report, and its caller's voice
 * would keep the call as well.
 */
import { endBeforeLease, mustEnd } from "../ending.ts"
import { load, save } from "../load.ts"
import type { Step } from "../step.ts"
import type { EndState, Ticket } from "../ticket.ts"

/** How long a caller has at least to say something after the report (ms). */
export const MIN_NOTICE_MILLIS = 5_000

export interface SilenceReport {
  readonly id: string
  /** how long nobody has spoken (ms); 0: somebody speaks */
  readonly silentMillis: number
  /** how long nobody may speak (ms); absent when a call may be silent */
  readonly limitMillis?: number
  /** a gate can end the call at the platform */
  readonly ends?: true
}

/** `silent`: the call ends at `endsAt` (ms since 1970) unless somebody speaks. `speech`: no end is due. */
export type Silence =
  | { readonly _tag: "silent"; readonly endsAt: number }
  | { readonly _tag: "speech" }
  | { readonly _tag: "ended"; readonly state: EndState }
  | { readonly _tag: "unknown" }

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
  const since = Math.max(s.now - silentMillis, ticket.since ?? s.now)
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
