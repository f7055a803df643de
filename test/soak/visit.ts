/** One caller from the request to the end, as planned; every unexpected answer of the gate is a problem. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Answer, field } from "../harness/http.ts"
import { CallerClient } from "./caller-client.ts"
import { type EventChannel, type GateEvent, openChannel } from "./event-channels.ts"
import { expectedAnswer, expectedEnd, expectedRefusal } from "./expected.ts"
import { type Caller, WINDOW_SECONDS } from "./plan.ts"
import type { World } from "./world.ts"

/** Limit of a visit: a lost end keeps a call for the longest call. */
const MAX_VISIT_MILLIS = 8 * 60_000
/** How much longer than its window (8 s) a turn may last until another gate's sweep, in ms. */
const MAX_LATE_SWEEP_MILLIS = 3_000

export class Visit {
  private readonly world: World
  private readonly caller: Caller
  private readonly gate: CallerClient
  private readonly timers = new Set<NodeJS.Timeout>()
  /** the end of each start call's window, as the gate sent it */
  private readonly startCalls: Array<string> = []
  private finish = (): void => {}
  private ticket = ""
  private channel: EventChannel | undefined
  /** the number of the current channel; events of older ones are ignored */
  private channels = 0
  private started = false
  private over = false

  constructor(world: World, caller: Caller) {
    this.world = world
    this.caller = caller
    this.gate = new CallerClient(world.gates, caller)
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
    this.after(MAX_VISIT_MILLIS, () => this.done("visits that did not end"))
    if (mood === "leaves") this.after(patienceMillis, () => this.leave())
    if (mood === "vanishes") this.after(patienceMillis, () => this.vanish())
    if (mood === "moves") this.after(patienceMillis, () => this.move())
    await this.open()
    await finished
    const allowed = 1 + this.world.platform.retryableStarts(this.caller.id)
    if (this.startCalls.length > allowed) this.problem("called more than once", this.startCalls.join(" "))
  }

  /** Checks an answer that ends the visit. */
  private judge(answer: Answer): void {
    this.count(answer.status === 200 ? "started at once" : `${answer.status} ${field(answer, "code")}`)
    if (expectedAnswer(this.world, this.caller, answer)) return
    this.problem("unexpected statuses", `request ${answer.status} ${answer.text}`)
  }

  private async open(): Promise<void> {
    const mine = ++this.channels
    const { transport } = this.caller
    try {
      const line = await openChannel[transport](this.gate.url, this.ticket, this.gate.headers, (event) => {
        if (mine === this.channels && !this.over) this.onEvent(event)
      })
      if (mine === this.channels && !this.over) this.channel = line
      else line.cut()
      this.count(`lines: ${transport}`)
    } catch (error) {
      if (mine === this.channels) this.done("broken connections", `opening ${transport}: ${String(error)}`)
    }
  }

  private onEvent(event: GateEvent): void {
    if (event.type === "start_call") this.called(String(event.startBefore))
    else if (event.type === "session") this.live()
    else if (event.type === "ended") this.ended(String(event.reason))
    else if (event.type === "error") this.refused(String(event.code))
    else if (event.type === "closed") this.done("channels closed by the gate", JSON.stringify(event))
    else if (event.type !== "position") this.done("unknown events", JSON.stringify(event))
  }

  private called(startBefore: string): void {
    // a reopened channel, or a second poll, gets the same start call again
    if (this.startCalls.includes(startBefore)) return
    const { mood, reactionMillis, transport } = this.caller
    // a turn that is missed may be extended until the other gate's sweep: that is not another call
    const before = this.startCalls.at(-1)
    const missesTurn = mood === "late" || mood === "never"
    if (missesTurn && before !== undefined && Date.parse(startBefore) - Date.parse(before) < MAX_LATE_SWEEP_MILLIS)
      return
    this.startCalls.push(startBefore)
    this.count("start calls")
    // the gate starts calls of hub connections itself
    if (mood === "never" || transport === "hub") return
    this.after(mood === "late" ? WINDOW_SECONDS * 1_000 + 1_500 : reactionMillis, () => this.start())
  }

  private async start(): Promise<void> {
    if (this.started) return
    if (this.caller.startsBySocket && this.channel?.send !== undefined) return this.channel.send("start")
    const answer = await this.gate.start(this.ticket)
    if (this.over) return
    if (answer.status === 200) this.live()
    else if ([409, 410, 422, 502, 503].includes(answer.status)) this.refused(field(answer, "code") ?? "")
    else this.done("unexpected statuses", `start ${answer.status} ${answer.text}`)
  }

  /** Handles a refused start. */
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
    // the hub and pollers are not notified of the end of a call, nor is a caller who is moving to the other gate
    const { lingers, transport } = this.caller
    if (!lingers || transport === "hub" || transport === "poll" || this.channel === undefined) this.done()
    else this.after(MAX_VISIT_MILLIS, () => this.done("visits that did not end"))
  }

  private ended(reason: string): void {
    this.count(`ended: ${reason}`)
    const expected = expectedEnd(this.world, this.caller, reason, this.started)
    this.done(expected ? undefined : "tickets ended for an unexpected reason", reason)
  }

  private async leave(): Promise<void> {
    if (this.started) return
    if (this.channel?.send !== undefined && this.caller.startsBySocket) return this.channel.send("leave")
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

  /** Disconnects, and reconnects with the ticket to the other gate. */
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
    // started on the old channel in the meantime; or failed there, so that this counts as a new caller
    if (answer.status === 200) this.live()
    else if (this.world.platform.failed(this.caller.id)) this.done()
    else this.done("places lost in a move", `${answer.status} ${answer.text}`)
  }

  /** Waits without a channel, temporarily or permanently. */
  private hangOn(): void {
    this.channels++
    this.channel?.cut()
    this.channel = undefined
  }

  private after(millis: number, act: () => void | Promise<void>): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      if (this.over) return
      Promise.resolve(act()).catch((error: unknown) => this.done("broken connections", String(error)))
    }, millis)
    this.timers.add(timer)
  }

  /** Ends the visit, with or without a problem. */
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
