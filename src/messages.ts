/**
 * The messages that a caller may read, except those of `refusals.ts`; pages show them unchanged. Messages for developers (an invalid
 * path, header or body) are written where the check is.
 */
import type { TicketState } from "./Session.ts"

export const askedTooOften = (seconds: number): string =>
  `Too many requests from this address. Try again in ${seconds} s.`
export const tooManyConnections = "Too many open connections from this address."

export const reconnect = "This server cannot serve you now. Reconnect."
export const storeUnavailable = "The service is not available right now. Try again."

export const ticketUnknown = "No request has this id, or it ended long ago."
export const startInProgress = "The call is already being started."
export const notYourTurn = (position: number): string => `It is not your turn yet: you are number ${position}.`
export const agentBusy = "The agent has become busy. You keep your place and will be called again."
export const agentUnavailable =
  "The voice agent cannot be reached at the moment. You keep your place and will be called again."

export const startTooSlow = "The call took too long to start. Try again."
export const startFailed = "The call could not be started. Try again in a moment."
export const startElsewhere = "The call cannot be started. Try again."
export const endedBeforeItBegan = "The call ended before it could begin. Try again."
export const platformRejected = "The voice agent cannot be reached because of its configuration."
export const requestRefused = "The voice agent does not accept the content of this request."

const ends: Readonly<Partial<Record<TicketState, string>>> = {
  ended: "The call has ended.",
  left: "You have left the queue.",
  abandoned: "You were away too long, so your place was given up.",
  missed: "Your turn has passed because the call was not started in time.",
  failed: "The call could not be started.",
  reclaimed: "The call has reached the maximum length.",
  removed: "This service has ended your request. You may try again.",
}
/** Why a ticket is over. */
export const ended = (state: TicketState): string => ends[state] ?? "This request is over."
export const placeLost = "Your place in the queue was lost. Please try again."
