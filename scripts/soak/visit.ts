/** One caller from the request to the end, as the plan has it; whatever the gate should not have answered is a problem. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Answer, field } from "../../test/e2e/support/http.ts"
import { Asking } from "./asking.ts"
import { expectedAnswer, expectedEnd, expectedRefusal } from "./expected.ts"
import { type Line, openLine, type Said } from "./lines.ts"
import { type Caller, WINDOW_SECONDS } from "./plan.ts"
import type { World } from "./world.ts"

/** No visit lasts longer: a lost end holds a call for the longest call. */
const LONGEST_MILLIS = 8 * 60_000
/** A turn lasts so much longer at most where another gate's sweep is not due yet (two looks, a second each); a window is 8 s. */
const LONGER_MILLIS = 3_000

export class Visit {
  private readonly world: World
  private readonly caller: Caller
  private readonly gate: Asking
  private readonly timers = new Set<NodeJS.Timeout>()
  /** when each start call's window ends, as the gate wrote it */
  private readonly startCalls: Array<string> = []
  private finish = (): void => {}
  private ticket = ""
  private line: Line | undefined
  /** events of older lines are not heard any more */
  private lines = 0
  private started = false
  private over = false

  constructor(world: World, caller: Caller) {
    this.world = world
    this.caller = caller
    this.gate = new Asking(world.gates, caller)
  }

  async run(): Promise<void> {
    const { kind, mood, patienceMillis } = this.caller
    this.count("requests")
    if (mood === "hangs-up") {
      this.count("hung up")
      return this.gate.hangUp()
    }
    const answer = await this.gate.request(undefined)
    const granted = answer.status === 200 || answer.status === 202
    if (granted && kind === "heavy") this.world.grants.push({ caller: this.caller, at: performance.now() })
    if (answer.status !== 202) return this.judge(answer)
    this.ticket = field(answer, "uniqueRequestId") ?? ""
    this.world.holders.set(this.ticket, this.caller.id)
    this.count("queued")
    const finished = new Promise<void>((resolve) => {
      this.finish = resolve
    })
    this.after(LONGEST_MILLIS, () => this.done("visits without an end"))
    if (mood === "leaves") this.after(patienceMillis, () => this.leave())
    if (mood === "vanishes") this.after(patienceMillis, () => this.vanish())
    if (mood === "moves") this.after(patienceMillis, () => this.move())
    await this.open()
    await finished
    const allowed = 1 + this.world.platform.kept(this.caller.id)
    if (this.startCalls.length > allowed) this.problem("called more than once", this.startCalls.join(" "))
  }

  /** An answer that is the end of the visit. */
  private judge(answer: Answer): void {
    this.count(answer.status === 200 ? "started at once" : `${answer.status} ${field(answer, "code")}`)
    if (expectedAnswer(this.world, this.caller, answer)) return
    this.problem("unexpected statuses", `request ${answer.status} ${answer.text}`)
  }

  private async open(): Promise<void> {
    const mine = ++this.lines
    const { transport } = this.caller
    try {
      const line = await openLine[transport](this.gate.url, this.ticket, this.gate.headers, (said) => {
        if (mine === this.lines && !this.over) this.heard(said)
      })
      if (mine === this.lines && !this.over) this.line = line
      else line.cut()
      this.count(`lines: ${transport}`)
    } catch (error) {
      if (mine === this.lines) this.done("broken connections", `opening ${transport}: ${String(error)}`)
    }
  }

  private heard(said: Said): void {
    if (said.type === "start_call") this.called(String(said.startBefore))
    else if (said.type === "session") this.live()
    else if (said.type === "ended") this.ended(String(said.reason))
    else if (said.type === "error") this.refused(String(said.code))
    else if (said.type === "closed") this.done("lines closed by the gate", JSON.stringify(said))
    else if (said.type !== "position") this.done("unknown events", JSON.stringify(said))
  }

  private called(startBefore: string): void {
    // a line that is opened again, or is not the first to ask, hears of the same start call
    if (this.startCalls.includes(startBefore)) return
    const { mood, reactionMillis, transport } = this.caller
    // who lets a turn end may hear that it lasts a moment longer, until the other gate has swept: that is no further call
    const before = this.startCalls.at(-1)
    const letsEnd = mood === "late" || mood === "never"
    if (letsEnd && before !== undefined && Date.parse(startBefore) - Date.parse(before) < LONGER_MILLIS) return
    this.startCalls.push(startBefore)
    this.count("start calls")
    // the gate starts for its hub
    if (mood === "never" || transport === "hub") return
    this.after(mood === "late" ? WINDOW_SECONDS * 1_000 + 1_500 : reactionMillis, () => this.start())
  }

  private async start(): Promise<void> {
    if (this.started) return
    if (this.caller.startsBySocket && this.line?.send !== undefined) return this.line.send("start")
    const answer = await this.gate.start(this.ticket)
    if (this.over) return
    if (answer.status === 200) this.live()
    else if ([409, 410, 422, 502, 503].includes(answer.status)) this.refused(field(answer, "code") ?? "")
    else this.done("unexpected statuses", `start ${answer.status} ${answer.text}`)
  }

  /** A start came to nothing. */
  private refused(code: string): void {
    this.count(`start: ${code}`)
    const meaning = expectedRefusal(this.world, this.caller, code)
    if (meaning === "over") this.done()
    else if (meaning === "unexpected") this.done("starts refused", code)
  }

  private live(): void {
    if (this.started) return
    this.started = true
    this.count("started from the queue")
    for (const timer of this.timers) clearTimeout(timer)
    // neither the hub nor a poller is told of the end of a call, nor who is on the way to the other gate
    const { lingers, transport } = this.caller
    if (!lingers || transport === "hub" || transport === "poll" || this.line === undefined) this.done()
    else this.after(LONGEST_MILLIS, () => this.done("visits without an end"))
  }

  private ended(reason: string): void {
    this.count(`told: ${reason}`)
    const expected = expectedEnd(this.world, this.caller, reason, this.started)
    this.done(expected ? undefined : "tickets over for no reason", reason)
  }

  private async leave(): Promise<void> {
    if (this.started) return
    if (this.line?.send !== undefined && this.caller.startsBySocket) return this.line.send("leave")
    const { status, text } = await this.gate.leave(this.ticket)
    this.count("left")
    if (status === 204) this.done()
    else this.done("unexpected statuses", `leave ${status} ${text}`)
  }

  private vanish(): void {
    if (this.started) return
    this.count("vanished")
    this.done()
  }

  /** Loses the connection, and comes back by the ticket at the other gate. */
  private async move(): Promise<void> {
    if (this.started) return
    this.hangOn()
    this.gate.move()
    await sleep(this.caller.reactionMillis)
    if (this.over) return
    const answer = await this.gate.request(this.ticket)
    if (this.over) return
    if (answer.status === 202 && field(answer, "uniqueRequestId") === this.ticket) {
      this.count("moved to the other gate")
      return this.open()
    }
    // started over the old line meanwhile; or spoilt there, so that this was taken for somebody new
    if (answer.status === 200) this.live()
    else if (this.world.platform.failed(this.caller.id)) this.done()
    else this.done("places lost in a move", `${answer.status} ${answer.text}`)
  }

  /** Without its line, for now or for good. */
  private hangOn(): void {
    this.lines++
    this.line?.cut()
    this.line = undefined
  }

  private after(millis: number, act: () => void | Promise<void>): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      if (this.over) return
      Promise.resolve(act()).catch((error: unknown) => this.done("broken connections", String(error)))
    }, millis)
    this.timers.add(timer)
  }

  /** The visit is over, with a problem or without. */
  private done(problem?: string, detail = ""): void {
    if (this.over) return
    this.over = true
    if (problem !== undefined) this.problem(problem, detail)
    for (const timer of this.timers) clearTimeout(timer)
    this.hangOn()
    this.finish()
  }

  private count(name: string): void {
    this.world.ledger.count(name)
  }

  private problem(kind: string, detail: string): void {
    this.world.ledger.problem(kind, `${JSON.stringify(this.caller)}: ${detail}`)
  }
}
