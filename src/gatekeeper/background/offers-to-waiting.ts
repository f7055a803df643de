/** Which connected tickets of one campaign are to be offered something else, because they wait for long: each once. */
import type { HeartbeatEntry } from "../../fifo-queue/FifoQueue.ts"
import type { PushEvent } from "../../protocol/events.ts"
import { isLong } from "../Overflow.ts"

interface WaitingTicket {
  /** ms since 1970 */
  readonly accepted: number
  estimatedSeconds: number | null
  /** false while it is called, or another gate holds it */
  waits: boolean
  offered: boolean
}

export class OffersToWaiting {
  /** the wait from which on something is offered (s) */
  private readonly limit: number
  private readonly tickets = new Map<string, WaitingTicket>()

  constructor(limit: number) {
    this.limit = limit
  }

  /** What a heartbeat has learned of tickets, and what their pages are told. */
  answered(entries: ReadonlyArray<HeartbeatEntry>, events: ReadonlyMap<string, PushEvent>): void {
    for (const { accepted, elsewhere, state, ticket } of entries) {
      const waits = state === "waiting" && accepted !== undefined && elsewhere !== true
      const known = this.tickets.get(ticket)
      // a caller whose start has failed waits again on the same page
      if (known !== undefined) known.waits = waits
      else if (waits) this.tickets.set(ticket, { accepted, estimatedSeconds: null, waits, offered: false })
    }
    for (const [ticket, event] of events) {
      const known = this.tickets.get(ticket)
      if (known !== undefined && event.type === "position") known.estimatedSeconds = event.estimatedWaitSeconds
    }
  }

  /** The connected tickets that wait for long, and were not offered anything yet. */
  due(connected: ReadonlySet<string>, now: number): ReadonlyArray<string> {
    const due: Array<string> = []
    for (const [ticket, known] of this.tickets) {
      if (!connected.has(ticket)) this.tickets.delete(ticket)
      else if (known.waits && !known.offered && isLong(this.limit, known.estimatedSeconds, now - known.accepted))
        due.push(ticket)
    }
    return due
  }

  /** These were offered something. */
  told(tickets: ReadonlyArray<string>): void {
    for (const ticket of tickets) {
      const known = this.tickets.get(ticket)
      if (known !== undefined) known.offered = true
    }
  }
}
