/**
 * One caller that behaves like the widget: requests until it is answered, keeps a WebSocket open while it waits,
 * reconnects with its ticket when the connection breaks, starts when it is called, and talks. It records everything
 * that it receives.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import type { Chance } from "../../harness/chance.ts"
import { type Answer, ask, field, textOf } from "../../harness/http.ts"
import { openHub } from "../../harness/hub.ts"

/**
 * How a caller's page starts its call: by a request, over its WebSocket, or like the existing widget, for which the hub
 * starts it.
 */
export type StartsOver = "http" | "websocket" | "hub"

/**
 * The outcome for the caller: `talked`, `dead session` (the platform had given it up), `not let in` (the campaign was closed), or the end of its
 * ticket.
 */
export type Outcome = string

/** What a caller was offered, as kind and target of each, when, and over which of its connections: 0 for the answer to its request. */
export interface Offered {
  readonly at: number
  readonly offers: ReadonlyArray<string>
  readonly connection: number
}

export interface Caller {
  readonly name: number
  /** the current attempt, which the platform sees as the client's identifier */
  attempt: string
  ticket: string | undefined
  /** when the request that got the ticket was sent and answered */
  askedAt: number
  answeredAt: number
  queued: boolean
  /** position, and when it was received */
  readonly positions: Array<{ readonly at: number; readonly position: number }>
  /** each distinct start call, when it was first received */
  readonly calls: Map<string, number>
  /** when it lost its connection while waiting, and when it received its ticket's state again */
  readonly gaps: Array<{ readonly from: number; to: number | undefined }>
  /** by the wall clock (ms): until when it may start, when it learnt that, and when it first sent its start */
  turn: { readonly until: number; readonly heardAt: number; sentAt: number | undefined } | undefined
  startedAt: number | undefined
  /** it was called and is back at its place, because its start failed */
  putBack: boolean
  /** it was told that the agent cannot be reached */
  disrupted: boolean
  outcome: Outcome | undefined
  /** when it learnt that it would not talk */
  endedAt: number | undefined
  readonly offered: Array<Offered>
  /** what it was told when it was not let in */
  refusal: string | undefined
  /** failed requests by name: 503, broken connections */
  readonly troubles: Map<string, number>
  /** attempts without an answer: only the store knows what became of them */
  readonly ghosts: Array<string>
}

export interface CallerOptions {
  readonly name: number
  /** absent: an address of its own */
  readonly address?: string | undefined
  readonly chance: Chance
  /** the campaign that it requests; the default one when absent */
  readonly campaignId: string | undefined
  /** the gates' addresses */
  readonly entrances: () => ReadonlyArray<string>
  /** talks on the platform */
  readonly talk: (sessionId: string, millis: number) => Promise<boolean>
  readonly talkMillis: number
  /** how long it takes to react to its start call */
  readonly reactMillis: number
  readonly startsOver: StartsOver
  /** its page tells a gate that the call is over, sometimes twice */
  readonly reports: boolean
  /** leaves for the first offer */
  readonly takesOffers: boolean
  readonly stopped: () => boolean
  readonly wrong: (what: string) => void
}

const ATTEMPT_PAUSE = 150
/** a caller has one address */
export const addressOf = (name: number): string => `198.18.${Math.floor(name / 250)}.${(name % 250) + 1}`

export const makeCaller = (name: number): Caller => ({
  name,
  attempt: "",
  ticket: undefined,
  askedAt: 0,
  answeredAt: 0,
  queued: false,
  positions: [],
  calls: new Map(),
  gaps: [],
  turn: undefined,
  startedAt: undefined,
  putBack: false,
  disrupted: false,
  outcome: undefined,
  endedAt: undefined,
  offered: [],
  refusal: undefined,
  troubles: new Map(),
  ghosts: [],
})

/** What the caller opens its call with: the session's id, or the token of a vendor. */
export const sessionOf = (answer: Answer): string => {
  const { credential } = answer.json
  return typeof credential === "object" && credential !== null && "token" in credential
    ? String(credential.token)
    : textOf(answer, "sessionId")
}

const offersIn = ({ offers }: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
  Array.isArray(offers) ? offers.map((offer) => `${offer.kind} ${offer.target}`) : []

/** What a WebSocket ends with: the end of the ticket, or that it must be reopened. */
type Left = { readonly outcome: Outcome } | { readonly session: string } | "again"

export const runCaller = async (caller: Caller, options: CallerOptions): Promise<void> => {
  const { campaignId, chance, entrances, name, reactMillis, reports, startsOver, stopped, talk, talkMillis, wrong } =
    options
  let connections = 0
  const isOffered = (told: Readonly<Record<string, unknown>>): boolean => {
    const offers = offersIn(told)
    if (offers.length > 0) caller.offered.push({ at: performance.now(), offers, connection: connections })
    return offers.length > 0 && options.takesOffers
  }
  /** Leaves for a telephone number. */
  const leave = async (): Promise<Left> => {
    while (!stopped() && (await send("DELETE", `/api/session/${caller.ticket}?taken=number`))?.status !== 204) {
      trouble("leave")
      await pause()
    }
    return { outcome: "left" }
  }
  const headers = { "x-forwarded-for": options.address ?? addressOf(name) }
  let turn = name
  const entrance = (): string => {
    const all = entrances()
    return all[turn % all.length] ?? ""
  }
  const trouble = (what: string): void => {
    turn++
    caller.troubles.set(what, (caller.troubles.get(what) ?? 0) + 1)
  }
  const pause = (): Promise<void> => sleep(ATTEMPT_PAUSE + chance.below(ATTEMPT_PAUSE))
  const send = (method: string, path: string, body?: unknown): Promise<Answer | undefined> =>
    ask(method, entrance() + path, body === undefined ? { headers } : { headers, body }).catch(() => undefined)

  const request = async (): Promise<Left> => {
    for (let n = 1; !stopped(); n++) {
      caller.attempt = `c${name}-${n}`
      caller.askedAt = performance.now()
      const answer = await send("POST", "/api/session/request", { campaignId, clientIdentifier: caller.attempt })
      caller.answeredAt = performance.now()
      if (answer?.status === 200 || answer?.status === 202) {
        caller.ticket = textOf(answer, "uniqueRequestId")
        caller.queued = answer.status === 202
        if (answer.status === 200) return { session: sessionOf(answer) }
        caller.positions.push({ at: caller.answeredAt, position: Number(answer.json.queuePosition) })
        caller.disrupted ||= answer.json.disrupted === true
        return isOffered(answer.json) ? leave() : "again"
      }
      if (answer !== undefined && field(answer, "code") === "closed") {
        isOffered(answer.json)
        caller.refusal = field(answer, "message")
        return { outcome: "not let in" }
      }
      // the first answered request counts; an earlier slot, if there was one, is freed by its deadline
      caller.ghosts.push(caller.attempt)
      const code = answer === undefined ? "broken" : (field(answer, "code") ?? String(answer.status))
      if (answer !== undefined && answer.status !== 503) wrong(`a request was answered ${answer.status} ${answer.text}`)
      trouble(code)
      await pause()
    }
    return { outcome: "unasked" }
  }

  /** Starts until it is told what became of the ticket; undefined when it must keep waiting. */
  const start = async (): Promise<Exclude<Left, "again"> | undefined> => {
    while (!stopped()) {
      if (caller.turn !== undefined) caller.turn.sentAt ??= Date.now()
      const answer = await send("POST", `/api/session/${caller.ticket}/start`)
      const code = answer === undefined ? "broken" : (field(answer, "code") ?? "")
      if (answer?.status === 200) return { session: sessionOf(answer) }
      if (code === "not_your_turn" || code === "agent_busy" || code === "agent_unavailable") {
        caller.putBack = true
        return undefined
      }
      if (code === "ticket_over") return { outcome: field(answer ?? neverAnswer, "state") ?? "over" }
      if (code === "ticket_unknown") return { outcome: "unknown" }
      if (code === "platform_unavailable" || code === "platform_rejected") return { outcome: "failed" }
      if (answer !== undefined && answer.status !== 503 && answer.status !== 409) {
        wrong(`a start was answered ${answer.status} ${answer.text}`)
      }
      trouble(`start ${code}`)
      await pause()
    }
    return { outcome: "stopped" }
  }

  /** one start at a time, though connections come and go meanwhile */
  let starting: ReturnType<typeof start> | undefined
  const wait = (): Promise<Left> =>
    new Promise((resolve) => {
      connections++
      const url = `${entrance().replace(/^http/, "ws")}/api/session/${caller.ticket}/events`
      const socket = new WebSocket(url, { headers, handshakeTimeout: 10_000 })
      let settled = false
      let reacting = false
      let leaving = false
      const settle = (left: Left): void => {
        if (settled) return
        settled = true
        clearInterval(watch)
        socket.terminate()
        resolve(left)
      }
      const watch = setInterval(() => {
        if (stopped()) settle({ outcome: "stopped" })
      }, 200)
      const begin = async (): Promise<void> => {
        if (leaving) return
        if (startsOver !== "websocket") {
          starting ??= sleep(reactMillis)
            .then(start)
            .finally(() => {
              starting = undefined
            })
          const left = await starting
          if (left !== undefined) settle(left)
          return
        }
        if (reacting) return
        reacting = true
        await sleep(reactMillis)
        if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"start"}')
        reacting = false
      }
      socket.on("message", (data) => {
        const event: Readonly<Record<string, unknown>> = JSON.parse(String(data))
        const at = performance.now()
        const gap = caller.gaps.at(-1)
        if (gap !== undefined) gap.to ??= at
        if (event.type === "position") {
          caller.positions.push({ at, position: Number(event.position) })
          caller.disrupted ||= event.disrupted === true
        } else if (event.type === "start_call") {
          const before = String(event.startBefore)
          if (!caller.calls.has(before)) caller.calls.set(before, at)
          caller.turn ??= { until: Date.parse(before), heardAt: Date.now(), sentAt: undefined }
          void begin()
        } else if (event.type === "session") settle({ session: String(event.sessionId) })
        else if (event.type === "ended") settle({ outcome: String(event.reason) })
        else if (event.type === "offer") {
          if (!isOffered(event) || caller.calls.size > 0) return
          leaving = true
          void leave().then(settle)
        }
        // what comes of the ticket then is told by this connection or the next
        else if (event.type === "error") {
          caller.putBack ||= event.code === "agent_busy" || event.code === "agent_unavailable"
          trouble(`start ${event.code}`)
        } else if (event.type !== "reconnect") wrong(`an event that nobody asked for: ${String(data)}`)
      })
      socket.on("unexpected-response", (_, response) => {
        if (response.statusCode === 404) return settle({ outcome: "unknown" })
        if (response.statusCode !== 503) wrong(`a connection was refused with ${response.statusCode}`)
        settle("again")
      })
      socket.on("error", () => settle("again"))
      socket.on("close", () => settle("again"))
      // a caller called before its connection broke does not know whether its start arrived; over a WebSocket it is
      // told
      if (caller.calls.size > 0 && startsOver === "http") void begin()
    })

  let token = ""
  /** Like the existing widget, except that it registers its ticket each time. */
  const waitAtHub = async (): Promise<Left> => {
    const gate = { url: entrance() }
    const hub = await openHub(gate, token, headers).catch(() => undefined)
    if (hub === undefined) return "again"
    token = hub.accessToken
    const gap = caller.gaps.at(-1)
    if (gap !== undefined) gap.to ??= performance.now()
    hub.register(caller.ticket ?? "")
    while (!hub.closed() && hub.invoked.length === 0 && !stopped()) await sleep(20)
    const [invoked] = hub.invoked
    await hub.dispose()
    if (invoked?.target === "SessionReady")
      return { session: new URL(String(invoked.argument.webSocketUrl)).pathname.slice(1) }
    if (invoked === undefined) return stopped() ? { outcome: "stopped" } : "again"
    const answer = await send("GET", `/api/session/${caller.ticket}`)
    return { outcome: answer === undefined ? "failed" : (field(answer, "state") ?? "unknown") }
  }

  const report = async (): Promise<void> => {
    while (!stopped() && (await send("DELETE", `/api/session/${caller.ticket}`))?.status !== 204) {
      trouble("report")
      await pause()
    }
  }

  let left = await request()
  while (left === "again") {
    left = await (startsOver === "hub" ? waitAtHub() : wait())
    if (left !== "again") break
    const last = caller.gaps.at(-1)
    if (last === undefined || last.to !== undefined) caller.gaps.push({ from: performance.now(), to: undefined })
    trouble("disconnected")
    await pause()
  }
  if ("session" in left) {
    caller.startedAt = performance.now()
    const talked = await talk(left.session, talkMillis)
    if (reports) await report()
    if (reports && chance.percent(10)) await report()
    caller.outcome = talked ? "talked" : "dead session"
  } else {
    caller.endedAt = performance.now()
    caller.outcome = left.outcome
  }
}

const neverAnswer: Answer = { status: 0, headers: {}, text: "", json: {} }
