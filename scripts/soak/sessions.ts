/**
 * The sessions of the platform: how many run at every moment, and how well or badly the gates are told of their ends.
 */
import type { Agent } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { ask } from "../../test/e2e/support/http.ts"
import type { Ledger } from "./ledger.ts"
import { type Outcome, SLOTS, type Start } from "./plan.ts"

export const WEBHOOK_TOKEN = "soak-webhook-token-0123456789"

/** By then a gate has heard of an end, asked after it, or reclaimed the slot. */
const REMEMBERED_MILLIS = 7 * 60_000

const WEBHOOK_TRIES = 4
const WEBHOOK_RETRY_MILLIS = 1_000

/** Where the gates are; known only after the platform, whose address they need. */
export type Gates = () => ReadonlyArray<{ readonly url: string; readonly agent: Agent }>

export interface Session {
  readonly caller: number
  /** by which the platform knows the caller */
  readonly client: string
  readonly startedAt: number
  readonly web: string
  readonly conversation: string
  over: boolean
  /** the platform itself does not know that it is over */
  silent: boolean
  /** webhooks that freed a slot */
  released: number
}

/** What ends the ticket. */
const FAILED: ReadonlyArray<Outcome> = ["refused", "early"]
/** After these the ticket is at its place again, and is called again. */
export const KEPT: ReadonlyArray<Outcome> = ["capacity", "unavailable", "ghost"]
/** Of these so many may end the ticket: others have begun their calls between them. */
const STRUCK: ReadonlyArray<Outcome> = ["unavailable", "ghost"]
const STRIKES = 3

export class Sessions {
  private readonly gates: Gates
  private readonly ledger: Ledger
  private readonly byId = new Map<string, Session>()
  /** in the order in which they began, while they are remembered */
  private began: Array<Session> = []
  private readonly spoiltStarts = new Map<string, number>()
  private readonly lostEnds = new Set<number>()
  private made = 0
  /** sessions that hold a slot, and the most there ever were */
  running = 0
  peak = 0

  constructor(gates: Gates, ledger: Ledger) {
    this.gates = gates
    this.ledger = ledger
  }

  find(web: string): Session | undefined {
    return this.byId.get(web)
  }

  /** ids that the gates were ever told */
  get ids(): number {
    return 2 * this.made
  }

  /** Newest first, from the `from`-th on. */
  page(from: number, limit: number): ReadonlyArray<Session> {
    const end = this.began.length - from
    return this.began.slice(Math.max(0, end - limit), Math.max(0, end)).toReversed()
  }

  /** Starts that were turned down or spoilt for a caller, by kind. */
  spoilt(caller: number, ...outcomes: ReadonlyArray<Outcome>): number {
    return outcomes.reduce((sum, outcome) => sum + (this.spoiltStarts.get(`${caller} ${outcome}`) ?? 0), 0)
  }

  /** Starts that left the caller's ticket at its place, to be called again. */
  kept(caller: number): number {
    return this.spoilt(caller, ...KEPT)
  }

  /** Whether a start of this caller failed in a way that ended its ticket. */
  failed(caller: number): boolean {
    return this.spoilt(caller, ...FAILED) > 0 || this.spoilt(caller, ...STRUCK) >= STRIKES
  }

  lostEnd(caller: number): boolean {
    return this.lostEnds.has(caller)
  }

  spoil(caller: number, outcome: Outcome): void {
    this.spoiltStarts.set(`${caller} ${outcome}`, this.spoilt(caller, outcome) + 1)
    this.ledger.count(`platform: ${outcome}`)
  }

  /** A session begins, and the gates must hold a slot for it, whether they were told of it or not. */
  begin(caller: number, client: string): Session {
    const n = ++this.made
    const session: Session = {
      caller,
      client,
      startedAt: Date.now(),
      web: `w${n}`,
      conversation: `c${n}`,
      over: false,
      silent: false,
      released: 0,
    }
    this.byId.set(session.web, session)
    this.began.push(session)
    this.ledger.count("calls started")
    this.running++
    this.peak = Math.max(this.peak, this.running)
    if (this.running > SLOTS) this.ledger.problem("more calls than slots", `${this.running} with caller ${caller}`)
    return session
  }

  /** A session is over, and the gates are told as the plan has it; one that they `know` must free its slot. */
  async end(session: Session, { ending, gate, lateMillis }: Start, known: boolean): Promise<void> {
    session.over = true
    this.running--
    this.ledger.count("calls ended")
    this.ledger.count(`ends ${ending}`)
    setTimeout(() => this.forget(session), REMEMBERED_MILLIS).unref()
    if (ending === "lost" || ending === "silent") {
      this.lostEnds.add(session.caller)
      session.silent = ending === "silent"
      return
    }
    if (ending === "late") await sleep(lateMillis)
    await Promise.all((ending === "repeated" ? [0, 1] : [gate]).map((each) => this.tell(session, each)))
    if (known && session.released === 0) this.ledger.problem("ends that freed no slot", JSON.stringify(session))
  }

  private forget({ web }: Session): void {
    this.byId.delete(web)
    const first = this.began.findIndex((session) => this.byId.has(session.web))
    this.began = first === -1 ? [] : this.began.slice(first)
  }

  /** One webhook to a gate, under either name of the session; again, if the gate could not take it. */
  private async tell(session: Session, index: number, tries = 1): Promise<void> {
    const gate = this.gates()[index]
    if (gate === undefined) return
    const again = async (): Promise<void> => {
      if (tries === WEBHOOK_TRIES) return
      await sleep(WEBHOOK_RETRY_MILLIS)
      await this.tell(session, index, tries + 1)
    }
    const body = session.web.endsWith("0")
      ? { webSessionId: session.web }
      : { ConversationSessionId: session.conversation }
    try {
      const { json, status, text } = await ask("POST", `${gate.url}/api/webhook/session-ended`, {
        body,
        headers: { "x-api-token": WEBHOOK_TOKEN },
        agent: gate.agent,
      })
      this.ledger.count("webhooks told")
      if (status !== 200) {
        this.ledger.problem("unexpected statuses", `webhook ${status} ${text}`)
        return await again()
      }
      if (json.released === true) session.released++
      if (session.released > 1) this.ledger.problem("slots freed twice", JSON.stringify(session))
    } catch (error) {
      this.ledger.problem("broken connections", `webhook: ${String(error)}`)
      await again()
    }
  }
}
