/** The voice-agent platform and the provider of address facts, in one server that follows the plan. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import {
  AT_CAPACITY,
  askedOf,
  listed,
  listen,
  NOT_FOUND,
  refused,
  reply,
  type StartBody,
  sessionIs,
  started,
  succeeded,
} from "../harness/platform-wire.ts"
import type { Ledger } from "./ledger.ts"
import { callerOf, isVpn, type Outcome, type Start, startOf } from "./plan.ts"
import { RETRYABLE, type Session, type Sessions } from "./sessions.ts"

export interface Platform {
  readonly origin: string
  /** In calm times no end is lost. */
  readonly calm: (calm: boolean) => void
  readonly stop: () => Promise<void>
}

const FAILED_OUTCOMES: ReadonlyArray<Outcome> = ["capacity", "refused", "unavailable", "ghost", "early"]

/** The answers to the reads of a starting gate. */
const START_READS = new Map<string, unknown>([
  ["/api/v1/business/business-1", { name: "Soak" }],
  [
    "/api/v1/business/business-1/webcampaigns/campaign-1",
    { name: "Soak", sessionEnded: { url: "http://127.0.0.1/api/webhook/session-ended" } },
  ],
  ["/api/v1/regions", [{ id: "eu" }]],
])

export const startPlatform = async (seed: number, sessions: Sessions, ledger: Ledger): Promise<Platform> => {
  let calm = true
  const attempts = new Map<number, number>()

  /** The plan of this start; more starts than the failed ones explain are a problem. */
  const planFor = (caller: number): Start => {
    const attempt = attempts.get(caller) ?? 0
    attempts.set(caller, attempt + 1)
    const { mood } = callerOf(seed, caller)
    // a caller who moves while the start fails counts as a new caller
    const allowed =
      mood === "moves" ? sessions.failedStarts(caller, ...FAILED_OUTCOMES) : sessions.retryableStarts(caller)
    if (attempt > allowed) ledger.problem("callers started twice", `caller ${caller}`)
    const plan = startOf(seed, caller, attempt, calm)
    // the ticket of a caller who hung up is unknown, so it must not lose its slot and be called out of order
    return mood === "hangs-up" && RETRYABLE.includes(plan.outcome) ? { ...plan, outcome: "session" } : plan
  }

  const initiate = async (
    { clientIdentifier: client = "", metadata }: StartBody,
    response: ServerResponse,
  ): Promise<void> => {
    const caller = Number(metadata?.caller ?? Number.NaN)
    const plan = planFor(caller)
    const endLater = (session: Session, how: Start, known: boolean): void => {
      setTimeout(() => void sessions.end(session, how, known), plan.talkMillis)
    }
    switch (plan.outcome) {
      case "session":
      case "slow": {
        if (plan.outcome === "slow") ledger.count("platform: slow")
        const session = sessions.begin(caller, client)
        await sleep(plan.delayMillis)
        reply(response, started(session))
        return endLater(session, plan, true)
      }
      case "capacity":
        sessions.spoil(caller, plan.outcome)
        return reply(response, AT_CAPACITY)
      case "refused":
        sessions.spoil(caller, plan.outcome)
        return reply(response, refused(400, "INVALID", "no"))
      case "unavailable":
        sessions.spoil(caller, plan.outcome)
        return reply(response, { status: 503, body: { success: false, message: "not now" } })
      case "ghost": {
        // the gate gets no answer for the session, and must find it
        sessions.spoil(caller, plan.outcome)
        const session = sessions.begin(caller, client)
        response.socket?.destroy()
        return endLater(session, { ...plan, ending: "reported" }, false)
      }
      case "early": {
        sessions.spoil(caller, plan.outcome)
        const session = sessions.begin(caller, client)
        await sessions.end(session, { ...plan, ending: "reported" }, false)
        return reply(response, started(session))
      }
    }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = await askedOf(request)
    switch (asked.what) {
      case "start":
        return initiate(asked.body, response)
      case "list": {
        ledger.count("histories read")
        const page = sessions.page(asked.from, asked.limit)
        const found = page.map((session) => ({ ...session, campaign: "campaign-1", createdAt: session.startedAt }))
        return reply(response, listed(found, page.length === asked.limit ? asked.from + asked.limit : undefined))
      }
      case "session": {
        ledger.count("sessions asked after")
        const session = sessions.find(asked.id)
        return reply(response, sessionIs(session?.over === true && !session.silent))
      }
      case "other": {
        const about = START_READS.get(asked.path)
        if (about !== undefined) return reply(response, succeeded(about))
        const address = new URL(request.url ?? "/", "http://platform").searchParams.get("q")
        if (address === null) return reply(response, NOT_FOUND)
        ledger.count("addresses looked up")
        const facts = { is_vpn: isVpn(address), is_proxy: false, is_tor: false, is_datacenter: false }
        return reply(response, { status: 200, body: facts })
      }
    }
  }

  const listening = await listen((request, response) => {
    handle(request, response).catch((error: unknown) => ledger.problem("the platform failed", String(error)))
  })
  return {
    origin: `http://127.0.0.1:${listening.port}`,
    calm: (now) => {
      calm = now
    },
    stop: listening.dispose,
  }
}
