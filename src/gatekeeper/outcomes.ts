/** Constructs every outcome with its message. None carries a stack trace. */
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
 * The expected wait in seconds: position times average call length, divided by the slots; null before any call was measured.
 */
export const estimateSeconds = (place: Pick<Place, "position" | "averageMillis">, slots: number): number | null =>
  place.averageMillis === 0 ? null : Math.ceil((place.position * place.averageMillis) / Math.max(1, slots) / 1000)

/** The `disrupted` field of an answer, only if the platform cannot be reached. */
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

/** Suggests a retry after half the average time between ending calls, between ten seconds and five minutes. */
export const queueFull = (averageMillis: number, slots: number): QueueFull =>
  stackless(
    () =>
      new QueueFull({
        retryAfterSeconds: Math.min(300, Math.max(10, Math.ceil(averageMillis / 2000 / Math.max(1, slots)))),
        message: messages.queueFull,
      }),
  )

/** An operator decides when draining ends, so the delay is a guess. */
const DRAINING_RETRY_SECONDS = 60

export const draining = (): Draining =>
  stackless(
    () =>
      new Draining({
        retryAfterSeconds: DRAINING_RETRY_SECONDS,
        message: messages.draining,
      }),
  )

/** Short, because another instance may answer at once. */
const SHUTDOWN_RETRY_SECONDS = 1

export const shuttingDown = (): Draining =>
  stackless(
    () =>
      new Draining({
        retryAfterSeconds: SHUTDOWN_RETRY_SECONDS,
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

/** Parses the session data that was bound to a live ticket. */
export const startedOf = (uniqueRequestId: string, data: string): Started => {
  const session: { readonly url: string; readonly s: ReadonlyArray<string> } = JSON.parse(data)
  return { uniqueRequestId, webSocketUrl: session.url, sessionId: session.s[0] ?? "" }
}
