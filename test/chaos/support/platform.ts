/**
 * The platform in chaos tests: it starts sessions, knows which of them run, ends them when their caller has talked
 * enough or never came, and sends the webhook until a gate has accepted it, sometimes twice. It records every request.
 */
import type { ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Chance } from "../../harness/chance.ts"
import {
  type Answer,
  type Asked as AskedFor,
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
} from "../../harness/platform-wire.ts"

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
    if (fault === "refuses") reply(response, { status: 503, body: { detail: "Service unavailable." } })
    if (fault !== "hangs") return fault === "refuses"
    while (platform.fault === "hangs" && !stopped && !response.destroyed) await sleep(50, undefined, { ref: false })
    response.destroy()
    return true
  }

  const initiate = async (body: StartBody, response: ServerResponse): Promise<void> => {
    const attempt = body.clientIdentifier ?? ""
    if (await spoilt(response)) {
      failed.add(attempt)
      return
    }
    const told = platform.fault !== "untold"
    if (!told) failed.add(attempt)
    if (running >= limit) {
      refusals++
      return reply(response, AT_CAPACITY)
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
    if (!told) return reply(response, { status: 500, body: { detail: "Internal server error." } })
    reply(response, started({ web: session.webId, conversation: session.conversationId }))
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
    reply(response, { status: 200, body: { token, expires_in_seconds: 10 } })
  }

  /** The newest sessions, and the cursor of the next ones. */
  const list = (from: number, limit: number): Answer => {
    const page = sessions.toReversed().slice(from, from + limit)
    return listed(
      page.map(({ attempt, campaign, conversationId, createdAt, webId }) => ({
        ...{ web: webId, conversation: conversationId, client: attempt },
        ...{ campaign, createdAt },
      })),
      from + page.length < sessions.length ? from + page.length : undefined,
    )
  }

  const history = (session: Session | undefined): Answer =>
    session === undefined ? refused(404, "SESSION_NOT_FOUND") : sessionIs(session.endedAt !== undefined)

  const answer = async (request: AskedFor, response: ServerResponse): Promise<void> => {
    if (request.what === "start") return initiate(request.body, response)
    if (silent && request.what === "other" && request.path.endsWith("/v1/token")) return grant(response)
    if (await spoilt(response)) return
    if (request.what === "list") reply(response, list(request.from, request.limit))
    else if (request.what === "session") reply(response, history(byId.get(request.id)))
    else reply(response, NOT_FOUND)
  }

  const { dispose, origin, port } = await listen(async (request, response) => {
    response.on("error", () => {})
    try {
      const ask = await askedOf(request)
      const about = ask.what === "list" || ask.what === "session" ? "history" : ask.what
      asked.push({ at: performance.now(), what: about })
      await answer(ask, response)
    } catch {
      // a request that was cut in the middle is not a request
      response.destroy()
    }
  })

  const platform: ChaosPlatform = {
    port,
    baseUrl: `${origin}api/v1`,
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
      await dispose()
    },
  }
  return platform
}
