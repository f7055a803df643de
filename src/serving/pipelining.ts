/**
 * Bounds what one connection may pipeline. Node's server takes every request of a chunk at once (some 2,000 fit into 64 KB) and
 * keeps each answer until those before it were read; a client that never reads would have them all made and kept.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** So many requests of one connection may stand behind one whose answer is not sent yet. Browsers and proxies pipeline none. */
export const MOST_BEHIND = 16

const behind = new WeakMap<Socket, number>()

export type Admission = "take" | "refuse" | "ignore"

/**
 * Whether to answer a request: `refuse` closed its connection, because too many requests stand on it; `ignore` is for what came
 * after that in the same chunk. Costs a request that is not pipelined the look at one property.
 */
export const admitPipelined = (request: IncomingMessage, response: ServerResponse): Admission => {
  // a response has its socket as soon as all those before it on the connection are sent
  if (response.socket !== null) return "take"
  const { socket } = request
  if (socket.destroyed) return "ignore"
  const before = behind.get(socket) ?? 0
  if (before >= MOST_BEHIND) {
    socket.destroy()
    return "refuse"
  }
  behind.set(socket, before + 1)
  response.once("close", () => behind.set(socket, (behind.get(socket) ?? 1) - 1))
  return "take"
}
