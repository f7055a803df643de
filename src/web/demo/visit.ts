/**
 * One visit, from the wish to talk to the end of the call. The microphone is asked for before a place is taken. Whatever
 * was taken and is no longer wanted is given back: a place is left, a session that nobody talks to is closed.
 */
import { NoMicrophone, openMicrophone, openTone, type Source, type SourceKind } from "./audio.ts"
import { type Call, openCall } from "./call.ts"
import { follow } from "./events.ts"
import * as gate from "./gate-client.ts"
import type { State } from "./state.ts"
import * as tickets from "./ticket-store.ts"

export interface Visitor {
  readonly show: (state: State) => void
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

export class Visit {
  private readonly visitor: Visitor
  private readonly visit = new AbortController()
  private readonly following = new AbortController()
  private state: State = { name: "idle" }
  private source: Source | undefined
  private ticket: gate.Ticket | undefined
  private place: gate.Place = { position: 1, queueLength: undefined, estimatedWait: undefined }
  private link = true
  private call: Call | undefined
  private joined = false
  private retryNow: (() => void) | undefined
  private refresh: (() => void) | undefined

  constructor(visitor: Visitor) {
    this.visitor = visitor
  }

  private get over(): boolean {
    return this.visit.signal.aborted
  }

  private show(state: State): void {
    this.state = state
    this.visitor.show(state)
  }

  /** Begins with a source of sound; without a microphone the visit stops there, and `begin("tone")` goes on. */
  async begin(kind: SourceKind): Promise<void> {
    if (kind === "microphone") this.show({ name: "asking" })
    try {
      await this.listenTo(kind)
    } catch (error) {
      if (!this.over) this.show({ name: "no-microphone", why: whyOf(error) })
      return
    }
    if (!this.over) await this.ask(undefined)
  }

  /** Takes up a ticket after a reload; false when another tab has it. */
  async resume({ id, source }: tickets.Remembered): Promise<boolean> {
    if (!(await tickets.claim(id, this.visit.signal))) return false
    // The place comes first; without the microphone a tone is offered when it is this visitor's turn.
    this.listenTo(source).catch(() => {})
    await this.ask(id)
    return true
  }

  private async listenTo(kind: SourceKind): Promise<Source> {
    const source = kind === "tone" ? openTone() : await openMicrophone()
    if (this.over) source.stop()
    this.source?.stop()
    this.source = source
    source.onLost(() => {
      if (this.joined) this.visitor.message("The microphone was disconnected; the agent hears nothing.")
      else if (this.source === source) this.source = undefined
    })
    return source
  }

  /** Asks for a session until the gate answers. */
  private async ask(resumed: string | undefined): Promise<void> {
    for (let failures = 0; ; failures++) {
      this.show({ name: "connecting", to: "gate" })
      try {
        const answer = await gate.request(resumed, never)
        if (this.over) discard(answer)
        else if (answer.status === "started") this.connect(answer.session)
        else await this.wait(answer.ticket, answer.place, resumed)
        return
      } catch (error) {
        if (this.over) return
        if (error instanceof gate.Refusal) return this.refuse(error)
      }
      const pause = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** failures)
      this.show({ name: "offline", retryAt: Date.now() + pause })
      await this.pause(pause)
      if (this.over) return
    }
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

  private async wait(ticket: gate.Ticket, place: gate.Place, resumed: string | undefined): Promise<void> {
    this.ticket = ticket
    this.place = place
    tickets.remember({ id: ticket.id, source: this.source?.kind ?? "microphone" })
    const lost = resumed !== undefined && resumed !== ticket.id
    this.waitOn(lost ? "Your old place had expired, so this is a new one." : undefined)
    if (resumed !== ticket.id) await tickets.claim(ticket.id, this.visit.signal)
    if (this.over) return
    this.refresh = follow(
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
        session: (session) => this.connect(session),
        ended: (reason, message) => this.end(reason, message),
        failed: (_, message) => this.waitOn(message),
      },
      this.following.signal,
    )
  }

  private waitOn(notice: string | undefined): void {
    this.show({ name: "waiting", place: this.place, link: this.link, notice })
  }

  private callUp(startBefore: number): void {
    // Told again after a reconnection, perhaps by a clock that was measured again.
    const told = this.state.name === "called" && !(Math.abs(this.state.startBefore - startBefore) > CLOCK_TOLERANCE)
    if (told || this.joined) return
    this.show({
      name: "called",
      since: Date.now(),
      startBefore,
      starting: false,
      notice: undefined,
      offerTone: false,
    })
    if (Number.isNaN(startBefore)) return
    window.setTimeout(() => this.refresh?.(), startBefore - Date.now() + WINDOW_GRACE)
  }

  /** Takes the call. With a tone when the microphone could not be had. */
  async start(kind: SourceKind | undefined): Promise<void> {
    const called = this.state
    const { ticket } = this
    if (called.name !== "called" || called.starting || ticket === undefined) return
    this.show({ ...called, starting: true, notice: undefined })
    const backTo = (notice: string, offerTone: boolean): void => {
      if (this.state.name === "called") this.show({ ...called, starting: false, notice, offerTone })
    }
    if (kind !== undefined || this.source === undefined) {
      try {
        await this.listenTo(kind ?? "microphone")
      } catch {
        return backTo("The microphone cannot be used. You can go on with a test tone.", true)
      }
    }
    try {
      this.connect(await gate.start(ticket.id, never))
    } catch (error) {
      if (this.over || this.joined) return
      if (!(error instanceof gate.Refusal))
        return backTo("The gate did not answer. Please try again.", called.offerTone)
      if (error.status === 404 || error.status === 410) return this.end("missed", error.message)
      if (error.status !== 409) return this.refuse(error)
      // The session is on its way to the open connection.
      if (error.code !== "start_in_progress") this.waitOn(error.message)
    }
  }

  /** Opens the call; a second announcement of the same session is ignored, because its address is good once. */
  private connect(session: gate.Session): void {
    if (this.over) {
      discard({ status: "started", session })
      return
    }
    if (this.joined) return
    this.joined = true
    this.following.abort()
    this.show({ name: "connecting", to: "agent" })
    // Only a reload in between comes here without a source, and a held session is not to be lost by it.
    const source = this.source ?? openTone()
    this.source = source
    let since: number | undefined
    this.call = openCall(session, source, {
      opened: () => {
        since = Date.now()
        tickets.forget()
        source.setMuted(false)
        this.show({ name: "in-call", since, muted: false, source: source.kind })
      },
      message: this.visitor.message,
      said: this.visitor.said,
      heard: this.visitor.heard,
      ended: (how) => this.end(how, "", since === undefined ? undefined : Date.now() - since),
    })
  }

  setMuted(muted: boolean): void {
    if (this.state.name !== "in-call") return
    this.source?.setMuted(muted)
    this.show({ ...this.state, muted })
  }

  hangUp(): void {
    this.call?.hangUp()
  }

  /** Stops waiting for the next attempt. */
  retry(): void {
    this.retryNow?.()
  }

  /** Gives up whatever is held and forgets the visit; shows nothing. */
  leave(): void {
    if (this.over) return
    if (this.ticket !== undefined && !this.joined) gate.leave(this.ticket.id)
    this.finish()
    this.call?.hangUp()
    this.retryNow?.()
  }

  private refuse({ code, message, issues, retryAfter }: gate.Refusal): void {
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
    this.source?.stop()
    tickets.forget()
  }
}

const whyOf = (error: unknown): NoMicrophone["why"] => (error instanceof NoMicrophone ? error.why : "missing")

/** Gives back what an answer holds that nobody waits for any more. */
const discard = (answer: gate.Answer): void => {
  if (answer.status === "queued") {
    gate.leave(answer.ticket.id)
    return
  }
  const socket = new WebSocket(answer.session.webSocketUrl.replace(/^http/, "ws"))
  socket.onopen = () => socket.close()
}
