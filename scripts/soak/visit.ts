/** One caller from the request to the end, as the plan has it; whatever the gate should not have answered is a problem. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { type Answer, ask, field } from "../../test/e2e/support/http.ts"
import type { Ledger } from "./ledger.ts"
import { type Line, openLine, type Said } from "./lines.ts"
import { type Caller, WINDOW_SECONDS } from "./plan.ts"
import type { Gates, Platform } from "./platform.ts"

/** A request of a heavy caller that was not refused. */
export interface Grant {
  readonly caller: Caller
  /** when the answer came, ms */
  readonly at: number
}

export interface World {
  readonly gates: Gates
  readonly platform: Platform
  readonly ledger: Ledger
  /** who holds a ticket that was queued, for the audit of the store */
  readonly holders: Map<string, number>
  /** what heavy callers were granted, in order */
  readonly grants: Array<Grant>
}

/** No visit lasts longer: a lost end holds a call for the longest call. */
const LONGEST_MILLIS = 8 * 60_000

export class Visit {
  private readonly world: World
  private readonly caller: Caller
  private readonly timers = new Set<NodeJS.Timeout>()
  private readonly startCalls = new Set<unknown>()
  private finish = (): void => {}
  private gate: number
  private ticket = ""
  private line: Line | undefined
  /** events of older lines are not heard any more */
  private lines = 0
  private started = false
  private over = false

  constructor(world: World, caller: Caller) {
    this.world = world
    this.caller = caller
    this.gate = caller.gate
  }

  async run(): Promise<void> {
    if (this.caller.mood === "hangs-up") {
      this.hangUp()
      return
    }
    const answer = await this.request(undefined)
    if (answer.status !== 202) return this.judge(answer)
    this.ticket = field(answer, "uniqueRequestId") ?? ""
    this.world.holders.set(this.ticket, this.caller.id)
    this.count("queued")
    this.grant()
    const finished = new Promise<void>((resolve) => {
      this.finish = resolve
    })
    this.after(LONGEST_MILLIS, () => this.done("visits without an end"))
    const { mood, patienceMillis } = this.caller
    if (mood === "leaves") this.after(patienceMillis, () => this.leave())
    if (mood === "vanishes") this.after(patienceMillis, () => this.vanish())
    if (mood === "moves") this.after(patienceMillis, () => this.move())
    await this.open()
    await finished
    const allowed = 1 + this.world.platform.spoilt(this.caller.id, "capacity")
    if (this.startCalls.size > allowed) this.problem("called more than once", [...this.startCalls].join(" "))
  }

  private count(name: string): void {
    this.world.ledger.count(name)
  }

  private problem(kind: string, detail: string): void {
    this.world.ledger.problem(kind, `${JSON.stringify(this.caller)}: ${detail}`)
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

  private hangOn(): void {
    this.lines++
    this.line?.cut()
    this.line = undefined
  }

  private target(): { readonly url: string; readonly headers: Record<string, string>; readonly kept: object } {
    const gate = this.world.gates()[this.gate]
    return {
      url: gate?.url ?? "",
      headers: { "x-forwarded-for": this.caller.address },
      kept: this.caller.keepsAlive && gate !== undefined ? { agent: gate.agent } : {},
    }
  }

  private body(ticket: string | undefined): object {
    const { id } = this.caller
    return { clientIdentifier: `caller-${id}`, metadata: { caller: String(id) }, uniqueRequestId: ticket ?? null }
  }

  private request(ticket: string | undefined): Promise<Answer> {
    const { headers, kept, url } = this.target()
    this.count("requests")
    return ask("POST", `${url}/api/session/request`, { body: this.body(ticket), headers, ...kept })
  }

  /** Goes away while the request is under way. What comes of it the gate has to sort out alone. */
  private hangUp(): Promise<void> {
    const { headers, url } = this.target()
    const body = JSON.stringify(this.body(undefined))
    const { hostname, port } = new URL(url)
    this.count("hung up")
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        const head = `POST /api/session/request HTTP/1.1\r\nhost: gate\r\nx-forwarded-for: ${headers["x-forwarded-for"]}\r\n`
        socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        setTimeout(() => socket.destroy(), this.caller.reactionMillis % 20)
      })
      socket.on("error", () => {})
      socket.on("data", () => {})
      socket.on("close", () => resolve())
    })
  }

  private grant(): void {
    if (this.caller.kind === "heavy") this.world.grants.push({ caller: this.caller, at: performance.now() })
  }

  /** Whether the platform has spoilt a start of this caller, so that the gate may say so. */
  private spoilt(): boolean {
    return this.world.platform.failed(this.caller.id)
  }

  /** An answer that is the end of the visit. */
  private judge(answer: Answer): void {
    const code = field(answer, "code") ?? ""
    const { kind } = this.caller
    const expected =
      (answer.status === 200 && kind !== "vpn") ||
      (answer.status === 403 && code === "blocked" && kind === "vpn") ||
      (answer.status === 429 && code === "rate_limited" && kind === "heavy") ||
      (answer.status === 503 && code === "queue_full") ||
      (/^platform_/.test(code) && this.spoilt())
    if (answer.status === 200) this.grant()
    this.count(answer.status === 200 ? "started at once" : `${answer.status} ${code}`)
    if (!expected) this.problem("unexpected statuses", `request ${answer.status} ${answer.text}`)
  }

  private async open(): Promise<void> {
    const mine = ++this.lines
    const { headers, url } = this.target()
    const { transport } = this.caller
    try {
      const line = await openLine[transport](url, this.ticket, headers, (said) => {
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
    if (said.type === "start_call") {
      if (this.startCalls.has(said.startBefore)) return
      this.startCalls.add(said.startBefore)
      this.count("start calls")
      this.called()
    } else if (said.type === "session") this.live()
    else if (said.type === "ended") this.ended(String(said.reason))
    else if (said.type === "error") this.refused(String(said.code))
    else if (said.type === "closed") this.done("lines closed by the gate", JSON.stringify(said))
    else if (said.type !== "position") this.done("unknown events", JSON.stringify(said))
  }

  private called(): void {
    const { mood, reactionMillis, transport } = this.caller
    // the gate starts for its hub
    if (mood === "never" || transport === "hub") return
    this.after(mood === "late" ? WINDOW_SECONDS * 1_000 + 1_500 : reactionMillis, () => this.start())
  }

  private async start(): Promise<void> {
    if (this.started) return
    if (this.caller.startsBySocket && this.line?.send !== undefined) return this.line.send("start")
    const { headers, kept, url } = this.target()
    const answer = await ask("POST", `${url}/api/session/${this.ticket}/start`, { headers, ...kept })
    if (this.over) return
    if (answer.status === 200) {
      this.live()
      return
    }
    const code = field(answer, "code") ?? ""
    if ([409, 410, 502, 503].includes(answer.status)) {
      this.refused(code)
      return
    }
    this.done("unexpected statuses", `start ${answer.status} ${answer.text}`)
  }

  /** A start came to nothing. */
  private refused(code: string): void {
    this.count(`start: ${code}`)
    // at the head again, to be called anew
    if (code === "agent_busy" && this.world.platform.spoilt(this.caller.id, "capacity") > 0) return
    if (code === "ticket_over" && this.caller.mood === "late") {
      this.done()
      return
    }
    if (/^platform_/.test(code) && this.spoilt()) {
      this.done()
      return
    }
    // it moved while it was being started over its old line
    if (code === "start_in_progress" && this.caller.mood === "moves") return
    this.done("starts refused", code)
  }

  private live(): void {
    if (this.started) return
    this.started = true
    this.count("started from the queue")
    for (const timer of this.timers) clearTimeout(timer)
    // the hub and a poller hear nothing of the end that is worth a wait
    const { lingers, transport } = this.caller
    if (!lingers || transport === "hub" || transport === "poll") {
      this.done()
      return
    }
    this.after(LONGEST_MILLIS, () => this.done("visits without an end"))
  }

  private ended(reason: string): void {
    this.count(`told: ${reason}`)
    const { mood } = this.caller
    const expected =
      (reason === "ended" && this.started) ||
      (reason === "reclaimed" && this.world.platform.lostEnd(this.caller.id)) ||
      (reason === "left" && mood === "leaves") ||
      (reason === "missed" && (mood === "late" || mood === "never")) ||
      ((reason === "failed" || reason === "hub") && this.spoilt())
    this.done(expected ? undefined : "tickets over for no reason", reason)
  }

  private async leave(): Promise<void> {
    if (this.started) return
    if (this.line?.send !== undefined && this.caller.startsBySocket) {
      this.line.send("leave")
      // a start that is under way cannot be left any more, and its line says so; the end of the call is awaited then
      return
    }
    const { headers, kept, url } = this.target()
    const answer = await ask("DELETE", `${url}/api/session/${this.ticket}`, { headers, ...kept })
    if (answer.status !== 204) {
      this.done("unexpected statuses", `leave ${answer.status} ${answer.text}`)
      return
    }
    this.count("left")
    this.done()
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
    this.gate = 1 - this.gate
    await sleep(this.caller.reactionMillis)
    if (this.over) return
    const answer = await this.request(this.ticket)
    if (this.over) return
    // it was started over the old line, which is what this answer says as well
    if (answer.status === 200) {
      this.live()
      return
    }
    // its start was spoilt meanwhile, so this was taken for a request of somebody new
    if (this.spoilt()) {
      this.done()
      return
    }
    if (answer.status !== 202 || field(answer, "uniqueRequestId") !== this.ticket) {
      return this.done("places lost in a move", `${answer.status} ${answer.text}`)
    }
    this.count("moved to the other gate")
    await this.open()
  }
}
