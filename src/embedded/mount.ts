/**
 * The gate's listeners as a host mounts them: in a node server, or in a framework that strips the mount path (Express). What
 * is not for the gate is left to the host.
 */
import { EventEmitter } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { refused } from "../http/answer.ts"
import { isOwnUpgrade, type Listeners, refuseUpgrade, write } from "../http/listeners.ts"
import { problems } from "../http/problems.ts"

/**
 * A request listener of node:http, and a middleware of Express and its kin. It answers everything below its base path, and
 * without one everything: mount it last there. A body parser may run before it; webhooks that are signed need the bytes
 * as `request.rawBody` then.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** A request listener of node:http for what is private; everything else it answers with 404. */
export type PrivateHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A listener of a node server's `upgrade`. Answers what is for the gate and says whether it did. What is not is left to the
 * server's other listeners, and refused only when there are none, since nobody would ever close it.
 */
export type UpgradeHandler = (this: unknown, request: IncomingMessage, socket: Duplex, head: Buffer) => boolean

const closed = refused(problems.gateClosed.make("gate_closed", "The gate is closed.", {}, { "retry-after": "5" }))

/** A mount path as `/voice`: with a slash before it and none behind; empty for the root. Throws for what is no path. */
export const normalizeBasePath = (given = ""): string => {
  const path = given.replace(/\/+$/, "").replace(/^(?=[^/])/, "/")
  if (!/^(?:\/[\w.~-]+)*$/.test(path)) {
    throw new TypeError(`basePath: expected a path such as /voice, found ${JSON.stringify(given)}`)
  }
  return path
}

/** What a framework has stripped off the request's path, as Express says it in `baseUrl`. */
const strippedPath = (request: IncomingMessage): string =>
  "baseUrl" in request && typeof request.baseUrl === "string" ? request.baseUrl : ""

export const makeMount = (
  listeners: Listeners["Service"],
  basePath: string,
  state: {
    readonly isClosed: () => boolean
    /** hears of every response that the gate will give */
    readonly onRequest: (response: ServerResponse) => void
  },
): { readonly handler: Handler; readonly privateHandler: PrivateHandler; readonly upgrade: UpgradeHandler } => ({
  handler: (request, response, next) => {
    const stripped = strippedPath(request)
    if (stripped !== "" && stripped.toLowerCase() !== basePath.toLowerCase()) {
      throw new Error(
        `The gate is mounted at ${stripped}, but was created with basePath ${JSON.stringify(basePath)}: ` +
          "give createGate the path of the mount, which its URLs and WebSockets need.",
      )
    }
    const url = request.url ?? "/"
    const below = url === basePath || url.startsWith(`${basePath}/`) || url.startsWith(`${basePath}?`)
    if (stripped === "" && !below && next !== undefined) return next()
    if (state.isClosed()) return write(response, closed)
    state.onRequest(response)
    listeners.request(request, response)
  },
  privateHandler: (request, response) => {
    if (state.isClosed()) return write(response, closed)
    state.onRequest(response)
    listeners.privateRequest(request, response)
  },
  upgrade(request, socket, head) {
    if (state.isClosed() && isOwnUpgrade(basePath, request)) {
      refuseUpgrade(socket, closed)
      return true
    }
    if (listeners.upgrade(request, socket, head)) return true
    if (this instanceof EventEmitter && this.listenerCount("upgrade") === 1) refuseUpgrade(socket)
    return false
  },
})
