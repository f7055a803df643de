/** The id of a request in the log and in its answer: its own `X-Request-Id`, or a generated one. */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"

/** An id from a client is accepted only if it is short and has only characters that are safe in a log. */
const PLAIN = /^[A-Za-z0-9._~:+/=@-]{1,64}$/

/** Generates ids from a prefix that is random for each process and a counter, which is cheap. */
export const makeRequestIds = (): ((request: IncomingMessage) => string) => {
  const prefix = randomBytes(6).toString("hex")
  let count = 0
  return (request) => {
    const given = request.headers["x-request-id"]
    return typeof given === "string" && PLAIN.test(given) ? given : `${prefix}-${(++count).toString(36)}`
  }
}
