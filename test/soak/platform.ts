/** The voice-agent platform and the provider of address facts, in one server that follows the plan. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { json as readJson, text as readText } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
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

/** The caller of a start: its number from the metadata, and its client identifier. */
const callerIn = (body: unknown): { readonly caller: number; readonly client: string } => {
  const { clientIdentifier = "", metadata }: { clientIdentifier?: string; metadata?: { caller?: string } } =
    typeof body === "object" && body !== null ? body : {}
  return { caller: Number(metadata?.caller ?? Number.NaN), client: clientIdentifier }
}

/** The answers to the reads of a starting gate. */
const START_READS = new Map<string, unknown>([
  ["/api/v1/business/business-1", { name: "Soak" }],
  [
    "/api/v1/business/business-1/webcampaigns/campaign-1",
    { name: "Soak", sessionEnded: { url: "http://127.0.0.1/api/webhook/session-ended" } },
  ],
  ["/api/v1/regions", [{ id: "eu" }]],
])

const answer = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const answerSession = (response: ServerResponse, { conversation, web }: Session): void =>
  answer(response, 200, {
    success: true,
    data: {
      webSessionId: web,
      conversationSessionId: conversation,
      sessionWebSocketURL: `ws://127.0.0.1:9/${web}`,
    },
  })

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

  const initiate = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { caller, client } = callerIn(await readJson(request))
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
        answerSession(response, session)
        return endLater(session, plan, true)
      }
      case "capacity":
        sessions.spoil(caller, plan.outcome)
        return answer(response, 429, { success: false, code: "CONCURRENCY_LIMIT_REACHED" })
      case "refused":
        sessions.spoil(caller, plan.outcome)
        return answer(response, 400, { success: false, code: "INVALID", message: "no" })
      case "unavailable":
        sessions.spoil(caller, plan.outcome)
        return answer(response, 503, { success: false, message: "not now" })
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
        return answerSession(response, session)
      }
    }
  }

  /** A page of the newest sessions, and the cursor of the next page. */
  const history = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { limit = 100, nextCursor }: { limit?: number; nextCursor?: string } = JSON.parse(await readText(request))
    ledger.count("histories read")
    const from = Number(nextCursor ?? 0)
    const page = sessions.page(from, limit)
    const items = page.map(({ client, conversation, startedAt, web }) => ({
      ...{ id: web, webSessionId: web, conversationSessionId: conversation },
      ...{ clientIdentifier: client, webCampaignId: "campaign-1", createdAt: new Date(startedAt).toISOString() },
    }))
    const more = page.length === limit ? String(from + limit) : null
    answer(response, 200, { success: true, data: { items, nextCursor: more } })
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://platform")
    if (url.pathname.endsWith("/websession/initiate")) return initiate(request, response)
    const about = START_READS.get(url.pathname)
    if (about !== undefined) return answer(response, 200, { success: true, data: about })
    if (url.pathname.endsWith("/websession/history")) return history(request, response)
    const asked = /\/websession\/history\/(w\d+)$/.exec(url.pathname)?.[1]
    if (asked !== undefined) {
      ledger.count("sessions asked after")
      const session = sessions.find(asked)
      const over = session?.over === true && !session.silent
      const data = over ? { status: 5, endedAt: "2026-01-01T00:00:00Z" } : { status: 3 }
      return answer(response, 200, { success: true, data })
    }
    const address = url.searchParams.get("q")
    if (address === null) return answer(response, 404, { detail: "Not found." })
    ledger.count("addresses looked up")
    return answer(response, 200, { is_vpn: isVpn(address), is_proxy: false, is_tor: false, is_datacenter: false })
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => ledger.problem("the platform failed", String(error)))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const listening = server.address()
  if (listening === null || typeof listening === "string") throw new Error("a TCP server has a port")
  return {
    origin: `http://127.0.0.1:${listening.port}`,
    calm: (now) => {
      calm = now
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
