/** A platform that starts every session at once, and keeps none: the benchmarks start millions. */
import { listen, reply, succeeded } from "../../../test/harness/platform-wire.ts"

export interface Platform {
  readonly url: string
  readonly close: () => void
}

export const startPlatform = async (): Promise<Platform> => {
  let sessions = 0
  const { dispose, origin } = await listen((request, response) => {
    request.resume()
    reply(response, succeeded({ sessionWebSocketURL: "ws://127.0.0.1/session", sessionId: `session-${++sessions}` }))
  })
  return { url: `${origin}api/v1/`, close: () => void dispose() }
}
