/**
 * The texts that a caller may read, except those of `refusals.ts`; pages show them unchanged. Texts for developers (an invalid
 * path, header or body) are written where the check is.
 */
import type { TicketState } from "./ticket.ts"

export const askedTooOften = (seconds: number): string =>
  `Too many requests from this address. Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`
export const tooManyConnections = "Too many open connections from this address."

export const reconnect = "This server is unavailable. Reconnect to reach another."
export const storeUnavailable = "The service is unavailable right now. Try again."

export const ticketUnknown = "This request doesn't exist or has expired."
export const startInProgress = "The call is already starting."
export const notYourTurn = (position: number): string =>
  `It's not your turn yet. You're number ${position} in the queue.`
export const agentBusy = "The agent is busy again. You keep your place and will be called again."
export const agentUnavailable =
  "The voice agent is unavailable right now. You keep your place and will be called again."
export const budgetWaits = "The call time for now is used up. You keep your place and will be called again."

export const credentialUsed = "This credential has been used already."
export const credentialRefused = "This credential isn't valid for this call."

export const startTooSlow = "The call took too long to start. Try again."
export const startFailed = "The call couldn't be started. Try again in a moment."
export const startElsewhere = "The call couldn't be started. Try again."
export const endedBeforeItBegan = "The call ended before it started. Try again."
export const requestRefused = "The voice agent didn't accept this request."

const ends: Readonly<Partial<Record<TicketState, string>>> = {
  ended: "The call has ended.",
  left: "You left the queue.",
  abandoned: "You lost your place because you were away too long.",
  missed: "You missed your turn because the call wasn't started in time.",
  failed: "The call couldn't be started.",
  reclaimed: "The call reached its time limit.",
  removed: "You were removed from the queue.",
  stopped: "The operator ended the call.",
  silent: "The call ended because nobody spoke.",
  closed: "We have closed before your turn came.",
  too_long: "The call reached its time limit.",
  budget: "The call time that is planned for now is used up.",
}
/** Why a ticket is over. */
export const ended = (state: TicketState): string => ends[state] ?? "This request has ended."
export const placeLost = "You lost your place in the queue. Try again."
