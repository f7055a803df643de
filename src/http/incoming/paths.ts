/** The paths that the listeners handle themselves, and how a request's path is read. */
import type { IncomingMessage } from "node:http"

const EVENTS_PATH = /^\/api\/session\/([^/]+)\/events$/

/**
 * The ticket in the path of its events; undefined of any other path. It is a copy: a part of a string keeps the whole string in memory, here
 * for as long as the connection is open.
 */
export const ticketOfEvents = (path: string): string | undefined => {
  const ticket = EVENTS_PATH.exec(path)?.[1]
  return ticket === undefined ? undefined : Buffer.from(ticket, "latin1").toString("latin1")
}
export const RELAY_PATH = /^\/api\/session\/[^/]+\/relay$/
export const REQUEST_PATH = "/api/session/request"
export const TICKETS_PATH = "/api/session/"
export const AVAILABILITY_PATH = "/api/availability"
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

/** The paths without parameters that no router matches, by their lower-case form. */
const STATIC = new Map([REQUEST_PATH, HUB_PATH, NEGOTIATE_PATH].map((path) => [path.toLowerCase(), path]))
const TICKET_FORM = /^\/api\/session\/([^/]+)(\/(?:events|start|relay|silence|leave))?$/i

/**
 * The one form of a path below `/api`, `/health` and the hub, as the router takes them: letter case, doubled slashes, a slash at the end and
 * percent-encoding make no difference. A ticket's id stays as it is, and an encoded slash is no slash.
 */
export const oneFormOf = (path: string): string => {
  if (!/\/\/|[A-Z%]|.\/$/.test(path) || path === HUB_PATH || path === NEGOTIATE_PATH || /%2f/i.test(path)) return path
  const single = path.replace(/\/{2,}/g, "/").replace(/(.)\/$/, "$1")
  const lower = normalise(single)
  const known = STATIC.get(lower)
  if (known !== undefined) return known
  const [, ticket, action = ""] = TICKET_FORM.exec(single) ?? []
  if (ticket !== undefined) return `${TICKETS_PATH}${ticket}${action.toLowerCase()}`
  return /^\/(?:api|health)\//.test(lower) ? single : path
}

/**
 * Whether an upgrade is for the gate. Below a base path every upgrade is. At the root a host may serve WebSockets of its own, so only the
 * gate's two paths are: events and hub.
 */
export const isOwnUpgrade = (basePath: string, request: IncomingMessage): boolean => {
  const [given = "/"] = targetOf(request).split("?", 1)
  const path = oneFormOf(given)
  return basePath === ""
    ? EVENTS_PATH.test(path) || path === HUB_PATH
    : path === basePath || path.startsWith(`${basePath}/`)
}
