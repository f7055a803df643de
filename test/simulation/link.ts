import type { Gate } from "./gate.ts"

/** A connection, from the gate's and the caller's side. */
export class Link {
  readonly ticket: string
  readonly gate: Gate
  /** since when the gate has known its ticket; undefined before */
  attached: number | undefined
  /** the gate holds it open */
  open = true
  /** the caller still reads it */
  heard = true
  /** the ends of the start windows that were sent on it */
  readonly told = new Set<string>()
  /** the place that was sent on it last */
  place: number | undefined
  /** the wait that it was told last to expect (s), and since when that is so long that something is offered (ms) */
  expected: number | null = null
  expectedSince: number | undefined
  /** how often something was offered on it */
  offered = 0
  /** no other connection of its ticket was opened */
  isOnly: boolean
  constructor(ticket: string, gate: Gate, isOnly: boolean) {
    this.ticket = ticket
    this.gate = gate
    this.isOnly = isOnly
  }
}
