/**
 * The wait of a visit: its place in the queue, followed until it is the caller's turn, and the start of the call. Another device may wait
 * with the same ticket; then the one that starts first has the call.
 */

import { NoSound } from "../audio/microphone.ts"
import type { CallOwner } from "../call/session-call.ts"
import type { Notice, Offer, Place, VoiceAgentState } from "../client/state.ts"
import { follow } from "../gate/events.ts"
import { type Gate, neverAborted, Refusal, type Session } from "../gate/gate-client.ts"
import * as tickets from "../visit/ticket-store.ts"

/** How long after its start window a ticket's state is polled, unless it has changed. In milliseconds. */
const WINDOW_GRACE = 2_000
/** How often a turn is polled that another device may take, in milliseconds. */
const WATCH_INTERVAL = 2_000
/** Two announcements of the same deadline may differ by this much. In milliseconds. */
const CLOCK_TOLERANCE = 2_500
/** A microphone that takes longer to open is one that the browser asks about. In milliseconds. */
const PROMPT_AFTER = 800

type YourTurn = Extract<VoiceAgentState, { readonly name: "your-turn" }>

export interface WaitOwner extends Pick<CallOwner, "options" | "visitor" | "equipment" | "isOver" | "show" | "end"> {
  readonly gate: Gate
  readonly storageKey: string
  /** aborted when the visit is over */
  readonly signal: AbortSignal
  readonly state: () => VoiceAgentState
  readonly pause: (millis: number) => Promise<void>
  readonly connect: (session: Session) => Promise<void>
  readonly refuse: (refusal: Refusal) => void
  readonly discard: (ticket: string | undefined) => void
}

export interface Waiting {
  /** the ticket with which this visit waits, or whose call another device has */
  readonly ticket: () => string | undefined
  /** whether a ticket is another device's, until this one waits with it too: it is not given up here */
  readonly isForeign: (ticket: string) => boolean
  /** The next request is for the ticket of another device. */
  readonly takesOver: (ticket: string) => void
  /** Whether another device may have this ticket too, or that of the visit. Then both wait, and the one that starts first has the call. */
  readonly isContested: (ticket: string | undefined) => boolean
  /** Waits at a place. `resumed` is the ticket that was asked for, if any. */
  readonly follow: (ticket: string, place: Place, resumed: string | undefined) => Promise<void>
  /** Takes the call. */
  readonly start: () => Promise<void>
  /**
   * Takes what was offered. For another campaign it asks there first, and leaves this one only when it has a place or a call there: if it
   * is refused, the place is kept.
   */
  readonly take: (offer: Offer) => Promise<void>
  /** what the caller has taken who leaves now; undefined for nothing */
  readonly taken: () => Offer["kind"] | undefined
  /** Opens a call that the gate reports, unless another device has started it. */
  readonly connectOwn: (session: Session) => Promise<void>
  /** Nothing of the queue is shown any more: the call is being opened, or the visit is over. */
  readonly stop: () => void
  readonly isDone: () => boolean
}

export const createWaiting = (owner: WaitOwner): Waiting => {
  const { equipment, options, visitor } = owner
  const following = new AbortController()
  let ticket: string | undefined
  let foreign: string | undefined
  let place: Place | undefined
  let link = true
  let refresh: (() => void) | undefined
  let hasStarted = false
  /** ends the events of the ticket that this visit waits with */
  let unfollow = (): void => {}
  let taken: Offer["kind"] | undefined
  let isMoving = false

  const isDone = (): boolean => following.signal.aborted

  const isContested = (which = ticket): boolean =>
    which !== undefined && (which === foreign || visitor.extras?.shares(which) === true)

  const showWaiting = (latest: Notice | undefined): void => {
    if (isDone() || place === undefined) return
    // redundant while the place itself shows the disruption
    const notice = place.disrupted && latest?.code === "agent_unavailable" ? undefined : latest
    owner.show({ name: "waiting", place, link, notice })
  }

  const changeTurn = (change: Partial<YourTurn>): void => {
    const state = owner.state()
    if (state.name === "your-turn") owner.show({ ...state, ...change })
  }

  /** Polls the ticket, to learn within moments that the other device has started the call. */
  const watchTurn = (): void => {
    const watching = window.setInterval(() => {
      if (owner.isOver() || owner.state().name !== "your-turn") window.clearInterval(watching)
      else refresh?.()
    }, WATCH_INTERVAL)
  }

  const showYourTurn = (startBefore: number): void => {
    if (isDone()) return
    const state = owner.state()
    const goesOn = state.name === "your-turn"
    // After a reconnect the same start call may be sent again, with a slightly different clock correction.
    if (goesOn && !(Math.abs(state.startBefore - startBefore) > CLOCK_TOLERANCE)) return
    if (goesOn) changeTurn({ startBefore })
    else owner.show({ name: "your-turn", since: Date.now(), startBefore, starting: false, notice: undefined })
    if (!Number.isNaN(startBefore)) window.setTimeout(() => refresh?.(), startBefore - Date.now() + WINDOW_GRACE)
    if (goesOn) return
    // Where two devices wait, a tap says which one has the call.
    if (isContested()) watchTurn()
    else if (options.autoStart === true) void start()
  }

  const start = async (): Promise<void> => {
    const called = owner.state()
    if (called.name !== "your-turn" || called.starting || ticket === undefined) return
    changeTurn({ starting: true, notice: undefined })
    const backTo = (code: string): void => changeTurn({ starting: false, notice: { code, message: "" } })
    const asking = window.setTimeout(
      () => changeTurn({ notice: { code: "microphone-again", message: "" } }),
      PROMPT_AFTER,
    )
    try {
      await equipment.open()
    } catch (error) {
      return backTo(error instanceof NoSound ? error.problem : "no-answer")
    } finally {
      window.clearTimeout(asking)
    }
    if (owner.isOver() || owner.state().name !== "your-turn") return
    hasStarted = true
    try {
      await owner.connect(await owner.gate.start(ticket, neverAborted))
    } catch (error) {
      if (isDone()) return
      if (!(error instanceof Refusal)) return backTo("no-answer")
      // if this start was refused, a session that starts later is another device's
      hasStarted = error.code === "start_in_progress"
      if (error.status === 404 || error.status === 410) return owner.end("missed", error.message)
      if (error.code === "draining") return startElsewhere(error)
      if (error.status !== 409) return owner.refuse(error)
      // The session will arrive on the push connection.
      if (!hasStarted) showWaiting({ code: error.code, message: error.message })
    }
  }

  /** The instance is shutting down and the turn is still open: retries the start, which reaches another instance. */
  const startElsewhere = async ({ retryAfter = 1 }: Refusal): Promise<void> => {
    await owner.pause(retryAfter * 1_000)
    if (owner.isOver() || owner.state().name !== "your-turn") return
    changeTurn({ starting: false })
    await start()
  }

  const connectOwn = async (session: Session): Promise<void> => {
    if (hasStarted || !isContested(session.ticket)) return owner.connect(session)
    // after a reload, only the session tells it
    ticket ??= session.ticket
    owner.end("elsewhere", "")
  }

  const isWaiting = (): boolean => !isDone() && owner.state().name === "waiting"

  const move = async (campaign: string): Promise<void> => {
    const left = ticket
    try {
      // the call may begin at once
      await equipment.open()
      const answer = await owner.gate.request(undefined, neverAborted, campaign)
      const found = answer.status === "queued" ? answer.ticket : answer.session.ticket
      // the gate has answered with the place that the caller has already
      if (found === left) {
        equipment.rest()
        return showWaiting({ code: "offer_refused", message: "" })
      }
      // the turn has come here meanwhile, or the caller has left
      if (!isWaiting() || left === undefined) return owner.discard(found)
      unfollow()
      tickets.forget(owner.storageKey, left)
      void owner.gate.leave(left, "campaign")
      ticket = found
      await (answer.status === "queued" ? follows(answer.ticket, answer.place, undefined) : connectOwn(answer.session))
    } catch (error) {
      if (!isWaiting()) return
      equipment.rest()
      const code = error instanceof NoSound ? error.problem : error instanceof Refusal ? "offer_refused" : "no-answer"
      showWaiting({ code, message: "" })
    }
  }

  const follows: Waiting["follow"] = async (own, first, resumed) => {
    ticket = own
    place = first
    equipment.rest()
    // before it is stored: a tab that is duplicated now must find it locked
    if (foreign === own || resumed !== own) {
      const locked = tickets.claim(own, owner.signal, tickets.FIRST_LOCK)
      // another window of this browser may keep it locked
      if (foreign !== own) await locked
    }
    if (owner.isOver()) return
    foreign = undefined
    visitor.extras?.holds(own)
    tickets.remember(owner.storageKey, own)
    const lost = resumed !== undefined && resumed !== own
    showWaiting(lost ? { code: "place-expired", message: "" } : undefined)
    const noticed = (): Notice | undefined => {
      const state = owner.state()
      return state.name === "waiting" ? state.notice : undefined
    }
    const listening = new AbortController()
    unfollow = () => listening.abort()
    following.signal.addEventListener("abort", unfollow, { once: true })
    refresh = follow(
      owner.gate,
      { ticket: own, place: first },
      {
        link: (open) => {
          link = open
          if (owner.state().name === "waiting") showWaiting(noticed())
        },
        place: (next) => {
          place = next
          showWaiting(noticed())
        },
        called: showYourTurn,
        session: (session) => void connectOwn(session),
        ended: (reason, message) => owner.end(reason, message),
        failed: (code, message) => showWaiting({ code, message }),
      },
      listening.signal,
    )
  }

  return {
    ticket: () => ticket,
    isForeign: (which) => which === foreign,
    takesOver: (others) => {
      foreign = others
    },
    isContested,
    follow: follows,
    take: async ({ kind, target }) => {
      if (kind !== "campaign") taken = kind
      else if (!isMoving && isWaiting()) {
        isMoving = true
        await move(target)
        isMoving = false
      }
    },
    taken: () => taken,
    start,
    connectOwn,
    stop: () => following.abort(),
    isDone,
  }
}
