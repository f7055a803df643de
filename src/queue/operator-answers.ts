/**
 * What an operator's rules answer about a campaign's queue. The console's page takes its types from this file too, so it imports
 * nothing that needs Node. `answers.ts` checks that the rules answer so.
 */
import { Schema } from "effect"

const { Boolean: Flag, Finite, Literals, String: Text, Struct } = Schema

/** A held slot. Times in ms since 1970. */
export const heldSlot = Struct({
  ticket: Text,
  state: Literals(["called", "starting", "live", "in_doubt"]),
  lease: Text,
  since: Finite,
  deadline: Finite,
  acceptedAt: Finite,
  attached: Flag,
})

export const waitingTicket = Struct({ ticket: Text, seq: Finite, acceptedAt: Finite, presentUntil: Finite })

/** The figures of a campaign, without its pages. */
export const figures = {
  waiting: Finite,
  present: Finite,
  held: Finite,
  live: Finite,
  averageMillis: Finite,
  backoffUntil: Finite,
  disrupted: Flag,
  probeUntil: Finite,
  doubts: Finite,
  paused: Flag,
  draining: Flag,
  accepted: Finite,
  firstAcceptedAt: Finite,
} as const

export const auditLine = Struct({ n: Finite, at: Finite, who: Text, action: Text, target: Text, result: Text })
