/**
 * The gate's HTTP client for browsers. Every call returns an answer, throws `Refusal` (the gate answered with an error) or `Unreachable`
 * (no answer, so a retry may help), or is aborted by its signal.
 */

import { audioConfiguration, gateUrl, type VoiceAgentOptions } from "../client/options.ts"
import type { Offer, Place } from "../client/state.ts"
import { type Fields, fieldsOf, list, number, parse, text } from "./json.ts"
import { offersIn } from "./offers.ts"
import { pauseFor } from "./retry.ts"

/** A session to connect to, once: at its URL, or with a vendor's credential. */
export interface Session {
  readonly access: string | Fields
  readonly sessionId: string
  /** the ticket of the call, with which it can be left; undefined if the gate did not say */
  readonly ticket: string | undefined
  /** how long nobody may speak in the call, in seconds; undefined without a limit */
  readonly silenceSeconds: number | undefined
  /** when the call ends, by the gate's clock (ISO 8601); undefined without a limit */
  readonly endsAt: string | undefined
}

export type Answer =
  | { readonly status: "started"; readonly session: Session }
  | { readonly status: "queued"; readonly ticket: string; readonly place: Place }

/** A ticket's state, as polled. */
export type TicketStatus =
  | { readonly state: "waiting"; readonly place: Place }
  | { readonly state: "called"; readonly startBefore: number }
  | { readonly state: "live"; readonly session: Session }
  | { readonly state: "starting" }
  | { readonly state: "over"; readonly reason: string }

/** The gate answered with an error. */
export class Refusal extends Error {
  readonly status: number
  /** stable; empty if the answer was not a problem document */
  readonly code: string
  /** in seconds */
  readonly retryAfter: number | undefined
  readonly issues: ReadonlyArray<string>
  readonly offers: ReadonlyArray<Offer>

  constructor(status: number, problem: Fields, retryAfter: number | undefined) {
    super(text(problem.detail) ?? text(problem.message) ?? text(problem.title) ?? `The gate answered with ${status}.`)
    this.status = status
    this.code = text(problem.code) ?? ""
    this.retryAfter = retryAfter
    this.issues = list(problem.errors).map(issueOf)
    this.offers = offersIn(problem.offers)
  }
}

/** There was no answer. */
export class Unreachable extends Error {}

const issueOf = (issue: unknown): string => {
  const { field, message } = fieldsOf(issue)
  return [text(field), text(message)].filter((part) => part !== undefined).join(": ")
}

/** HTTP dates have whole seconds, so a smaller clock difference is ignored. In milliseconds. */
const CLOCK_RESOLUTION = 2_000

/** Backoff of leaving: the pause after the first attempt, and after the last, in milliseconds; two minutes in all. */
const FIRST_PAUSE = 2_000
const LAST_PAUSE = 64_000

/** `Retry-After` is a number of seconds or an HTTP date. */
const retryAfterOf = (response: Response, problem: Fields): number | undefined => {
  // nobody knows when it opens
  if (problem.code === "closed" && problem.opensAt === undefined) return undefined
  const header = response.headers.get("retry-after")
  if (header === null) return number(problem.retryAfterSeconds)
  if (/^\d+$/.test(header)) return Number(header)
  const now = Date.parse(response.headers.get("date") ?? "") || Date.now()
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}

/** Undefined if there is none in these fields. */
export const sessionIn = ({
  credential,
  endsAt,
  sessionId,
  silenceSeconds,
  uniqueRequestId,
  webSocketUrl,
}: Fields): Session | undefined => {
  const access = text(webSocketUrl) ?? (credential === undefined ? undefined : fieldsOf(credential))
  if (access === undefined) return undefined
  return {
    access,
    sessionId: text(sessionId) ?? "",
    ticket: text(uniqueRequestId),
    silenceSeconds: number(silenceSeconds),
    endsAt: text(endsAt),
  }
}

const sessionOf = (fields: Fields): Session => {
  const session = sessionIn(fields)
  if (session === undefined) throw new Unreachable("the gate's answer names no session")
  return session
}

/** For requests that must not be aborted when the visit is over, because their answer may contain a place to give up. */
export const neverAborted = new AbortController().signal

/** One gate, for one campaign. */
export class Gate {
  private readonly options: VoiceAgentOptions
  /** How far the gate's clock is ahead of this machine's, in milliseconds, by the last answer with a `Date`. */
  private ahead = 0

  constructor(options: VoiceAgentOptions) {
    this.options = options
  }

  /**
   * Requests a session. With a ticket that is not over, returns that ticket's state again.
   * @param other a campaign other than the page's
   */
  async request(ticket: string | undefined, signal: AbortSignal, other?: string): Promise<Answer> {
    const { campaign, clientIdentifier, dynamicVariables = {}, metadata = {}, region } = this.options
    const fields = await this.exchange("POST", "api/session/request", signal, {
      campaignId: other ?? campaign,
      regionId: other === undefined ? region : undefined,
      clientIdentifier,
      identity: await this.identity(),
      dynamicVariables,
      metadata,
      audioConfiguration: audioConfiguration(this.options),
      uniqueRequestId: ticket,
    })
    const id = text(fields.uniqueRequestId)
    if (fields.status !== "queued" || id === undefined) return { status: "started", session: sessionOf(fields) }
    return { status: "queued", ticket: id, place: this.placeOf(fields) }
  }

  /** The token of the moment; when the page cannot get one, that may be over soon, as with the gate itself. */
  private async identity(): Promise<string | undefined> {
    const { identity } = this.options
    try {
      return (typeof identity === "function" ? await identity() : identity) || undefined
    } catch (cause) {
      throw new Unreachable("the page has no token that says who calls", { cause })
    }
  }

  /** Starts the session of a called ticket. Refused with 409 if it is not called, and 404 or 410 if it is over. */
  async start(ticket: string, signal: AbortSignal): Promise<Session> {
    return sessionOf(await this.exchange("POST", `${path(ticket)}/start`, signal))
  }

  /** Polls a ticket's state: the fallback if push is not possible. */
  async status(ticket: string, signal: AbortSignal): Promise<TicketStatus> {
    // a caller on another tab gets more time to come back
    const fields = await this.exchange("GET", `${path(ticket)}?hidden=${document.hidden}`, signal)
    const state = text(fields.state) ?? ""
    if (state === "waiting") return { state, place: this.placeOf(fields) }
    if (state === "called") return { state, startBefore: this.localTime(fields.startBefore) }
    if (state === "live") return { state, session: sessionOf(fields) }
    return state === "starting" ? { state } : { state: "over", reason: state }
  }

  /** Reports how long nobody has spoken in the call; returns when it ends (ms of this machine's clock), NaN if no end is due. */
  async silence(ticket: string, seconds: number, signal: AbortSignal): Promise<number> {
    return this.localTime((await this.exchange("POST", `${path(ticket)}/silence`, signal, { seconds })).endsAt)
  }

  /** Gives up the place, for what was offered if so, or ends the call. Repeated while the gate does not answer, for about two minutes. */
  async leave(ticket: string, taken?: Offer["kind"]): Promise<void> {
    const to = gateUrl(this.options, path(ticket) + (taken === undefined ? "" : `?taken=${taken}`))
    for (let pause = FIRST_PAUSE; pause <= LAST_PAUSE; pause *= 2) {
      try {
        const { status } = await fetch(to, { method: "DELETE", keepalive: true })
        // Neither too many requests nor a fault of the gate.
        if (status < 429) return
      } catch {
        // no answer
      }
      await pauseFor(window, pause, neverAborted)
    }
  }

  /** The same while the page goes. A beacon is a POST without preflight, so a browser sends it then. */
  leaveWithPage(ticket: string): void {
    navigator.sendBeacon(gateUrl(this.options, `${path(ticket)}/leave`))
  }

  /** Where a ticket's events are pushed. */
  eventsUrl(ticket: string): string {
    return gateUrl(this.options, `${path(ticket)}/events`).href.replace(/^http/, "ws")
  }

  /** The place in an event (`position`) or an answer (`queuePosition`). */
  placeOf(fields: Fields): Place {
    return {
      position: Math.max(1, number(fields.position ?? fields.queuePosition) ?? 1),
      queueLength: number(fields.queueLength),
      estimatedWait: number(fields.estimatedWaitSeconds),
      disrupted: fields.disrupted === true,
      paused: fields.paused === true,
      pausedUntil: this.localTime(fields.pausedUntil) || undefined,
      resumesAt: this.localTime(fields.resumesAt) || undefined,
      offers: offersIn(fields.offers),
      asOf: Date.now(),
    }
  }

  /** Converts a time of the gate (ISO 8601) to milliseconds of this machine's clock; NaN if invalid. */
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
