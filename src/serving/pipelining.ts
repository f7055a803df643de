/**
 * Limits HTTP pipelining per connection. Node's server accepts every request in a chunk at once (about 2,000 fit into 64 KB) and
 * keeps each response until the earlier ones are read; a client that never reads would make the server produce and keep them all.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** How many requests of one connection may wait behind an unsent response. Browsers and proxies do not pipeline. */
export const MAX_PIPELINED = 16

/** By node's socket, because node has no other value that the requests of a connection share. */
const pipelined = new WeakMap<Socket, number>()

export type Admission = "take" | "refuse" | "ignore"

/**
 * Decides about a request: `refuse` has closed its connection, which has too many pipelined requests; `ignore` is for later
 * requests in the same chunk. A request that is not pipelined costs one property access.
 */
export const admitPipelined = (request: IncomingMessage, response: ServerResponse): Admission => {
  // a response gets its socket once all earlier ones on the connection are sent
  if (response.socket !== null) return "take"
  const { socket } = request
  if (socket.destroyed) return "ignore"
  const waiting = pipelined.get(socket) ?? 0
  if (waiting >= MAX_PIPELINED) {
    socket.destroy()
    return "refuse"
  }
  pipelined.set(socket, waiting + 1)
  response.once("close", () => pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1))
  return "take"
}
