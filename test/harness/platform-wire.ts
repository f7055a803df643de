/**
 * The wire of the voice-agent platform, as each fake of it in the tests speaks it: what a request asks for, and the shapes of the answers. When
 * it starts, refuses, hangs or lies is the fake's own.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"

export interface Listening {
  readonly port: number
  /** `http://127.0.0.1:port/` */
  readonly origin: string
  readonly dispose: () => Promise<void>
}

export const listen = async (answer: RequestListener, port = 0): Promise<Listening> => {
  const server = createServer(answer).listen(port, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return {
    port: address.port,
    origin: `http://127.0.0.1:${address.port}/`,
    dispose: async () => {
      if (!server.listening) return
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export interface StartBody extends Readonly<Record<string, unknown>> {
  readonly clientIdentifier?: string
  readonly webCampaignId?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export type Asked =
  | { readonly what: "start"; readonly body: StartBody }
  /** the newest sessions, without the `from` newest */
  | { readonly what: "list"; readonly limit: number; readonly from: number }
  | { readonly what: "session"; readonly id: string }
  | { readonly what: "other"; readonly path: string }

/** Fails for a request that was cut in the middle. */
export const askedOf = async (request: IncomingMessage): Promise<Asked> => {
  const [path = ""] = (request.url ?? "").split("?")
  const body = await text(request)
  if (path.endsWith("/websession/initiate")) return { what: "start", body: JSON.parse(body) }
  if (path.endsWith("/websession/history")) {
    const { limit, nextCursor }: { limit: number; nextCursor?: string } = JSON.parse(body)
    return { what: "list", limit, from: Number(nextCursor ?? 0) }
  }
  const [, id] = /\/websession\/history\/([^/]+)$/.exec(path) ?? []
  return id === undefined ? { what: "other", path } : { what: "session", id: decodeURIComponent(id) }
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

export const reply = (response: ServerResponse, { body, status }: Answer): void => {
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(typeof body === "string" ? body : JSON.stringify(body))
}

export const succeeded = (data: unknown): Answer => ({ status: 200, body: { success: true, data } })

export const refused = (status: number, code: string, message = ""): Answer => ({
  status,
  body: { success: false, code, message },
})
export const AT_CAPACITY = refused(429, "CONCURRENCY_LIMIT_REACHED", "Too many calls.")
export const NOT_FOUND: Answer = { status: 404, body: { detail: "Not found." } }

/** The two ids of a session. */
export interface Ids {
  readonly web: string
  readonly conversation: string
}

export const started = ({ conversation, web }: Ids): Answer =>
  succeeded({
    webSessionId: web,
    conversationSessionId: conversation,
    sessionWebSocketURL: `ws://127.0.0.1:9/${conversation}?token=t`,
  })

/** What the history of one session says. */
export const sessionIs = (over: boolean): Answer =>
  succeeded(over ? { status: 5, endedAt: "2026-01-01T00:00:00Z" } : { status: 3, endedAt: null })

export interface Listed extends Ids {
  readonly client: string
  readonly campaign: string
  /** ms since 1970 */
  readonly createdAt: number
}

/** A page of the newest sessions; `next` is where the next one begins. */
export const listed = (page: ReadonlyArray<Listed>, next?: number): Answer =>
  succeeded({
    items: page.map(({ campaign, client, conversation, createdAt, web }) => ({
      ...{ id: web, webSessionId: web, conversationSessionId: conversation },
      ...{ clientIdentifier: client, webCampaignId: campaign, createdAt: new Date(createdAt).toISOString() },
    })),
    nextCursor: next === undefined ? null : String(next),
  })
