import type { Gate } from "./gate.ts"

/** A connection, as the gate and the caller hold it. */
export class Link {
  readonly ticket: string
  readonly gate: Gate
  /** since when the gate has known what it is for; undefined before */
  attached: number | undefined
  /** the gate holds it open */
  open = true
  /** the caller still reads it */
  heard = true
  /** the start windows that were told on it, by their ends */
  readonly told = new Set<string>()
  constructor(ticket: string, gate: Gate) {
    this.ticket = ticket
    this.gate = gate
  }
}
