/**
 * The platform's sessions: counts the running ones, and reports their ends to the gates with the planned failures.
 */
import type { Agent } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { ask } from "../harness/http.ts"
import type { Ledger } from "./ledger.ts"
import { type Outcome, SLOTS, type Start } from "./plan.ts"

export const WEBHOOK_TOKEN = "soak-webhook-token-0123456789"

/** Within this time a gate has learned of an end, checked the session, or reclaimed the slot. */
const SESSION_RETENTION_MILLIS = 7 * 60_000

const WEBHOOK_ATTEMPTS = 4
const WEBHOOK_RETRY_MILLIS = 1_000

/** The gates; known only after the platform has started, because they need its address. */
export type Gates = () => ReadonlyArray<{ readonly url: string; readonly agent: Agent }>

export interface Session {
  readonly caller: number
  /** the caller's client identifier */
  readonly client: string
  readonly startedAt: number
  readonly web: string
  readonly conversation: string
  over: boolean
  /** the platform never reports that it has ended */
  silent: boolean
  /** webhooks that freed a slot */
  released: number
}

/** Outcomes that end the ticket. */
const FAILED: ReadonlyArray<Outcome> = ["refused", "early"]
/** Outcomes after which the ticket is back at its place and is called again. */
export const RETRYABLE: ReadonlyArray<Outcome> = ["capacity", "unavailable", "ghost"]
/** `STRIKES` of these may end the ticket, when other callers' starts succeed in between. */
const STRIKE_OUTCOMES: ReadonlyArray<Outcome> = ["unavailable", "ghost"]
const STRIKES = 3

export class Sessions {
  private readonly gates: Gates
  private readonly ledger: Ledger
  private readonly byId = new Map<string, Session>()
  /** in order of start, within the retention time */
  private began: Array<Session> = []
  private readonly spoiltStarts = new Map<string, number>()
  private readonly lostEnds = new Set<number>()
  private made = 0
  /** sessions that hold a slot, and their peak */
  running = 0
  peak = 0

  constructor(gates: Gates, ledger: Ledger) {
    this.gates = gates
    this.ledger = ledger
  }

  find(web: string): Session | undefined {
    return this.byId.get(web)
  }

  /** the number of session ids that the gates have received */
  get ids(): number {
    return 2 * this.made
  }

  /** Newest first, starting at index `from`. */
  page(from: number, limit: number): ReadonlyArray<Session> {
    const end = this.began.length - from
    return this.began.slice(Math.max(0, end - limit), Math.max(0, end)).toReversed()
  }

  /** The number of a caller's failed starts with these outcomes. */
  failedStarts(caller: number, ...outcomes: ReadonlyArray<Outcome>): number {
    return outcomes.reduce((sum, outcome) => sum + (this.spoiltStarts.get(`${caller} ${outcome}`) ?? 0), 0)
  }

  /** The number of starts after which the caller's ticket is called again. */
  retryableStarts(caller: number): number {
    return this.failedStarts(caller, ...RETRYABLE)
  }

  /** Whether a start of this caller failed in a way that ended its ticket. */
  failed(caller: number): boolean {
    return this.failedStarts(caller, ...FAILED) > 0 || this.failedStarts(caller, ...STRIKE_OUTCOMES) >= STRIKES
  }

  lostEnd(caller: number): boolean {
    return this.lostEnds.has(caller)
  }

  spoil(caller: number, outcome: Outcome): void {
    this.spoiltStarts.set(`${caller} ${outcome}`, this.failedStarts(caller, outcome) + 1)
    this.ledger.count(`platform: ${outcome}`)
  }

  /** Starts a session; the gates must hold a slot for it, whether they got the answer or not. */
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

  /** Ends a session and reports it to the gates as planned; the end of a `known` session must free its slot. */
  async end(session: Session, { ending, gate, lateMillis }: Start, known: boolean): Promise<void> {
    session.over = true
    this.running--
    this.ledger.count("calls ended")
    this.ledger.count(`ends ${ending}`)
    setTimeout(() => this.forget(session), SESSION_RETENTION_MILLIS).unref()
    if (ending === "lost" || ending === "silent") {
      this.lostEnds.add(session.caller)
      session.silent = ending === "silent"
      return
    }
    if (ending === "late") await sleep(lateMillis)
    await Promise.all((ending === "repeated" ? [0, 1] : [gate]).map((each) => this.sendWebhook(session, each)))
    if (known && session.released === 0) this.ledger.problem("ends that freed no slot", JSON.stringify(session))
  }

  private forget({ web }: Session): void {
    this.byId.delete(web)
    const first = this.began.findIndex((session) => this.byId.has(session.web))
    this.began = first === -1 ? [] : this.began.slice(first)
  }

  /** Sends one webhook to a gate, with either id of the session; retries if the gate did not accept it. */
  private async sendWebhook(session: Session, index: number, attempts = 1): Promise<void> {
    const gate = this.gates()[index]
    if (gate === undefined) return
    const again = async (): Promise<void> => {
      if (attempts === WEBHOOK_ATTEMPTS) return
      await sleep(WEBHOOK_RETRY_MILLIS)
      await this.sendWebhook(session, index, attempts + 1)
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
      this.ledger.count("webhooks sent")
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
