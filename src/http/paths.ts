/** The paths that the listeners handle themselves, and how a request's path is read. */
import type { IncomingMessage } from "node:http"

export const EVENTS_PATH = /^\/api\/session\/([^/]+)\/events$/
export const RELAY_PATH = /^\/api\/session\/[^/]+\/relay$/
export const REQUEST_PATH = "/api/session/request"
export const TICKETS_PATH = "/api/session/"
export const HUB_PATH = "/sessionHub"
export const NEGOTIATE_PATH = "/sessionHub/negotiate"

/** The ticket in a path as the gate's own clients write it. */
export const ticketAt = (path: string): string | undefined =>
  path.startsWith(TICKETS_PATH) && path !== REQUEST_PATH ? path.slice(TICKETS_PATH.length).split("/", 1)[0] : undefined

/** The path of a ticket's events, including the gate's base path. */
export const eventsUrl = (basePath: string, ticket: string): string => `${basePath}${TICKETS_PATH}${ticket}/events`

/** A request's path and query, also from the absolute form that proxies send (RFC 9112 §3.2.2). */
export const targetOf = ({ url = "/" }: IncomingMessage): string =>
  url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "") || "/"

/** Normalises a path as the router matches it: percent-encoding, letter case and repeated slashes make no difference. */
export const normalise = (path: string): string =>
  /%|\/\/|[A-Z]/.test(path)
    ? path
        .replace(/%[0-9a-f]{2}/gi, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)))
        .replace(/\/+/g, "/")
        .toLowerCase()
    : path

/**
 * Whether an upgrade is for the gate. Below a base path every upgrade is. At the root a host may serve WebSockets of its own, so only the
 * gate's two paths are: events and hub.
 */
export const isOwnUpgrade = (basePath: string, request: IncomingMessage): boolean => {
  const [path = "/"] = targetOf(request).split("?", 1)
  return basePath === ""
    ? EVENTS_PATH.test(path) || path === HUB_PATH
    : path === basePath || path.startsWith(`${basePath}/`)
}
