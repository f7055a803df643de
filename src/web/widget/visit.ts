/**
 * One visit, from the request to the end of the call. The microphone is opened before a place is taken, and rests while waiting.
 * Resources that are no longer needed are released: the place is given up, and a call that the platform may not know to be over is left
 * at the gate.
 */
import type { Call } from "./call.ts"
import { Equipment } from "./equipment.ts"
import { follow } from "./events.ts"
import { Gate, neverAborted, Refusal, type Session } from "./gate-client.ts"
import { NoSound } from "./microphone.ts"
import { storageKeyOf, type VoiceAgentOptions } from "./options.ts"
import { explainRefusal, isShutOut, watchPolicy } from "./owner.ts"
import { pauseAfter, pauseFor } from "./retry.ts"
import { type CallOwner, connectCall, type InCall } from "./session-call.ts"
import type { Notice, Place, VoiceAgentState } from "./state.ts"
import * as tickets from "./ticket-store.ts"
import type { Visitor } from "./visitor.ts"

/** How long after its start window a ticket's state is polled, unless it has changed. In milliseconds. */
const WINDOW_GRACE = 2_000
/** How often a turn is polled that another device may take, in milliseconds. */
const WATCH_INTERVAL = 2_000
/** Two announcements of the same deadline may differ by this much. In milliseconds. */
const CLOCK_TOLERANCE = 2_500
/** A microphone that takes longer to open is one that the browser asks about. In milliseconds. */
const PROMPT_AFTER = 800

type YourTurn = Extract<VoiceAgentState, { readonly name: "your-turn" }>

class Visit implements CallOwner {
  readonly options: VoiceAgentOptions
  readonly visitor: Visitor
  private readonly gate: Gate
  private readonly storageKey: string
  readonly equipment: Equipment
  private readonly visit = new AbortController()
  private readonly following = new AbortController()
  private state: VoiceAgentState = { name: "idle", notice: undefined }
  private ticket: string | undefined
  private place: Place | undefined
  private link = true
  private call: Call | undefined
  private connecting = false
  private retryNow: (() => void) | undefined
  private refresh: (() => void) | undefined
  /** the ticket of another device, until this one waits with it too: it is not given up here */
  private foreign: string | undefined
  private hasStarted = false

  constructor(options: VoiceAgentOptions, visitor: Visitor) {
    this.options = options
    this.visitor = visitor
    this.gate = new Gate(options)
    this.storageKey = storageKeyOf(options)
    this.equipment = new Equipment(options, () => this.changeCall({ microphone: false }))
  }

  get isOver(): boolean {
    return this.visit.signal.aborted
  }

  show(state: VoiceAgentState): void {
    this.state = state
    this.visitor.show(state)
  }

  changeCall(change: Partial<InCall>): void {
    if (this.state.name === "in-call") this.show({ ...this.state, ...change })
  }

  private changeTurn(change: Partial<YourTurn>): void {
    if (this.state.name === "your-turn") this.show({ ...this.state, ...change })
  }

  /** Begins a new visit. Without the visitor's consent, or a microphone, it stops before a place is taken. */
  begin(): Promise<void> {
    return this.retrying(async () => {
      await this.visitor.extras?.agreed()
      if (this.isOver) return
      this.show({ name: "checking-microphone" })
      await this.equipment.open()
      const taken = this.visitor.extras?.takes()
      if (this.isOver) return
      await (taken === undefined ? this.request(undefined) : this.takeOver(taken))
    })
  }

  /** Waits with the ticket of another device too, unless its call has started there. */
  private async takeOver(ticket: string): Promise<void> {
    this.foreign = ticket
    this.show({ name: "connecting", to: "gate" })
    let state = "over"
    try {
      state = (await this.gate.status(ticket, this.visit.signal)).state
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error
    }
    if (this.isOver) return
    if (state === "starting" || state === "live") this.end("elsewhere", "")
    else await this.request(ticket)
  }

  /** Whether another device may have this ticket too. Then both wait, and the one that starts first has the call. */
  isContested(ticket = this.ticket): boolean {
    return ticket !== undefined && (ticket === this.foreign || this.visitor.extras?.shares(ticket) === true)
  }

  /** Resumes a ticket after a reload; false if another tab has it. */
  async resume(ticket: string): Promise<boolean> {
    if (!(await tickets.claim(ticket, this.visit.signal, tickets.HANDOVER))) return false
    await this.retrying(() => this.request(ticket))
    return true
  }

  /** A reload has ended the call of this ticket. */
  interrupted(ticket: string): void {
    void this.gate.leave(ticket)
    this.end("interrupted", "")
  }

  /** Repeats a task until the gate answers. */
  private async retrying(task: () => Promise<void>): Promise<void> {
    for (let failures = 0; !this.isOver; failures++) {
      try {
        return await task()
      } catch (error) {
        if (this.isOver) return
        if (error instanceof Refusal) return this.refuse(error)
        if (error instanceof NoSound) return this.show({ name: "no-microphone", problem: error.problem })
      }
      if (await isShutOut(this.options)) return this.shutOut()
      if (this.isOver) return
      const pause = pauseAfter(failures)
      this.show({ name: "offline", retryAt: Date.now() + pause })
      await this.pause(pause)
    }
  }

  /** Requests a session. */
  private async request(resumed: string | undefined): Promise<void> {
    this.show({ name: "connecting", to: "gate" })
    // no slot is taken without the SDK that the page names
    if (this.options.sdk !== undefined && (await (await this.visitor.vendors?.())?.hasSdk(this.options)) === false) {
      this.discard(resumed)
      return this.shutOut()
    }
    if (this.isOver) return
    const answer = await this.gate.request(resumed, neverAborted)
    if (this.isOver) this.discard(answer.status === "queued" ? answer.ticket : answer.session.ticket)
    else if (answer.status === "started") await this.connectOwn(answer.session)
    else await this.wait(answer.ticket, answer.place, resumed)
  }

  private pause(millis: number): Promise<unknown> {
    return pauseFor(millis, this.visit.signal, (end) => {
      this.retryNow = end
    })
  }

  private async wait(ticket: string, place: Place, resumed: string | undefined): Promise<void> {
    this.ticket = ticket
    this.place = place
    this.equipment.rest()
    // before it is stored: a tab that is duplicated now must find it locked
    if (this.foreign === ticket || resumed !== ticket) {
      const locked = tickets.claim(ticket, this.visit.signal, tickets.FIRST_LOCK)
      // another window of this browser may keep it locked
      if (this.foreign !== ticket) await locked
    }
    if (this.isOver) return
    this.foreign = undefined
    this.visitor.extras?.holds(ticket)
    tickets.remember(this.storageKey, ticket)
    const lost = resumed !== undefined && resumed !== ticket
    this.showWaiting(lost ? { code: "place-expired", message: "" } : undefined)
    this.refresh = follow(
      this.gate,
      { ticket, place },
      {
        link: (open) => {
          this.link = open
          if (this.state.name === "waiting") this.showWaiting(this.state.notice)
        },
        place: (next) => {
          this.place = next
          this.showWaiting(this.state.name === "waiting" ? this.state.notice : undefined)
        },
        called: (startBefore) => this.showYourTurn(startBefore),
        session: (session) => void this.connectOwn(session),
        ended: (reason, message) => this.end(reason, message),
        failed: (code, message) => this.showWaiting({ code, message }),
      },
      this.following.signal,
    )
  }

  private showWaiting(latest: Notice | undefined): void {
    const { connecting, link, place } = this
    if (connecting || place === undefined) return
    // redundant while the place itself shows the disruption
    const notice = place.disrupted && latest?.code === "agent_unavailable" ? undefined : latest
    this.show({ name: "waiting", place, link, notice })
  }

  private showYourTurn(startBefore: number): void {
    if (this.connecting) return
    const { state } = this
    const goesOn = state.name === "your-turn"
    // After a reconnect the same start call may be sent again, with a slightly different clock correction.
    if (goesOn && !(Math.abs(state.startBefore - startBefore) > CLOCK_TOLERANCE)) return
    if (goesOn) this.changeTurn({ startBefore })
    else this.show({ name: "your-turn", since: Date.now(), startBefore, starting: false, notice: undefined })
    if (!Number.isNaN(startBefore)) {
      window.setTimeout(() => this.refresh?.(), startBefore - Date.now() + WINDOW_GRACE)
    }
    if (goesOn) return
    // Where two devices wait, a tap says which one has the call.
    if (this.isContested()) this.watchTurn()
    else if (this.options.autoStart === true) void this.start()
  }

  /** Learns within moments that the other device has started the call. */
  private watchTurn(): void {
    const watching = window.setInterval(() => {
      if (this.isOver || this.state.name !== "your-turn") window.clearInterval(watching)
      else this.refresh?.()
    }, WATCH_INTERVAL)
  }

  /** Takes the call. */
  async start(): Promise<void> {
    const called = this.state
    const { ticket } = this
    if (called.name !== "your-turn" || called.starting || ticket === undefined) return
    this.changeTurn({ starting: true, notice: undefined })
    const backTo = (code: string): void => this.changeTurn({ starting: false, notice: { code, message: "" } })
    const asking = window.setTimeout(
      () => this.changeTurn({ notice: { code: "microphone-again", message: "" } }),
      PROMPT_AFTER,
    )
    try {
      await this.equipment.open()
    } catch (error) {
      return backTo(error instanceof NoSound ? error.problem : "no-answer")
    } finally {
      window.clearTimeout(asking)
    }
    if (this.isOver || this.state.name !== "your-turn") return
    this.hasStarted = true
    try {
      await this.connect(await this.gate.start(ticket, neverAborted))
    } catch (error) {
      if (this.isOver || this.connecting) return
      if (!(error instanceof Refusal)) return backTo("no-answer")
      // a later start is another device's
      this.hasStarted = error.code === "start_in_progress"
      if (error.status === 404 || error.status === 410) return this.end("missed", error.message)
      if (error.code === "draining") return this.startElsewhere(error)
      if (error.status !== 409) return this.refuse(error)
      // The session will arrive on the push connection.
      if (!this.hasStarted) this.showWaiting({ code: error.code, message: error.message })
    }
  }

  /** The instance is shutting down and the turn is still open: retries the start, which reaches another instance. */
  private async startElsewhere({ retryAfter = 1 }: Refusal): Promise<void> {
    await this.pause(retryAfter * 1_000)
    if (this.isOver || this.state.name !== "your-turn") return
    this.changeTurn({ starting: false })
    await this.start()
  }

  /** Opens a call that the gate reports, unless another device has started it. */
  private async connectOwn(session: Session): Promise<void> {
    if (this.hasStarted || !this.isContested(session.ticket)) return this.connect(session)
    // after a reload, only the session tells it
    this.ticket ??= session.ticket
    this.end("elsewhere", "")
  }

  /** Opens the call. A second announcement of the same session is ignored, because its URL can be used once. */
  private async connect(session: Session): Promise<void> {
    if (this.isOver) {
      this.discard(session.ticket)
      return
    }
    if (this.connecting) return
    this.connecting = true
    this.following.abort()
    this.show({ name: "connecting", to: "agent" })
    this.call = await connectCall(this, session)
    const { ticket } = session
    if (this.call === undefined || ticket === undefined) return
    window.addEventListener("pagehide", () => this.leaveWithPage(ticket), { signal: this.visit.signal })
  }

  opened(): void {
    if (this.ticket !== undefined) tickets.forget(this.storageKey, this.ticket)
  }

  /** The page goes, or is kept for going back to it: the call is over either way. After a reload, the page says so. */
  private leaveWithPage(ticket: string): void {
    this.gate.leaveWithPage(ticket)
    this.end("interrupted", "")
    this.call?.hangUp()
    tickets.rememberCall(this.storageKey, ticket)
    // This page came back instead, and has said so.
    window.addEventListener("pageshow", () => tickets.rememberCall(this.storageKey, undefined), { once: true })
  }

  setMuted(muted: boolean): void {
    if (this.state.name !== "in-call") return
    this.equipment.setMuted(muted)
    this.call?.setMuted?.(muted)
    this.changeCall({ muted })
  }

  /** Sends a text of the caller; false if it cannot be sent now. */
  send(text: string): boolean {
    if (this.state.name !== "in-call" || !this.state.takesText || !this.state.link) return false
    this.call?.send(text)
    this.visitor.turn({ role: "caller", text })
    return true
  }

  /** Retries at once. */
  retry(): void {
    this.retryNow?.()
  }

  /** Hangs up; false if there is no call. */
  hangUp(): boolean {
    if (this.isOver || this.call === undefined) return false
    this.call.hangUp()
    return true
  }

  /** Releases everything and ends the visit, without showing a state. */
  leave(): void {
    if (this.isOver) return
    if (!this.connecting) this.discard(this.ticket)
    this.finish()
    this.call?.hangUp()
  }

  /** The gate will never answer this page. */
  shutOut(): void {
    if (this.isOver) return
    this.finish()
    this.show({ name: "refused", code: "page_not_allowed", message: "", issues: [], retryAt: undefined })
  }

  private refuse({ code, message, issues, retryAfter }: Refusal): void {
    this.finish()
    const isOwners = explainRefusal(code, this.options)
    const retryAt = retryAfter === undefined ? undefined : Date.now() + retryAfter * 1_000
    this.show({ name: "refused", code, message, issues: isOwners ? [] : issues, retryAt })
  }

  end(reason: string, message: string, lasted?: number): void {
    if (this.isOver) return
    this.finish()
    this.show({ name: "ended", reason, message, lasted })
  }

  private finish(): void {
    this.visit.abort()
    this.following.abort()
    this.equipment.close()
    if (this.ticket !== undefined) tickets.forget(this.storageKey, this.ticket)
  }

  /** Releases the place or session of a ticket that is no longer needed. */
  discard(ticket: string | undefined): void {
    if (ticket !== undefined && ticket !== this.foreign) void this.gate.leave(ticket)
  }
}

watchPolicy()

export type { Visit }

/** One visit; `visitor` is told what happens. */
export const openVisit = (options: VoiceAgentOptions, visitor: Visitor): Visit => new Visit(options, visitor)
