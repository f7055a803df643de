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
  readonly web: string
  readonly conversation: string
  over: boolean
  /** the platform itself does not know that it is over */
  silent: boolean
  /** webhooks that freed a slot */
  released: number
}

const FAILED: ReadonlyArray<Outcome> = ["refused", "unavailable", "ghost", "early"]

export class Sessions {
  private readonly gates: Gates
  private readonly ledger: Ledger
  private readonly byId = new Map<string, Session>()
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

  /** Starts that were turned down or spoilt for a caller, by kind. */
  spoilt(caller: number, outcome: Outcome): number {
    return this.spoiltStarts.get(`${caller} ${outcome}`) ?? 0
  }

  /** Whether a start of this caller failed, other than for lack of slots. */
  failed(caller: number): boolean {
    return FAILED.some((outcome) => this.spoilt(caller, outcome) > 0)
  }

  lostEnd(caller: number): boolean {
    return this.lostEnds.has(caller)
  }

  spoil(caller: number, outcome: Outcome): void {
    this.spoiltStarts.set(`${caller} ${outcome}`, this.spoilt(caller, outcome) + 1)
    this.ledger.count(`platform: ${outcome}`)
  }

  /** A session begins; when it `holds` a slot, the gates must have one for it. */
  begin(caller: number, holds: boolean): Session {
    const n = ++this.made
    const session: Session = {
      caller,
      web: `w${n}`,
      conversation: `c${n}`,
      over: false,
      silent: false,
      released: 0,
    }
    this.byId.set(session.web, session)
    this.ledger.count("calls started")
    if (!holds) return session
    this.running++
    this.peak = Math.max(this.peak, this.running)
    if (this.running > SLOTS) this.ledger.problem("more calls than slots", `${this.running} with caller ${caller}`)
    return session
  }

  /** A session is over, and the gates are told as the plan has it. */
  async end(session: Session, { ending, gate, lateMillis }: Start, holds: boolean): Promise<void> {
    session.over = true
    if (holds) this.running--
    this.ledger.count("calls ended")
    this.ledger.count(`ends ${ending}`)
    setTimeout(() => this.byId.delete(session.web), REMEMBERED_MILLIS).unref()
    if (ending === "lost" || ending === "silent") {
      this.lostEnds.add(session.caller)
      session.silent = ending === "silent"
      return
    }
    if (ending === "late") await sleep(lateMillis)
    await Promise.all((ending === "repeated" ? [0, 1] : [gate]).map((each) => this.tell(session, each)))
    if (holds && session.released === 0) this.ledger.problem("ends that freed no slot", JSON.stringify(session))
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
