/** Creates the outcomes for a ticket, with their messages. Those for a request are in `../protocol/refusals.ts`. None carries a stack trace. */

import { FIRST_WARNING_MILLIS } from "../fifo-queue/bounds.ts"
import type { Place } from "../fifo-queue/FifoQueue.ts"
import type { WebSession } from "../platform-api/model.ts"
import { accessOf, type Credential } from "../protocol/credential.ts"
import { endedEvent, type PushEvent } from "../protocol/events.ts"
import { stackless } from "../protocol/refusals.ts"
import { isoTime, type Queued, type Started } from "../protocol/session-answers.ts"
import * as texts from "../protocol/texts.ts"
import {
  type CalledAgain,
  CredentialRefused,
  NotYourTurn,
  TicketOver,
  type TicketState,
  type TicketStatus,
  TicketUnknown,
  type Warning,
} from "../protocol/ticket.ts"
import type { Campaign } from "../settings/Settings.ts"

/**
 * The expected wait in seconds: position times average call length, divided by the slots, from when a budget has more again; null before any
 * call was measured, while nobody knows how many slots there are, and while nobody is served: the queue is paused, the platform is
 * unavailable, or it is full and runs no call of this campaign.
 */
export const estimateSeconds = (
  {
    averageMillis,
    disrupted,
    heldMillis = 0,
    paused,
    position,
    slots,
  }: Pick<Place, "position" | "averageMillis" | "disrupted" | "heldMillis" | "paused" | "slots">,
  configured: number,
): number | null =>
  averageMillis === 0 || paused === true || disrupted || slots === 0 || !Number.isFinite(slots ?? configured)
    ? null
    : Math.ceil((heldMillis + (position * averageMillis) / Math.max(1, slots ?? configured)) / 1000)

/**
 * Why nobody is called for now, as callers are told it: an operator has paused the campaign, or a budget has too little. Both count as a pause,
 * which ends with the later of the two.
 */
const toldPause = ({
  paused,
  pausedUntil,
  resumesAt,
}: Place): Pick<TicketStatus, "paused" | "pausedUntil" | "resumesAt"> => {
  if (paused !== true && resumesAt === undefined) return {}
  const isEndless = paused === true && pausedUntil === undefined
  return {
    paused: true,
    ...(isEndless ? {} : { pausedUntil: isoTime(Math.max(pausedUntil ?? 0, resumesAt ?? 0)) }),
    ...(resumesAt === undefined ? {} : { resumesAt: isoTime(resumesAt) }),
  }
}

/** A place as callers are told it, in every answer and event: why nobody is called is absent where it does not apply. */
const toldPlace = (
  place: Place,
  slots: number,
): Pick<Queued, "queuePosition" | "queueLength" | "estimatedWaitSeconds"> &
  Pick<TicketStatus, "disrupted" | "paused" | "pausedUntil" | "resumesAt"> => ({
  queuePosition: place.position,
  queueLength: place.length,
  estimatedWaitSeconds: estimateSeconds(place, slots),
  ...(place.disrupted ? { disrupted: true } : {}),
  ...toldPause(place),
})

export const positionEvent = (place: Place, slots: number): Extract<PushEvent, { type: "position" }> => {
  const { queuePosition: position, ...told } = toldPlace(place, slots)
  return { type: "position", position, ...told }
}

export const waitingStatus = (ticket: string, place: Place, slots: number): TicketStatus => ({
  uniqueRequestId: ticket,
  state: "waiting",
  ...toldPlace(place, slots),
})

const UNHINDERED = { disrupted: false, paused: false, pausedUntil: null, resumesAt: null }

export const queued = (ticket: string, place: Place, slots: number, called = false): Queued => ({
  _tag: "Queued",
  uniqueRequestId: ticket,
  ...UNHINDERED,
  ...toldPlace(place, slots),
  called,
})

export const ticketUnknown = (): TicketUnknown => stackless(() => new TicketUnknown({ message: texts.ticketUnknown }))

export const ticketOver = (state: TicketState): TicketOver =>
  stackless(() => new TicketOver({ state, message: endedEvent(state).message }))

export const startInProgress = (): NotYourTurn =>
  stackless(() => new NotYourTurn({ code: "start_in_progress", message: texts.startInProgress }))

export const notYourTurn = (queuePosition: number): NotYourTurn =>
  stackless(() => new NotYourTurn({ code: "not_your_turn", queuePosition, message: texts.notYourTurn(queuePosition) }))

/** After a start that was not carried out: `busy` if the platform has no free slot, `unpaid` if a budget has too little. */
export const calledAgain = ({
  busy,
  position,
  unpaid,
}: Pick<Place, "position"> & { readonly busy: boolean; readonly unpaid?: true }): CalledAgain => {
  const code = busy ? "agent_busy" : "agent_unavailable"
  const message = busy ? texts.agentBusy : unpaid === true ? texts.budgetWaits : texts.agentUnavailable
  // assigned for the type: the class does not say which code it has
  return Object.assign(
    stackless(() => new NotYourTurn({ code, queuePosition: position, message })),
    { code } as const,
  )
}

/** The offer was made before, or its time has passed and the ticket waits again. */
export const credentialUsed = (): CredentialRefused =>
  stackless(() => new CredentialRefused({ code: "credential_used", message: texts.credentialUsed }))

export const credentialForeign = (): CredentialRefused =>
  stackless(() => new CredentialRefused({ code: "credential_refused", message: texts.credentialRefused }))

/** The data that is bound to a live ticket, so that its holder can be answered again. */
export const dataOf = ({ credential, webSocketUrl }: WebSession): Readonly<Record<string, string>> => ({
  ...(webSocketUrl === undefined ? {} : { url: webSocketUrl }),
  ...(credential === undefined ? {} : { credential: JSON.stringify(credential) }),
})

/** The same for a session that begins with its page's offer, with what its ticket has stored until then. */
export const awaitedDataOf = (session: WebSession, stored: string): Readonly<Record<string, string>> => ({
  ...dataOf(session),
  stored,
})

/** What the ticket had stored before a session that begins with an offer; undefined for any other session. */
export const awaitedIn = (data: string): string | undefined => {
  const session: { readonly stored?: string } = JSON.parse(data)
  return session.stored
}

const relayPath = (ticket: string): string => `api/session/${ticket}/relay`

/** The session with the complete URL for its page's offer: the adapter knows the gate's URL, but not the ticket. */
export const addressed = (ticket: string, session: WebSession): WebSession =>
  session.credential?.shape === "sdp-relay"
    ? { ...session, credential: { ...session.credential, url: session.credential.url + relayPath(ticket) } }
    : session

export const boundSessionOf = (data: string): WebSession => {
  const session: { readonly url?: string; readonly credential?: string; readonly s: ReadonlyArray<string> } =
    JSON.parse(data)
  const credential: Credential | undefined =
    session.credential === undefined ? undefined : JSON.parse(session.credential)
  return { ...accessOf({ webSocketUrl: session.url, credential }), sessionIds: session.s }
}

/** The limits of a campaign's calls that a caller is told. */
type CallLimits = Pick<Campaign, "SilenceSeconds"> | undefined

export const startedFrom = (
  uniqueRequestId: string,
  { sessionIds, ...session }: WebSession,
  limits: CallLimits,
  endsAt?: number | undefined,
): Started => ({
  uniqueRequestId,
  ...accessOf(session),
  sessionId: sessionIds[0] ?? "",
  ...(limits?.SilenceSeconds === undefined ? {} : { silenceSeconds: limits.SilenceSeconds }),
  ...(endsAt === undefined ? {} : { endsAt: isoTime(endsAt) }),
})

/** What a live ticket's holder is told again. */
export const startedOf = (
  uniqueRequestId: string,
  { data, endsAt }: { readonly data: string; readonly endsAt?: number },
  limits: CallLimits,
): Started => startedFrom(uniqueRequestId, boundSessionOf(data), limits, endsAt)

/** The first of the reasons why a call is about to end; undefined while none holds. Times in ms since 1970. */
export const warningIn = (
  { endsAt, silentUntil, spent }: { readonly endsAt?: number; readonly silentUntil?: number; readonly spent?: true },
  now: number,
): Warning | undefined => {
  const isNear = endsAt !== undefined && endsAt - now <= FIRST_WARNING_MILLIS
  if (silentUntil !== undefined && !(isNear && endsAt < silentUntil)) return warningOf(silentUntil)
  return isNear ? { reason: spent === true ? "budget" : "length", endsAt: isoTime(endsAt) } : undefined
}

/** Why a call is about to end. `silentUntil`: when it ends unless somebody speaks (ms since 1970). */
export const warningOf = (silentUntil: number): Warning => ({ reason: "silence", endsAt: isoTime(silentUntil) })
