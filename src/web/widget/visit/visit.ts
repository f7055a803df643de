/**
 * One visit, from the request to the end of the call. The microphone is opened before a place is taken, and rests while waiting.
 * Resources that are no longer needed are released: the place is given up, and a call that the platform may not know to be over is left
 * at the gate.
 */

import { Equipment } from "../audio/equipment.ts"
import { chooseMicrophone, NoSound } from "../audio/microphone.ts"
import type { Call } from "../call/call.ts"
import { type CallOwner, connectCall, type InCall } from "../call/session-call.ts"
import { storageKeyOf, type VoiceAgentOptions } from "../client/options.ts"
import { explainRefusal, isShutOut, watchPolicy } from "../client/owner.ts"
import type { Offer, VoiceAgentState } from "../client/state.ts"
import { Gate, neverAborted, Refusal, type Session } from "../gate/gate-client.ts"
import { pauseAfter, pauseFor } from "../gate/retry.ts"
import { createWaiting, type WaitOwner } from "../waiting/waiting.ts"
import * as tickets from "./ticket-store.ts"
import type { Visitor } from "./visitor.ts"

/** A refusal that is over sooner is waited for (s). */
const MOMENT = 10

export interface Visit {
  /**
   * Without the visitor's consent, or a microphone, it stops before a place is taken. `campaign` is one that was offered, other than the
   * page's.
   */
  readonly begin: (campaign?: string) => Promise<void>
  /** Resumes a ticket after a reload; false if another tab has it. */
  readonly resume: (ticket: string) => Promise<boolean>
  /** A reload has ended the call of this ticket. */
  readonly interrupted: (ticket: string) => void
  /** Takes the call, when it is the caller's turn. */
  readonly start: () => Promise<void>
  readonly setMuted: (muted: boolean) => void
  /** Takes another microphone, now or when one is opened. */
  readonly useMicrophone: (deviceId: string) => void
  /** False if it cannot be sent now. */
  readonly send: (text: string) => boolean
  readonly retry: () => void
  /** Takes what was offered to a caller who waits. */
  readonly take: (offer: Offer) => void
  /** False if there is no call. */
  readonly hangUp: () => boolean
  /** Releases everything and ends the visit, without showing a state. */
  readonly leave: () => void
}

watchPolicy()

/** `visitor` is told what happens. */
export const openVisit = (options: VoiceAgentOptions, visitor: Visitor): Visit => {
  const gate = new Gate(options)
  const storageKey = storageKeyOf(options)
  const equipment = new Equipment(options, {
    microphone: (microphone) => changeCall({ microphone }),
    gone: () => {
      // a caller who can write needs no microphone
      if (state.name !== "in-call" || state.takesText) return
      end("no-sound", "", Date.now() - state.since)
      call?.hangUp()
    },
    replaced: (source) => call?.use?.(source) ?? true,
  })
  const visit = new AbortController()
  const { signal } = visit
  let state: VoiceAgentState = { name: "idle", notice: undefined }
  let call: Call | undefined
  let retryNow: (() => void) | undefined

  const isOver = (): boolean => signal.aborted

  const show = (next: VoiceAgentState): void => {
    state = next
    visitor.show(next)
  }

  const changeCall = (change: Partial<InCall>): void => {
    if (state.name === "in-call") show({ ...state, ...change })
  }

  const pause = (millis: number): Promise<void> =>
    pauseFor(window, millis, signal, (end) => {
      retryNow = end
    })

  const forget = (): void => {
    const ticket = queue.ticket()
    if (ticket !== undefined) tickets.forget(storageKey, ticket)
  }

  const finish = (): void => {
    visit.abort()
    queue.stop()
    equipment.close()
    forget()
  }

  /** Releases the place or session of a ticket that is no longer needed. */
  const discard = (ticket: string | undefined): void => {
    if (ticket !== undefined && !queue.isForeign(ticket)) void gate.leave(ticket, queue.taken())
  }

  const end = (reason: string, message: string, lasted?: number): void => {
    if (isOver()) return
    finish()
    show({ name: "ended", reason, message, lasted })
  }

  /** Ends the visit, because the gate will never answer this page. */
  const shutOut = (): void => {
    if (isOver()) return
    finish()
    show({ name: "refused", code: "page_not_allowed", message: "", issues: [], retryAt: undefined, offers: [] })
  }

  const refuse = ({ code, message, issues, offers, retryAfter }: Refusal): void => {
    finish()
    explainRefusal({ code, issues }, options)
    const retryAt = retryAfter === undefined ? undefined : Date.now() + retryAfter * 1_000
    show({ name: "refused", code, message, issues: code === "invalid_request" ? issues : [], retryAt, offers })
  }

  /** The page goes, or is kept for going back to it: the call is over either way. After a reload, the page says so. */
  const leaveWithPage = (ticket: string): void => {
    gate.leaveWithPage(ticket)
    end("interrupted", "")
    call?.hangUp()
    tickets.rememberCall(storageKey, ticket)
    // The browser has shown this page again instead of reloading it, and the page has shown that the call is over.
    window.addEventListener("pageshow", () => tickets.rememberCall(storageKey, undefined), { once: true })
  }

  /** A second announcement of the same session is ignored, because its URL can be used once. */
  const connect = async (session: Session): Promise<void> => {
    const { ticket } = session
    if (isOver()) return discard(ticket)
    if (queue.isDone()) return
    queue.stop()
    show({ name: "connecting", to: "agent" })
    call = await connectCall(owner, session)
    if (call === undefined || ticket === undefined) return
    window.addEventListener("pagehide", () => leaveWithPage(ticket), { signal })
  }

  const owner: CallOwner & WaitOwner = {
    options,
    visitor,
    gate,
    storageKey,
    equipment,
    signal,
    state: () => state,
    isOver,
    show,
    changeCall,
    pause,
    connect,
    opened: forget,
    end,
    refuse,
    shutOut,
    discard,
    isContested: (ticket) => queue.isContested(ticket),
  }
  const queue = createWaiting(owner)

  /** Repeats a task until the gate answers. */
  const retrying = async (task: () => Promise<void>): Promise<void> => {
    for (let failures = 0; !isOver(); failures++) {
      try {
        return await task()
      } catch (error) {
        if (isOver()) return
        // an instance that stops: the next one may answer
        const isRestart = error instanceof Refusal && error.code === "draining" && Number(error.retryAfter) < MOMENT
        if (error instanceof Refusal && !isRestart) return refuse(error)
        if (error instanceof NoSound) return show({ name: "no-microphone", problem: error.problem })
      }
      if (await isShutOut(options)) return shutOut()
      if (isOver()) return
      const millis = pauseAfter(failures)
      show({ name: "offline", retryAt: Date.now() + millis })
      await pause(millis)
    }
  }

  const request = async (resumed: string | undefined, campaign?: string): Promise<void> => {
    show({ name: "connecting", to: "gate" })
    // no slot is taken without the SDK that the page names
    if (options.sdk !== undefined && (await (await visitor.vendors?.())?.hasSdk(options)) === false) {
      discard(resumed)
      return shutOut()
    }
    if (isOver()) return
    const answer = await gate.request(resumed, neverAborted, campaign)
    if (isOver()) discard(answer.status === "queued" ? answer.ticket : answer.session.ticket)
    else if (answer.status === "started") await queue.connectOwn(answer.session)
    else await queue.follow(answer.ticket, answer.place, resumed)
  }

  /** Waits with the ticket of another device too, unless its call has started there. */
  const takeOver = async (ticket: string): Promise<void> => {
    queue.takesOver(ticket)
    show({ name: "connecting", to: "gate" })
    let found = "over"
    try {
      found = (await gate.status(ticket, signal)).state
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error
    }
    if (isOver()) return
    if (found === "starting" || found === "live") end("elsewhere", "")
    else await request(ticket)
  }

  return {
    begin: (campaign) =>
      retrying(async () => {
        await visitor.extras?.agreed()
        if (isOver()) return
        await equipment.open()
        const taken = visitor.extras?.takes()
        if (isOver()) return
        await (taken === undefined ? request(undefined, campaign) : takeOver(taken))
      }),
    resume: async (ticket) => {
      if (!(await tickets.claim(ticket, signal, tickets.HANDOVER))) return false
      await retrying(() => request(ticket))
      return true
    },
    interrupted: (ticket) => {
      void gate.leave(ticket)
      end("interrupted", "")
    },
    start: queue.start,
    setMuted: (muted) => {
      if (state.name !== "in-call") return
      equipment.setMuted(muted)
      call?.setMuted?.(muted)
      changeCall({ muted })
    },
    useMicrophone: (deviceId) => {
      chooseMicrophone(deviceId)
      void equipment.change()
    },
    send: (text) => {
      if (state.name !== "in-call" || !state.takesText || !state.link) return false
      call?.send(text)
      visitor.turn({ role: "caller", text })
      return true
    },
    take: (offer) => void queue.take(offer),
    retry: () => {
      retryNow?.()
      void equipment.regain()
    },
    hangUp: () => {
      if (isOver() || call === undefined) return false
      call.hangUp()
      return true
    },
    leave: () => {
      if (isOver()) return
      if (!queue.isDone()) discard(queue.ticket())
      finish()
      call?.hangUp()
    },
  }
}
