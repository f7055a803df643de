/**
 * The gate over HTTP, as a browser uses it. Every call either answers, or throws `Refusal` (the gate said no, and why) or
 * `Unreachable` (nobody answered, so trying again makes sense), or is aborted by its signal.
 */
import { type Fields, fieldsOf, list, number, parse, text } from "./json.ts"

/** A session to connect to. The address is good once. */
export interface Session {
  readonly webSocketUrl: string
  readonly sessionId: string
}

/** A place in the queue; 1 is next. */
export interface Place {
  readonly position: number
  /** how many wait in all, when it is known */
  readonly queueLength: number | undefined
  /** in seconds; undefined while the gate cannot tell */
  readonly estimatedWait: number | undefined
}

export interface Ticket {
  readonly id: string
  readonly eventsUrl: string
}

export type Answer =
  | { readonly status: "started"; readonly session: Session }
  | { readonly status: "queued"; readonly ticket: Ticket; readonly place: Place }

/** A ticket's state when it is asked for instead of pushed. */
export type TicketStatus =
  | { readonly state: "waiting"; readonly place: Place }
  | { readonly state: "called"; readonly startBefore: number }
  | { readonly state: "live"; readonly session: Session }
  | { readonly state: "starting" }
  | { readonly state: "over"; readonly reason: string }

/** The gate answered no. */
export class Refusal extends Error {
  readonly status: number
  /** stable; empty when the answer was no problem document */
  readonly code: string
  /** in seconds */
  readonly retryAfter: number | undefined
  readonly issues: ReadonlyArray<string>

  constructor(status: number, problem: Fields, retryAfter: number | undefined) {
    super(text(problem.detail) ?? text(problem.message) ?? text(problem.title) ?? `The gate answered with ${status}.`)
    this.status = status
    this.code = text(problem.code) ?? ""
    this.retryAfter = retryAfter
    this.issues = list(problem.errors).map(issueOf)
  }
}

/** There was no answer. */
export class Unreachable extends Error {}

const issueOf = (issue: unknown): string => {
  const { field, message } = fieldsOf(issue)
  return [text(field), text(message)].filter((part) => part !== undefined).join(": ")
}

/** How far the gate's clock is ahead of this machine's, in milliseconds; from the last answer that told the time. */
let clockDifference = 0
/** An HTTP date has whole seconds, so a smaller difference means nothing. */
const CLOCK_RESOLUTION = 2_000

/** A time of the gate (ISO 8601) as milliseconds of this machine's clock. */
export const localTime = (gateTime: string): number => Date.parse(gateTime) - clockDifference

const exchange = async (method: string, path: string, signal: AbortSignal, body?: object): Promise<Fields> => {
  const init: RequestInit = { method, signal, cache: "no-store" }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { "content-type": "application/json" }
  }
  let response: Response
  let content: string
  try {
    response = await fetch(path, init)
    content = await response.text()
  } catch (cause) {
    signal.throwIfAborted()
    throw new Unreachable("the gate does not answer", { cause })
  }
  const difference = Date.parse(response.headers.get("date") ?? "") - Date.now()
  if (!Number.isNaN(difference)) clockDifference = Math.abs(difference) < CLOCK_RESOLUTION ? 0 : difference
  const fields = parse(content)
  if (response.ok) return fields
  throw new Refusal(response.status, fields, retryAfterOf(response, fields))
}

/** `Retry-After` is a number of seconds or an HTTP date. */
const retryAfterOf = (response: Response, problem: Fields): number | undefined => {
  const header = response.headers.get("retry-after")
  if (header === null) return number(problem.retryAfterSeconds)
  if (/^\d+$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - clockDifference - Date.now()) / 1_000))
}

const sessionOf = (fields: Fields): Session => {
  const webSocketUrl = text(fields.webSocketUrl)
  if (webSocketUrl === undefined) throw new Unreachable("the gate's answer names no session")
  return { webSocketUrl, sessionId: text(fields.sessionId) ?? "" }
}

/** The place in an event (`position`) or an answer (`queuePosition`). */
export const placeOf = (fields: Fields): Place => ({
  position: number(fields.position) ?? number(fields.queuePosition) ?? 1,
  queueLength: number(fields.queueLength),
  estimatedWait: number(fields.estimatedWaitSeconds),
})

const ticketPath = (id: string): string => `/api/session/${encodeURIComponent(id)}`

/** Asks for a session; with the id of a ticket that still lives, answers for that ticket again. */
export const request = async (ticketId: string | undefined, signal: AbortSignal): Promise<Answer> => {
  const body = {
    dynamicVariables: {},
    metadata: { page: "demo" },
    ...(ticketId === undefined ? {} : { uniqueRequestId: ticketId }),
  }
  const fields = await exchange("POST", "/api/session/request", signal, body)
  const id = text(fields.uniqueRequestId)
  if (fields.status !== "queued" || id === undefined) return { status: "started", session: sessionOf(fields) }
  const eventsUrl = text(fields.eventsUrl) ?? `${ticketPath(id)}/events`
  return { status: "queued", ticket: { id, eventsUrl }, place: placeOf(fields) }
}

/** Takes the call that was announced. Refused with 409 when it is not, and 404 or 410 when the ticket is over. */
export const start = async (id: string, signal: AbortSignal): Promise<Session> =>
  sessionOf(await exchange("POST", `${ticketPath(id)}/start`, signal))

/** Asks for a ticket's state: the fallback where nothing can be pushed. */
export const status = async (id: string, signal: AbortSignal): Promise<TicketStatus> => {
  const fields = await exchange("GET", ticketPath(id), signal)
  const state = text(fields.state) ?? ""
  if (state === "waiting") return { state, place: placeOf(fields) }
  if (state === "called") return { state, startBefore: localTime(text(fields.startBefore) ?? "") }
  if (state === "live") return { state, session: sessionOf(fields) }
  return state === "starting" ? { state } : { state: "over", reason: state }
}

/** Gives the place up. Best effort, also while the page goes away: an absent ticket is given up by the gate. */
export const leave = (id: string): void => {
  fetch(ticketPath(id), { method: "DELETE", keepalive: true }).catch(() => {})
}
