/** What callers are told: every outcome of the gate with its words, in one place. None carries a stack. */
import type { Place } from "../FifoQueue.ts"
import * as messages from "../messages.ts"
import { endedEvent } from "../PushChannel.ts"
import {
  Blocked,
  Draining,
  NotYourTurn,
  PlatformUnavailable,
  Queued,
  QueueFull,
  type Started,
  stackless,
  TicketOver,
  type TicketState,
  TicketUnknown,
} from "../Session.ts"

export const blocked = (reason: Blocked["reason"]): Blocked =>
  stackless(() => new Blocked({ reason, message: messages.blocked[reason] }))

/**
 * The expected wait in seconds: the places up to this one, served by all slots at the measured pace; null before any call
 * was measured.
 */
export const estimateSeconds = (place: Pick<Place, "position" | "averageMillis">, slots: number): number | null =>
  place.averageMillis === 0 ? null : Math.ceil((place.position * place.averageMillis) / Math.max(1, slots) / 1000)

/** What an answer says of a platform that cannot be reached; nothing otherwise. */
export const disruption = ({ disrupted }: Pick<Place, "disrupted">): { readonly disrupted?: true } =>
  disrupted ? { disrupted } : {}

export const queued = (ticket: string, place: Place, slots: number, called = false): Queued =>
  new Queued({
    uniqueRequestId: ticket,
    queuePosition: place.position,
    queueLength: place.length,
    estimatedWaitSeconds: estimateSeconds(place, slots),
    disrupted: place.disrupted,
    called,
  })

/** Half a call's length at the pace of all slots, between ten seconds and five minutes. */
export const queueFull = (averageMillis: number, slots: number): QueueFull =>
  stackless(
    () =>
      new QueueFull({
        retryAfterSeconds: Math.min(300, Math.max(10, Math.ceil(averageMillis / 2000 / Math.max(1, slots)))),
        message: messages.queueFull,
      }),
  )

/** An operator decides when it ends, so the wait is a guess. */
const DRAINING_RETRY_SECONDS = 60

export const draining = (): Draining =>
  stackless(
    () =>
      new Draining({
        retryAfterSeconds: DRAINING_RETRY_SECONDS,
        message: messages.draining,
      }),
  )

/** Another instance may answer at once. */
const GOING_AWAY_RETRY_SECONDS = 1

export const goingAway = (): Draining =>
  stackless(
    () =>
      new Draining({
        retryAfterSeconds: GOING_AWAY_RETRY_SECONDS,
        message: messages.closing,
      }),
  )

export const platformUnavailable = (
  kind: PlatformUnavailable["kind"],
  message: string,
  retryAfterSeconds = 5,
): PlatformUnavailable => stackless(() => new PlatformUnavailable({ kind, message, retryAfterSeconds }))

export const ticketUnknown = (): TicketUnknown =>
  stackless(() => new TicketUnknown({ message: messages.ticketUnknown }))

export const ticketOver = (state: TicketState): TicketOver =>
  stackless(() => new TicketOver({ state, message: endedEvent(state).message }))

export const startInProgress = (): NotYourTurn =>
  stackless(() => new NotYourTurn({ code: "start_in_progress", message: messages.startInProgress }))

export const notYourTurn = (queuePosition: number): NotYourTurn =>
  stackless(
    () =>
      new NotYourTurn({
        code: "not_your_turn",
        queuePosition,
        message: messages.notYourTurn(queuePosition),
      }),
  )

export const agentBusy = (queuePosition: number): NotYourTurn =>
  stackless(
    () =>
      new NotYourTurn({
        code: "agent_busy",
        queuePosition,
        message: messages.agentBusy,
      }),
  )

export const agentUnavailable = (queuePosition: number): NotYourTurn =>
  stackless(
    () =>
      new NotYourTurn({
        code: "agent_unavailable",
        queuePosition,
        message: messages.agentUnavailable,
      }),
  )

/** Reads what was bound to a live ticket. */
export const startedOf = (uniqueRequestId: string, data: string): Started => {
  const session: { readonly url: string; readonly s: ReadonlyArray<string> } = JSON.parse(data)
  return { uniqueRequestId, webSocketUrl: session.url, sessionId: session.s[0] ?? "" }
}
