/** What a request is called in the log and in its answer: the `X-Request-Id` that it came with, or one of the gate's own. */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"

/** An id from outside is bounded, and of characters that mean nothing in a log. */
const PLAIN = /^[A-Za-z0-9._~:+/=@-]{1,64}$/

/** Names requests: a counter after a text that is random for each process costs next to nothing. */
export const makeRequestIds = (): ((request: IncomingMessage) => string) => {
  const prefix = randomBytes(6).toString("hex")
  let count = 0
  return (request) => {
    const given = request.headers["x-request-id"]
    return typeof given === "string" && PLAIN.test(given) ? given : `${prefix}-${(++count).toString(36)}`
  }
}
