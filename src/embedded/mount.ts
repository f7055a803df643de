/**
 * The gate's listeners for a host: for a node server, or for a framework that strips the mount path (Express). Requests that are
 * not for the gate are left to the host.
 */
import { EventEmitter } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { refused } from "../http/answers/answer.ts"
import { refuseUpgrade, write } from "../http/answers/write-answer.ts"
import { isOwnUpgrade } from "../http/incoming/paths.ts"
import type { Listeners } from "../http/Listeners.ts"
import { problems } from "../protocol/problems.ts"

/**
 * A request listener of node:http, and a middleware of Express and similar frameworks. It answers every request below its base
 * path; without a base path it answers every request, so mount it last. It recognises a mount path that the framework has stripped. A
 * body parser may run before it; then signed webhooks need the bytes as `request.rawBody`.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** A request listener of node:http for private endpoints; it answers everything else with 404. */
export type PrivateHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A listener for a node server's `upgrade`. Returns whether the request was for the gate. Other upgrades are left to the server's
 * other listeners; when only gates listen they are refused, because otherwise nothing would ever close them.
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

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url

/**
 * The part of the path that a framework has stripped. Express provides it as `baseUrl`; Connect, Polka and middie keep the whole URL as
 * `originalUrl`.
 */
const strippedPath = (request: IncomingMessage): string => {
  if ("baseUrl" in request && typeof request.baseUrl === "string") return request.baseUrl
  if (!("originalUrl" in request) || typeof request.originalUrl !== "string") return ""
  const original = pathOf(request.originalUrl)
  const path = pathOf(request.url ?? "/")
  if (original.endsWith(path)) return original.slice(0, -path.length)
  // the mount path itself, without a slash at its end, becomes "/"
  return path === "/" ? original : ""
}

/** The upgrade handlers of all gates in this process, and the upgrades that one of them has taken. */
const upgradeHandlers = new WeakSet<object>()
const taken = new WeakSet<IncomingMessage>()

/**
 * Whether nothing but this handler can still answer an upgrade: every listener of the server belongs to a gate, this one is the last,
 * and no earlier one took the upgrade.
 */
const isLastToAnswer = (server: unknown, handler: UpgradeHandler, request: IncomingMessage): boolean => {
  if (!(server instanceof EventEmitter) || taken.has(request)) return false
  const listeners = server.listeners("upgrade")
  return listeners.at(-1) === handler && listeners.every((listener) => upgradeHandlers.has(listener))
}

export const makeMount = (
  listeners: Listeners["Service"],
  basePath: string,
  state: {
    readonly isClosed: () => boolean
    /** called for every response of the gate */
    readonly onRequest: (response: ServerResponse) => void
  },
): { readonly handler: Handler; readonly privateHandler: PrivateHandler; readonly upgrade: UpgradeHandler } => {
  const handler: Handler = (request, response, next) => {
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
  }
  const privateHandler: PrivateHandler = (request, response) => {
    if (state.isClosed()) return write(response, closed)
    state.onRequest(response)
    listeners.privateRequest(request, response)
  }
  /** Answers an upgrade of the gate, and returns whether it was one. */
  const take = (request: IncomingMessage, socket: Duplex, head: Buffer): boolean => {
    if (!state.isClosed()) return listeners.upgrade(request, socket, head)
    if (!isOwnUpgrade(basePath, request)) return false
    refuseUpgrade(socket, closed)
    return true
  }
  const upgrade: UpgradeHandler = function (request, socket, head) {
    if (take(request, socket, head)) {
      taken.add(request)
      return true
    }
    if (isLastToAnswer(this, upgrade, request)) refuseUpgrade(socket)
    return false
  }
  upgradeHandlers.add(upgrade)
  return { handler, privateHandler, upgrade }
}
