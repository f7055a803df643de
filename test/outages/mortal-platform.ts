/** A platform that can be killed, that hangs, or that refuses, at any time. It knows the requests of a gate, and no webhooks. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** What is wrong with it. */
export type Trouble = "killed" | "hung" | "key refused" | "region refused" | "full"

export interface MortalPlatform {
  readonly baseUrl: string
  /** From now on; undefined when nothing is wrong. */
  readonly set: (trouble: Trouble | undefined) => Promise<void>
  /** the starts that it was asked for */
  readonly starts: () => number
  readonly dispose: () => Promise<void>
}

interface Answered {
  readonly status: number
  readonly body: unknown
}

const REFUSALS = {
  key: { status: 401, code: "API_KEY_INVALID", message: "The API key was revoked." },
  region: { status: 404, code: "REGION_NOT_FOUND", message: "There is no region eu." },
  capacity: { status: 429, code: "CONCURRENCY_LIMIT_REACHED", message: "Every slot is in use." },
} as const

export const startMortalPlatform = async (): Promise<MortalPlatform> => {
  let trouble: Trouble | undefined
  let starts = 0
  const sockets = new Set<Socket>()
  const refusal = ({ code, message, status }: (typeof REFUSALS)[keyof typeof REFUSALS]): Answered => ({
    status,
    body: { success: false, code, message },
  })
  const ok = (data: unknown): Answered => ({ status: 200, body: { success: true, data } })
  /** undefined when it hangs */
  const answerTo = (path: string): Answered | undefined => {
    const isStart = path.endsWith("/websession/initiate")
    if (isStart) starts++
    if (trouble === "hung") return undefined
    if (trouble === "key refused") return refusal(REFUSALS.key)
    if (isStart && trouble === "region refused") return refusal(REFUSALS.region)
    if (isStart && trouble === "full") return refusal(REFUSALS.capacity)
    if (isStart) {
      const id = `conversation-${starts}`
      const sessionWebSocketURL = `ws://127.0.0.1:9/${id}?token=t`
      return ok({ webSessionId: `web-${starts}`, conversationSessionId: id, sessionWebSocketURL })
    }
    if (path.endsWith("/websession/history")) return ok({ items: [], nextCursor: null })
    if (path.endsWith("/regions")) return ok(trouble === "region refused" ? [{ id: "us" }] : [{ id: "eu" }])
    if (path.includes("/webcampaigns/")) return ok({ name: "Front desk" })
    if (path.includes("/business/")) return ok({ name: "A business" })
    return { status: 404, body: { success: false, code: "NOT_FOUND", message: "There is no such path." } }
  }
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume()
    const answered = answerTo(request.url ?? "")
    if (answered === undefined) return
    response.writeHead(answered.status, { "content-type": "application/json" }).end(JSON.stringify(answered.body))
  }
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(answer)
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
    })
    server.listen(port, "127.0.0.1")
    await once(server, "listening")
    return server
  }
  let server: Server | undefined = await listen(0)
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  const { port } = address
  const close = async (): Promise<void> => {
    if (server === undefined) return
    const closed = once(server, "close")
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
    server = undefined
  }
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    starts: () => starts,
    set: async (next) => {
      trouble = next
      if (next === "killed") await close()
      // requests that hang are given up
      else for (const socket of sockets) socket.destroy()
      server ??= next === "killed" ? undefined : await listen(port)
    },
    dispose: close,
  }
}
