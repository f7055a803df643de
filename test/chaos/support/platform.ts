/**
 * The platform in chaos tests: it starts sessions, knows which of them run, ends them when their caller has talked
 * enough or never came, and sends the webhook until a gate has accepted it, sometimes twice. It records every request.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Chance } from "../../simulation/chance.ts"

export interface Session {
  readonly webId: string
  readonly conversationId: string
  /** the `clientIdentifier` of the request, which names one attempt of one caller */
  readonly attempt: string
  readonly campaign: string
  readonly startedAt: number
  /** by the wall clock (ms), as in its history */
  readonly createdAt: number
  /** its start was answered with an error, so no gate was told of it */
  readonly untold: boolean
  joinedAt: number | undefined
  endedAt: number | undefined
  /** when a gate accepted its webhook, and whether that freed a slot */
  toldAt: number | undefined
  released: boolean
}

export interface PlatformOptions {
  readonly chance: Chance
  /** posts a webhook to some gate; returns its status and body */
  readonly webhook: (sessionId: string) => Promise<{ readonly status: number; readonly released: boolean }>
  /** maximum concurrent sessions; more are refused with 429 */
  readonly limit?: number
  /** how long a session waits for its caller (ms) */
  readonly joinMillis?: number
  /** the maximum duration of a start (ms) */
  readonly startMillis?: number
  /** it gives tokens instead of sessions, tells nobody when a call is over, and cannot be asked */
  readonly silent?: boolean
}

/**
 * Its fault: `refuses` answers 503 to everything and does nothing, `hangs` answers nothing and does nothing, `untold`
 * starts sessions and answers 500.
 */
export type Fault = "none" | "refuses" | "hangs" | "untold"

/** A request to it, and when. */
export interface Asked {
  readonly at: number
  readonly what: "start" | "history" | "other"
}

export interface ChaosPlatform {
  readonly port: number
  readonly baseUrl: string
  readonly sessions: ReadonlyArray<Session>
  /** refusals because of capacity */
  readonly refusals: () => number
  readonly running: () => number
  /** the most concurrent sessions, and those with a talking caller */
  readonly peak: () => { readonly running: number; readonly talking: number }
  /** webhooks that no gate has accepted yet */
  readonly untold: () => number
  /** starts are not answered until this is false again */
  hold: boolean
  fault: Fault
  readonly asked: ReadonlyArray<Asked>
  /** attempts with a start that was not answered with a session */
  readonly failed: ReadonlySet<string>
  /** A caller talks for this long; resolves at the end of the call to whether there was a call. */
  readonly talk: (sessionId: string, millis: number) => Promise<boolean>
  readonly dispose: () => Promise<void>
}

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

const reply = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const WEBHOOK_PAUSE = 100

export const startChaosPlatform = async (options: PlatformOptions): Promise<ChaosPlatform> => {
  const {
    chance,
    joinMillis = 20_000,
    limit = Number.POSITIVE_INFINITY,
    silent = false,
    startMillis = 20,
    webhook,
  } = options
  const sessions: Array<Session> = []
  const asked: Array<Asked> = []
  const failed = new Set<string>()
  const byId = new Map<string, Session>()
  const untold = new Set<Session>()
  let refusals = 0
  let running = 0
  let talking = 0
  const peak = { running: 0, talking: 0 }
  let stopped = false

  const tell = async (session: Session, id: string): Promise<void> => {
    while (!stopped) {
      const answer = await webhook(id).catch(() => undefined)
      if (answer?.status === 200) {
        session.toldAt ??= performance.now()
        session.released ||= answer.released
        untold.delete(session)
        return
      }
      await sleep(WEBHOOK_PAUSE, undefined, { ref: false })
    }
  }
  const end = (session: Session): void => {
    if (session.endedAt !== undefined) return
    session.endedAt = performance.now()
    running--
    if (silent) return
    untold.add(session)
    const id = chance.percent(50) ? session.webId : session.conversationId
    const again = chance.percent(10)
    void tell(session, id).then(() => (again ? tell(session, session.conversationId) : undefined))
  }

  /** Whether a request ends here because of the fault. One that hangs is cut off when the fault is over. */
  const spoilt = async (response: ServerResponse): Promise<boolean> => {
    const { fault } = platform
    if (fault === "refuses") reply(response, 503, { detail: "Service unavailable." })
    if (fault !== "hangs") return fault === "refuses"
    while (platform.fault === "hangs" && !stopped && !response.destroyed) await sleep(50, undefined, { ref: false })
    response.destroy()
    return true
  }

  const initiate = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: { readonly clientIdentifier?: string; readonly webCampaignId?: string } = JSON.parse(
      await read(request),
    )
    const attempt = body.clientIdentifier ?? ""
    if (await spoilt(response)) {
      failed.add(attempt)
      return
    }
    const told = platform.fault !== "untold"
    if (!told) failed.add(attempt)
    if (running >= limit) {
      refusals++
      reply(response, 429, { success: false, code: "CONCURRENCY_LIMIT_REACHED", message: "Too many calls." })
      return
    }
    const n = sessions.length + 1
    const session: Session = {
      webId: `web-${n}`,
      conversationId: `conversation-${n}`,
      attempt,
      campaign: body.webCampaignId ?? "campaign-1",
      startedAt: performance.now(),
      createdAt: Date.now(),
      untold: !told,
      joinedAt: undefined,
      endedAt: undefined,
      toldAt: undefined,
      released: false,
    }
    sessions.push(session)
    byId.set(session.webId, session).set(session.conversationId, session)
    running++
    peak.running = Math.max(peak.running, running)
    setTimeout(() => {
      if (session.joinedAt === undefined) end(session)
    }, joinMillis).unref()
    await sleep(chance.below(startMillis), undefined, { ref: false })
    while (platform.hold && !stopped) await sleep(20)
    if (!told) return reply(response, 500, { detail: "Internal server error." })
    reply(response, 200, {
      success: true,
      data: {
        webSessionId: session.webId,
        conversationSessionId: session.conversationId,
        sessionWebSocketURL: `ws://127.0.0.1:9/${session.webId}`,
      },
    })
  }

  /** A token, which opens one session. */
  const grant = async (response: ServerResponse): Promise<void> => {
    if (await spoilt(response)) return
    const n = sessions.length + 1
    const token = `token-${n}`
    const session: Session = {
      ...{
        webId: token,
        conversationId: token,
        attempt: token,
        campaign: "campaign-1",
        untold: false,
        released: false,
      },
      ...{
        startedAt: performance.now(),
        createdAt: Date.now(),
        joinedAt: undefined,
        endedAt: undefined,
        toldAt: undefined,
      },
    }
    sessions.push(session)
    byId.set(token, session)
    await sleep(chance.below(startMillis), undefined, { ref: false })
    while (platform.hold && !stopped) await sleep(20)
    reply(response, 200, { token, expires_in_seconds: 10 })
  }

  /** The newest sessions, and the cursor of the next ones. */
  const list = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: { readonly limit: number; readonly nextCursor?: string } = JSON.parse(await read(request))
    if (await spoilt(response)) return
    const from = Number(body.nextCursor ?? 0)
    const page = sessions.toReversed().slice(from, from + body.limit)
    const items = page.map(({ attempt, campaign, conversationId, createdAt, webId }) => ({
      ...{ id: webId, webSessionId: webId, conversationSessionId: conversationId },
      ...{ clientIdentifier: attempt, webCampaignId: campaign, createdAt: new Date(createdAt).toISOString() },
    }))
    const nextCursor = from + page.length < sessions.length ? String(from + page.length) : null
    reply(response, 200, { success: true, data: { items, nextCursor } })
  }

  const history = async (session: Session | undefined, response: ServerResponse): Promise<void> => {
    if (await spoilt(response)) return
    if (session === undefined) reply(response, 404, { success: false, code: "SESSION_NOT_FOUND" })
    else {
      const endedAt = session.endedAt === undefined ? null : "2026-01-01T00:00:00Z"
      reply(response, 200, { success: true, data: { status: 3, endedAt } })
    }
  }

  const server = createServer((request, response) => {
    response.on("error", () => {})
    const [, id] = /\/websession\/history\/([^/]+)$/.exec(request.url ?? "") ?? []
    // a request that was cut in the middle is not a request
    const cut = (): void => void response.destroy()
    const start = request.url?.endsWith("/websession/initiate") === true
    const listed = request.url?.endsWith("/websession/history") === true
    const what = start ? "start" : listed || id !== undefined ? "history" : "other"
    asked.push({ at: performance.now(), what })
    if (id !== undefined) history(byId.get(decodeURIComponent(id)), response).catch(cut)
    else if (silent && request.url?.startsWith("/v1/token?") === true) grant(response).catch(cut)
    else if (start) initiate(request, response).catch(cut)
    else if (listed) list(request, response).catch(cut)
    else spoilt(response).then((done) => (done ? undefined : reply(response, 404, { detail: "Not found." })), cut)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")

  const platform: ChaosPlatform = {
    port: address.port,
    baseUrl: `http://127.0.0.1:${address.port}/api/v1`,
    sessions,
    refusals: () => refusals,
    running: () => running,
    peak: () => ({ ...peak }),
    untold: () => untold.size,
    hold: false,
    fault: "none",
    asked,
    failed,
    talk: async (id, millis) => {
      const session = byId.get(id)
      if (session === undefined) throw new Error(`a session that the platform has not started: ${id}`)
      if (session.joinedAt !== undefined) throw new Error(`I5: two callers have the session ${id}`)
      if (session.endedAt !== undefined) return false
      session.joinedAt = performance.now()
      if (silent) peak.running = Math.max(peak.running, ++running)
      peak.talking = Math.max(peak.talking, ++talking)
      await sleep(millis, undefined, { ref: false })
      talking--
      end(session)
      return true
    },
    dispose: async () => {
      stopped = true
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return platform
}
