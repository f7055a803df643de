/** A platform that starts every session at once. */
import { once } from "node:events"
import { createServer } from "node:http"

export interface Platform {
  readonly url: string
  readonly close: () => void
}

export const startPlatform = async (): Promise<Platform> => {
  let sessions = 0
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader("content-type", "application/json")
    const data = { sessionWebSocketURL: "ws://127.0.0.1/session", sessionId: `session-${++sessions}` }
    response.end(JSON.stringify({ success: true, data }))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return { url: `http://127.0.0.1:${address.port}/api/v1/`, close: () => server.close() }
}
