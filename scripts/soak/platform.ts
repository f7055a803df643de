/**
 * The voice-agent platform and the provider of address facts, in one server. It knows at every moment how many sessions run,
 * and tells the gates of their ends as well or badly as the plan says.
 */
import { once } from "node:events"
import { type Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { ask } from "../../test/e2e/support/http.ts"
import type { Ledger } from "./ledger.ts"
import { callerOf, isVpn, SLOTS, type Start, startOf } from "./plan.ts"

export const WEBHOOK_TOKEN = "soak-webhook-token-0123456789"

const FAILED = ["refused", "unavailable", "ghost", "early"] as const
const SPOILT = ["capacity", ...FAILED] as const

interface Session {
  readonly caller: number
  readonly conversation: string
  over: boolean
  /** the platform itself does not know that it is over */
  silent: boolean
  /** webhooks that freed a slot */
  released: number
}

/** Where the gates are; known only after the platform, whose address they need. */
export type Gates = () => ReadonlyArray<{ readonly url: string; readonly agent: Agent }>

export interface Platform {
  readonly origin: string
  /** sessions that run and hold a slot, and the most there ever were */
  readonly running: () => number
  readonly peak: () => number
  /** starts that the platform turned down or spoilt for a caller, by the kind of outcome */
  readonly spoilt: (caller: number, outcome: Start["outcome"]) => number
  /** a start of this caller failed, other than for lack of slots */
  readonly failed: (caller: number) => boolean
  readonly lostEnd: (caller: number) => boolean
  /** ids of sessions that were ever given out, a bound of what the gates remember of them */
  readonly ids: () => number
  readonly calm: (calm: boolean) => void
  readonly stop: () => Promise<void>
}

const read = async (request: IncomingMessage): Promise<unknown> => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return text === "" ? {} : JSON.parse(text)
}

const callerIn = (body: unknown): number => {
  const { metadata }: { metadata?: { caller?: string } } = typeof body === "object" && body !== null ? body : {}
  return Number(metadata?.caller ?? Number.NaN)
}

export const startPlatform = async (seed: number, gates: Gates, ledger: Ledger): Promise<Platform> => {
  let calm = true
  let running = 0
  let peak = 0
  let made = 0
  let known = 0
  const attempts = new Map<number, number>()
  const spoilt = new Map<string, number>()
  const lost = new Set<number>()
  const sessions = new Map<string, Session>()

  const tell = async (session: Session, gate: number): Promise<void> => {
    const { agent, url } = gates()[gate] ?? { agent: undefined, url: "" }
    const body = session.conversation.endsWith("0")
      ? { webSessionId: session.conversation.replace("c", "w") }
      : { ConversationSessionId: session.conversation }
    const answer = await ask("POST", `${url}/api/webhook/session-ended`, {
      body,
      headers: { "x-api-token": WEBHOOK_TOKEN },
      ...(agent === undefined ? {} : { agent }),
    })
    ledger.count("webhooks told")
    if (answer.status !== 200) ledger.problem("unexpected statuses", `webhook ${answer.status} ${answer.text}`)
    if (answer.json.released !== true) return
    if (++session.released > 1) ledger.problem("slots freed twice", JSON.stringify(session))
  }

  const end = (session: Session, { ending, gate, lateMillis }: Start, holds: boolean): void => {
    session.over = true
    if (holds) running--
    ledger.count("calls ended")
    ledger.count(`ends ${ending}`)
    const forgetLater = (): void => {
      // by then the gate has heard, asked, or reclaimed
      setTimeout(() => sessions.delete(session.conversation.replace("c", "w")), 420_000).unref()
    }
    if (ending === "lost" || ending === "silent") {
      lost.add(session.caller)
      session.silent = ending === "silent"
      forgetLater()
      return
    }
    const telling = async (): Promise<void> => {
      if (ending === "late") await sleep(lateMillis)
      await Promise.all(ending === "repeated" ? [tell(session, 0), tell(session, 1)] : [tell(session, gate)])
      if (holds && session.released === 0) ledger.problem("ends that freed no slot", JSON.stringify(session))
      forgetLater()
    }
    telling().catch((error: unknown) => ledger.problem("broken connections", `webhook: ${String(error)}`))
  }

  const json = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

  /** The session runs from here on, as far as slots go: the gate must have one for it. */
  const begin = (caller: number, silent: boolean): Session => {
    made++
    const session: Session = { caller, conversation: `c${made}`, over: false, silent: false, released: 0 }
    sessions.set(`w${made}`, session)
    known += 2
    running++
    peak = Math.max(peak, running)
    if (running > SLOTS) ledger.problem("more calls than slots", `${running} with caller ${caller}`)
    ledger.count("calls started")
    if (silent) ledger.count("calls whose start was spoilt")
    return session
  }

  const initiate = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const caller = callerIn(await read(request))
    const attempt = attempts.get(caller) ?? 0
    attempts.set(caller, attempt + 1)
    const before = (outcome: Start["outcome"]): number => spoilt.get(`${caller} ${outcome}`) ?? 0
    const { mood } = callerOf(seed, caller)
    // one who moves while the start fails is taken for somebody new
    const again = mood === "moves" ? SPOILT : (["capacity"] as const)
    if (attempt > again.reduce((sum, outcome) => sum + before(outcome), 0)) {
      ledger.problem("callers started twice", `caller ${caller}`)
    }
    const drawn = startOf(seed, caller, attempt, calm)
    // whose ticket nobody knows must not be called out of its order
    const unaccounted = mood === "hangs-up" && drawn.outcome === "capacity"
    const plan: Start = unaccounted ? { ...drawn, outcome: "session" } : drawn
    const spoil = (): void => {
      spoilt.set(`${caller} ${plan.outcome}`, before(plan.outcome) + 1)
      ledger.count(`platform: ${plan.outcome}`)
    }
    if (plan.outcome === "session" || plan.outcome === "slow") {
      const session = begin(caller, false)
      await sleep(plan.delayMillis)
      const data = { webSessionId: session.conversation.replace("c", "w"), conversationSessionId: session.conversation }
      json(response, 200, {
        success: true,
        data: { ...data, sessionWebSocketURL: `ws://127.0.0.1:9/${data.webSessionId}` },
      })
      if (plan.outcome === "slow") ledger.count("platform: slow")
      setTimeout(() => end(session, plan, true), plan.talkMillis)
      return
    }
    spoil()
    if (plan.outcome === "capacity") return json(response, 429, { success: false, code: "CONCURRENCY_LIMIT_REACHED" })
    if (plan.outcome === "refused") return json(response, 400, { success: false, code: "INVALID", message: "no" })
    if (plan.outcome === "unavailable") return json(response, 503, { success: false, message: "not now" })
    const session = begin(caller, true)
    if (plan.outcome === "ghost") {
      // the gate hears nothing of the session and gives its slot on, so it counts no longer
      running--
      response.socket?.destroy()
      setTimeout(() => end(session, { ...plan, ending: "told" }, false), plan.talkMillis)
      return
    }
    running--
    session.over = true
    ledger.count("calls ended")
    await tell(session, plan.gate)
    const data = { webSessionId: session.conversation.replace("c", "w"), conversationSessionId: session.conversation }
    json(response, 200, { success: true, data: { ...data, sessionWebSocketURL: "ws://127.0.0.1:9/early" } })
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://platform")
    if (url.pathname.endsWith("/websession/initiate")) return initiate(request, response)
    const asked = /\/websession\/history\/(w\d+)$/.exec(url.pathname)?.[1]
    if (asked !== undefined) {
      const session = sessions.get(asked)
      ledger.count("sessions asked after")
      const over = session?.over === true && !session.silent
      return json(response, 200, {
        success: true,
        data: over ? { status: 5, endedAt: "2026-01-01T00:00:00Z" } : { status: 3 },
      })
    }
    const address = url.searchParams.get("q")
    if (address === null) return json(response, 404, { detail: "Not found." })
    ledger.count("addresses looked up")
    return json(response, 200, { is_vpn: isVpn(address), is_proxy: false, is_tor: false, is_datacenter: false })
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => ledger.problem("the platform failed", String(error)))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const listening = server.address()
  if (listening === null || typeof listening === "string") throw new Error("a TCP server has a port")
  return {
    origin: `http://127.0.0.1:${listening.port}`,
    running: () => running,
    peak: () => peak,
    spoilt: (caller, outcome) => spoilt.get(`${caller} ${outcome}`) ?? 0,
    failed: (caller) => FAILED.some((outcome) => spoilt.has(`${caller} ${outcome}`)),
    lostEnd: (caller) => lost.has(caller),
    ids: () => known,
    calm: (now) => {
      calm = now
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
