/**
 * The gate over HTTP, as a browser uses it. Every call either answers, or throws `Refusal` (the gate said no, and why) or
 * `Unreachable` (nobody answered, so trying again makes sense), or is aborted by its signal.
 */
import { type Fields, fieldsOf, list, number, parse, text } from "./json.ts"
import { audioConfiguration, gateUrl, type VoiceAgentOptions } from "./options.ts"
import type { Place } from "./state.ts"

/** A session to connect to. The address is good once. */
export interface Session {
  readonly webSocketUrl: string
  readonly sessionId: string
}

export type Answer =
  | { readonly status: "started"; readonly session: Session }
  | { readonly status: "queued"; readonly ticket: string; readonly place: Place }

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

/** An HTTP date has whole seconds, so a smaller difference between two clocks means nothing. In milliseconds. */
const CLOCK_RESOLUTION = 2_000

/** What was given back matters to the gate, not to the page. */
const ignore = (): void => {}

/** `Retry-After` is a number of seconds or an HTTP date. */
const retryAfterOf = (response: Response, problem: Fields): number | undefined => {
  const header = response.headers.get("retry-after")
  if (header === null) return number(problem.retryAfterSeconds)
  if (/^\d+$/.test(header)) return Number(header)
  const now = Date.parse(response.headers.get("date") ?? "") || Date.now()
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}

const sessionOf = (fields: Fields): Session => {
  const webSocketUrl = text(fields.webSocketUrl)
  if (webSocketUrl === undefined) throw new Unreachable("the gate's answer names no session")
  return { webSocketUrl, sessionId: text(fields.sessionId) ?? "" }
}

/** The place in an event (`position`) or an answer (`queuePosition`). */
export const placeOf = (fields: Fields): Place => ({
  position: Math.max(1, number(fields.position) ?? number(fields.queuePosition) ?? 1),
  queueLength: number(fields.queueLength),
  estimatedWait: number(fields.estimatedWaitSeconds),
  disrupted: fields.disrupted === true,
})

/** One gate, for one campaign. */
export class Gate {
  private readonly options: VoiceAgentOptions
  /** How far the gate's clock is ahead of this machine's, in milliseconds; from the last answer that told the time. */
  private ahead = 0

  constructor(options: VoiceAgentOptions) {
    this.options = options
  }

  /** Asks for a session; with a ticket that still lives, answers for that ticket again. */
  async request(ticket: string | undefined, signal: AbortSignal): Promise<Answer> {
    const { campaign, clientIdentifier, dynamicVariables = {}, metadata = {}, region } = this.options
    const fields = await this.exchange("POST", "api/session/request", signal, {
      campaignId: campaign,
      regionId: region,
      clientIdentifier,
      dynamicVariables,
      metadata,
      audioConfiguration: audioConfiguration(this.options),
      uniqueRequestId: ticket,
    })
    const id = text(fields.uniqueRequestId)
    if (fields.status !== "queued" || id === undefined) return { status: "started", session: sessionOf(fields) }
    return { status: "queued", ticket: id, place: placeOf(fields) }
  }

  /** Takes the call that was announced. Refused with 409 when it is not, and 404 or 410 when the ticket is over. */
  async start(ticket: string, signal: AbortSignal): Promise<Session> {
    return sessionOf(await this.exchange("POST", `${path(ticket)}/start`, signal))
  }

  /** Asks for a ticket's state: the fallback where nothing can be pushed. */
  async status(ticket: string, signal: AbortSignal): Promise<TicketStatus> {
    const fields = await this.exchange("GET", path(ticket), signal)
    const state = text(fields.state) ?? ""
    if (state === "waiting") return { state, place: placeOf(fields) }
    if (state === "called") return { state, startBefore: this.localTime(fields.startBefore) }
    if (state === "live") return { state, session: sessionOf(fields) }
    return state === "starting" ? { state } : { state: "over", reason: state }
  }

  /** Gives the place up. Best effort, also while the page goes away: an absent ticket is given up by the gate. */
  leave(ticket: string): void {
    fetch(gateUrl(this.options, path(ticket)), { method: "DELETE", keepalive: true }).catch(ignore)
  }

  /** Where a ticket's events are pushed. */
  eventsUrl(ticket: string): string {
    return gateUrl(this.options, `${path(ticket)}/events`).href.replace(/^http/, "ws")
  }

  /** A time of the gate (ISO 8601) as milliseconds of this machine's clock; NaN when it is none. */
  localTime(gateTime: unknown): number {
    return Date.parse(text(gateTime) ?? "") - this.ahead
  }

  private async exchange(method: string, to: string, signal: AbortSignal, body?: object): Promise<Fields> {
    const init: RequestInit = { method, signal, cache: "no-store" }
    if (body !== undefined) {
      init.body = JSON.stringify(body)
      init.headers = { "content-type": "application/json" }
    }
    let response: Response
    let content: string
    try {
      response = await fetch(gateUrl(this.options, to), init)
      content = await response.text()
    } catch (cause) {
      signal.throwIfAborted()
      throw new Unreachable("the gate does not answer", { cause })
    }
    const difference = Date.parse(response.headers.get("date") ?? "") - Date.now()
    if (!Number.isNaN(difference)) this.ahead = Math.abs(difference) < CLOCK_RESOLUTION ? 0 : difference
    const fields = parse(content)
    if (response.ok) return fields
    throw new Refusal(response.status, fields, retryAfterOf(response, fields))
  }
}

const path = (ticket: string): string => `api/session/${encodeURIComponent(ticket)}`
