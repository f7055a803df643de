/**
 * The platform as chaos sees it: it starts sessions, knows which of them run, ends them when their caller has talked enough
 * or never came, and sends the webhook until a gate has taken it, now and then twice. It remembers all it was asked.
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
  readonly startedAt: number
  /** by the wall clock (ms), as its history tells it */
  readonly createdAt: number
  /** its start was answered with an error, so that no gate was told of it */
  readonly untold: boolean
  joinedAt: number | undefined
  endedAt: number | undefined
  /** when a gate took its webhook, and whether that freed a slot */
  toldAt: number | undefined
  released: boolean
}

export interface PlatformOptions {
  readonly chance: Chance
  /** posts a webhook to some gate; answers its status and body */
  readonly webhook: (sessionId: string) => Promise<{ readonly status: number; readonly released: boolean }>
  /** sessions that may run at once; more are refused with 429 */
  readonly limit?: number
  /** how long a session waits for its caller (ms) */
  readonly joinMillis?: number
  /** how long a start takes at most (ms) */
  readonly startMillis?: number
}

/**
 * What is wrong with it: `refuses` answers 503 to everything and does nothing, `hangs` answers nothing and does nothing, `untold`
 * begins sessions and answers 500.
 */
export type Fault = "none" | "refuses" | "hangs" | "untold"

/** Something that it was asked, and when. */
export interface Asked {
  readonly at: number
  readonly what: "start" | "history" | "other"
}

export interface ChaosPlatform {
  readonly port: number
  readonly baseUrl: string
  readonly sessions: ReadonlyArray<Session>
  /** refusals for want of capacity */
  readonly refusals: () => number
  readonly running: () => number
  /** the most sessions that ran at once, and of them with somebody who talks */
  readonly peak: () => { readonly running: number; readonly talking: number }
  /** webhooks that no gate has taken yet */
  readonly untold: () => number
  /** starts are answered only after this is false again */
  hold: boolean
  fault: Fault
  readonly asked: ReadonlyArray<Asked>
  /** attempts of which a start was not answered with a session */
  readonly failed: ReadonlySet<string>
  /** A caller talks for so long; resolves when the call is over, to whether there was a call. */
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
  const { chance, joinMillis = 20_000, limit = Number.POSITIVE_INFINITY, startMillis = 20, webhook } = options
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
    const body: { readonly clientIdentifier?: string } = JSON.parse(await read(request))
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

  /** The newest sessions, and where the next ones begin. */
  const list = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: { readonly limit: number; readonly nextCursor?: string } = JSON.parse(await read(request))
    if (await spoilt(response)) return
    const from = Number(body.nextCursor ?? 0)
    const page = sessions.toReversed().slice(from, from + body.limit)
    const items = page.map(({ attempt, conversationId, createdAt, webId }) => ({
      ...{ id: webId, webSessionId: webId, conversationSessionId: conversationId },
      ...{ clientIdentifier: attempt, webCampaignId: "campaign-1", createdAt: new Date(createdAt).toISOString() },
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
    // a request that was cut in the middle is no request
    const cut = (): void => void response.destroy()
    const start = request.url?.endsWith("/websession/initiate") === true
    const listed = request.url?.endsWith("/websession/history") === true
    const what = start ? "start" : listed || id !== undefined ? "history" : "other"
    asked.push({ at: performance.now(), what })
    if (id !== undefined) history(byId.get(decodeURIComponent(id)), response).catch(cut)
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
