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
  constructor(ticket: string, gate: Gate) {
    this.ticket = ticket
    this.gate = gate
  }
}
