/**
 * The gate's listeners for a host: for a node server, or for a framework that strips the mount path (Express). Requests that are
 * not for the gate are left to the host.
 */
import { EventEmitter } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { refused } from "../http/answer.ts"
import type { Listeners } from "../http/listeners.ts"
import { isOwnUpgrade } from "../http/paths.ts"
import { problems } from "../http/problems.ts"
import { refuseUpgrade, write } from "../http/write-answer.ts"

/**
 * A request listener of node:http, and a middleware of Express and similar frameworks. It answers every request below its base
 * path; without a base path it answers every request, so mount it last. A body parser may run before it; then signed webhooks need
 * the bytes as `request.rawBody`.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** A request listener of node:http for private endpoints; it answers everything else with 404. */
export type PrivateHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A listener for a node server's `upgrade`. Returns whether the request was for the gate. Other upgrades are left to the server's
 * other listeners; when there are none they are refused, because otherwise nothing would ever close them.
 */
export type UpgradeHandler = (this: unknown, request: IncomingMessage, socket: Duplex, head: Buffer) => boolean

const closed = refused(problems.gateClosed.make("gate_closed", "The gate is closed.", {}, { "retry-after": "5" }))

/** A mount path such as `/voice`, with a leading and no trailing slash; empty for the root. Throws for anything else. */
export const normalizeBasePath = (given = ""): string => {
  const path = given.replace(/\/+$/, "").replace(/^(?=[^/])/, "/")
  if (!/^(?:\/[\w.~-]+)*$/.test(path)) {
    throw new TypeError(`basePath: expected a path such as /voice, found ${JSON.stringify(given)}`)
  }
  return path
}

/** The part of the path that a framework has stripped; Express provides it as `baseUrl`. */
const strippedPath = (request: IncomingMessage): string =>
  "baseUrl" in request && typeof request.baseUrl === "string" ? request.baseUrl : ""

export const makeMount = (
  listeners: Listeners["Service"],
  basePath: string,
  state: {
    readonly isClosed: () => boolean
    /** called for every response of the gate */
    readonly onRequest: (response: ServerResponse) => void
  },
): { readonly handler: Handler; readonly privateHandler: PrivateHandler; readonly upgrade: UpgradeHandler } => ({
  handler: (request, response, next) => {
    const stripped = strippedPath(request)
    if (stripped !== "" && stripped.toLowerCase() !== basePath.toLowerCase()) {
      throw new Error(
        `The gate is mounted at ${stripped}, but was created with basePath ${JSON.stringify(basePath)}: ` +
          "pass the mount path to createGate, which needs it for URLs and WebSockets.",
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
