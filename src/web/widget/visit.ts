/**
 * One visit, from the wish to talk to the end of the call. The microphone is asked for before a place is taken. Whatever
 * was taken and is no longer wanted is given back: a place is left, a session that nobody talks to is closed.
 */
import { NoSound } from "./audio.ts"
import { type Call, openCall } from "./call.ts"
import { Equipment, type Ready } from "./equipment.ts"
import { follow } from "./events.ts"
import { type Answer, Gate, Refusal, type Session } from "./gate-client.ts"
import { gateUrl, type VoiceAgentOptions } from "./options.ts"
import type { Notice, Place, VoiceAgentState } from "./state.ts"
import * as tickets from "./ticket-store.ts"

export interface Visitor {
  readonly show: (state: VoiceAgentState) => void
  readonly message: (text: string) => void
  readonly said: (loudness: number) => void
  readonly heard: (loudness: number) => void
}

/** Milliseconds before a gate that did not answer is asked again: the first time, and at most. */
const FIRST_RETRY = 2_000
const LONGEST_RETRY = 30_000
/** How long after its start window a ticket is asked for when the gate has not said how it ended. */
const WINDOW_GRACE = 2_000
/** The same moment, told twice, may differ by this much. In milliseconds. */
const CLOCK_TOLERANCE = 2_500

/** For requests that must run to their end even when the visit is over, because their answer holds a place. */
const never = new AbortController().signal

/** Under what a ticket is remembered. */
export const memoryOf = (options: VoiceAgentOptions): string => gateUrl(options, options.campaign ?? "").href

export class Visit {
  private readonly options: VoiceAgentOptions
  private readonly visitor: Visitor
  private readonly gate: Gate
  private readonly memory: string
  private readonly equipment: Equipment
  private readonly visit = new AbortController()
  private readonly following = new AbortController()
  private state: VoiceAgentState = { name: "idle", notice: undefined }
  private ticket: string | undefined
  private place: Place = { position: 1, queueLength: undefined, estimatedWait: undefined, disrupted: false }
  private link = true
  private call: Call | undefined
  private joined = false
  private retryNow: (() => void) | undefined
  private refresh: (() => void) | undefined

  constructor(options: VoiceAgentOptions, visitor: Visitor) {
    this.options = options
    this.visitor = visitor
    this.gate = new Gate(options)
    this.memory = memoryOf(options)
    this.equipment = new Equipment(options, () => {
      if (this.state.name === "in-call") this.show({ ...this.state, microphone: false })
    })
  }

  private get over(): boolean {
    return this.visit.signal.aborted
  }

  private show(state: VoiceAgentState): void {
    this.state = state
    this.visitor.show(state)
  }

  /** Begins anew. Without a microphone the visit stops there, with nothing taken. */
  begin(): Promise<void> {
    return this.persist(async () => {
      this.show({ name: "checking-microphone" })
      await this.equipment.open()
      if (!this.over) await this.ask(undefined)
    })
  }

  /** Takes up a ticket after a reload; false when another tab has it. */
  async resume(ticket: string): Promise<boolean> {
    if (!(await tickets.claim(ticket, this.visit.signal))) return false
    // The place comes first; without a microphone it is asked for again when it is this visitor's turn.
    this.equipment.open().catch(() => {})
    await this.persist(() => this.ask(ticket))
    return true
  }

  /** Does something again for as long as nobody answers. */
  private async persist(task: () => Promise<void>): Promise<void> {
    for (let failures = 0; !this.over; failures++) {
      try {
        return await task()
      } catch (error) {
        if (this.over) return
        if (error instanceof Refusal) return this.refuse(error)
        if (error instanceof NoSound) return this.show({ name: "no-microphone", problem: error.problem })
      }
      const pause = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** failures)
      this.show({ name: "offline", retryAt: Date.now() + pause })
      await this.pause(pause)
    }
  }

  /** Asks for a session. */
  private async ask(resumed: string | undefined): Promise<void> {
    this.show({ name: "connecting", to: "gate" })
    const answer = await this.gate.request(resumed, never)
    if (this.over) this.discard(answer)
    else if (answer.status === "started") await this.connect(answer.session)
    else await this.wait(answer.ticket, answer.place, resumed)
  }

  private pause(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = window.setTimeout(resolve, millis)
      this.retryNow = () => {
        window.clearTimeout(timer)
        resolve()
      }
      window.addEventListener("online", () => this.retryNow?.(), { once: true, signal: this.visit.signal })
    })
  }

  private async wait(ticket: string, place: Place, resumed: string | undefined): Promise<void> {
    this.ticket = ticket
    this.place = place
    tickets.remember(this.memory, ticket)
    const lost = resumed !== undefined && resumed !== ticket
    this.waitOn(lost ? { code: "place-expired", message: "" } : undefined)
    if (resumed !== ticket) await tickets.claim(ticket, this.visit.signal)
    if (this.over) return
    this.refresh = follow(
      this.gate,
      ticket,
      {
        link: (open) => {
          this.link = open
          if (this.state.name === "waiting") this.waitOn(this.state.notice)
        },
        place: (next) => {
          this.place = next
          this.waitOn(this.state.name === "waiting" ? this.state.notice : undefined)
        },
        called: (startBefore) => this.callUp(startBefore),
        session: (session) => void this.connect(session),
        ended: (reason, message) => this.end(reason, message),
        failed: (code, message) => this.waitOn({ code, message }),
      },
      this.following.signal,
    )
  }

  private waitOn(told: Notice | undefined): void {
    if (this.joined) return
    // the place says it already, and for as long as it is so
    const notice = this.place.disrupted && told?.code === "agent_unavailable" ? undefined : told
    this.show({ name: "waiting", place: this.place, link: this.link, notice })
  }

  private callUp(startBefore: number): void {
    // Told again after a reconnection, perhaps by a clock that was measured again.
    const told = this.state.name === "your-turn" && !(Math.abs(this.state.startBefore - startBefore) > CLOCK_TOLERANCE)
    if (told || this.joined) return
    this.show({ name: "your-turn", since: Date.now(), startBefore, starting: false, notice: undefined })
    if (!Number.isNaN(startBefore)) {
      window.setTimeout(() => this.refresh?.(), startBefore - Date.now() + WINDOW_GRACE)
    }
    if (this.options.autoStart === true) void this.start()
  }

  /** Takes the call. */
  async start(): Promise<void> {
    const called = this.state
    const { ticket } = this
    if (called.name !== "your-turn" || called.starting || ticket === undefined) return
    this.show({ ...called, starting: true, notice: undefined })
    const backTo = (code: string): void => {
      if (this.state.name === "your-turn") this.show({ ...called, starting: false, notice: { code, message: "" } })
    }
    try {
      await this.equipment.open()
    } catch (error) {
      return backTo(error instanceof NoSound ? error.problem : "no-answer")
    }
    if (this.over || this.state.name !== "your-turn") return
    try {
      await this.connect(await this.gate.start(ticket, never))
    } catch (error) {
      if (this.over || this.joined) return
      if (!(error instanceof Refusal)) return backTo("no-answer")
      if (error.status === 404 || error.status === 410) return this.end("missed", error.message)
      if (error.code === "draining") return this.startElsewhere(error)
      if (error.status !== 409) return this.refuse(error)
      // The session is on its way to the open connection.
      if (error.code !== "start_in_progress") this.waitOn({ code: error.code, message: error.message })
    }
  }

  /** The gate that was asked is going away, and the turn is not over: whoever asks again is answered by another one. */
  private async startElsewhere({ retryAfter = 1 }: Refusal): Promise<void> {
    await this.pause(retryAfter * 1_000)
    if (this.over || this.state.name !== "your-turn") return
    this.show({ ...this.state, starting: false })
    await this.start()
  }

  /** Opens the call; a second announcement of the same session is ignored, because its address is good once. */
  private async connect(session: Session): Promise<void> {
    if (this.over) {
      this.discard({ status: "started", session })
      return
    }
    if (this.joined) return
    this.joined = true
    this.following.abort()
    this.show({ name: "connecting", to: "agent" })
    let ready: Ready
    try {
      // There already, but for a reload while the call was being started.
      ready = await this.equipment.open()
    } catch {
      this.discard({ status: "started", session })
      this.end("no-sound", "")
      return
    }
    if (this.over) {
      this.discard({ status: "started", session })
      return
    }
    const { source, sound } = ready
    let since: number | undefined
    this.call = openCall(session, sound, source, {
      opened: () => {
        since = Date.now()
        if (this.ticket !== undefined) tickets.forget(this.memory, this.ticket)
        source.setMuted(false)
        this.show({ name: "in-call", since, muted: false, link: true, microphone: true })
      },
      message: this.visitor.message,
      said: this.visitor.said,
      heard: this.visitor.heard,
      link: (link) => {
        if (this.state.name === "in-call") this.show({ ...this.state, link })
      },
      ended: (how) => this.end(how, "", since === undefined ? undefined : Date.now() - since),
    })
  }

  setMuted(muted: boolean): void {
    if (this.state.name !== "in-call") return
    this.equipment.setMuted(muted)
    this.show({ ...this.state, muted })
  }

  /** Stops waiting for the next attempt. */
  retry(): void {
    this.retryNow?.()
  }

  /** Hangs up; false when there is no call. */
  hangUp(): boolean {
    if (this.over || this.call === undefined) return false
    this.call.hangUp()
    return true
  }

  /** Gives up whatever is held and forgets the visit; shows nothing. */
  leave(): void {
    if (this.over) return
    if (this.ticket !== undefined && !this.joined) this.gate.leave(this.ticket)
    this.finish()
    this.call?.hangUp()
    this.retryNow?.()
  }

  private refuse({ code, message, issues, retryAfter }: Refusal): void {
    this.finish()
    const retryAt = retryAfter === undefined ? undefined : Date.now() + retryAfter * 1_000
    this.show({ name: "refused", code, message, issues, retryAt })
  }

  private end(reason: string, message: string, lasted?: number): void {
    if (this.over) return
    this.finish()
    this.show({ name: "ended", reason, message, lasted })
  }

  private finish(): void {
    this.visit.abort()
    this.following.abort()
    this.equipment.close()
    if (this.ticket !== undefined) tickets.forget(this.memory, this.ticket)
  }

  /** Gives back what an answer holds that nobody waits for any more. */
  private discard(answer: Answer): void {
    if (answer.status === "queued") {
      this.gate.leave(answer.ticket)
      return
    }
    const socket = new WebSocket(answer.session.webSocketUrl.replace(/^http/, "ws"))
    socket.onopen = () => socket.close()
  }
}
