/**
 * The gate's wire (design §5) as the demo page sees it, with nothing behind it: a queue in memory and sessions that echo
 * one second later. Serves the built page too, with the headers that the gate gives it. Tests steer it and look inside.
 */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { extname, join, normalize } from "node:path"
import { type WebSocket, WebSocketServer } from "ws"

const ECHO_DELAY_MILLIS = 1_000

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
}

type State = "waiting" | "called" | "live" | "ended" | "left" | "missed"

interface Ticket {
  readonly id: string
  state: State
  startBefore: number
  events: WebSocket | undefined
  timer: NodeJS.Timeout | undefined
  /** sizes of the binary frames its session received */
  readonly frames: Array<number>
  echoed: number
  socket: WebSocket | undefined
}

export interface FakeGate {
  readonly url: string
  /** tickets in the order in which they came */
  readonly tickets: () => ReadonlyArray<Readonly<Omit<Ticket, "events" | "timer">>>
  /** takes all slots that are free with calls from nowhere; the answer ends one of them */
  readonly occupy: () => () => void
  /** the next request is answered with this */
  readonly refuseNext: (status: number, problem: object, headers?: Readonly<Record<string, string>>) => void
  /** the next request to start is answered with this */
  readonly refuseNextStart: (status: number, problem: object) => void
  /** cuts the push channels and lets none back in until `true` */
  readonly allowEvents: (allowed: boolean) => void
  /** answers no request at all until `true` */
  readonly allowRequests: (allowed: boolean) => void
  readonly stop: () => Promise<void>
}

/** Starts it on a free port of 127.0.0.1. */
export const startFakeGate = async (options: {
  /** where the built page is */
  readonly page: string
  readonly slots: number
  readonly startWindowMillis?: number
}): Promise<FakeGate> => {
  const tickets: Array<Ticket> = []
  let refusal: { status: number; problem: object; headers: Readonly<Record<string, string>> } | undefined
  let startRefusal: { status: number; problem: object } | undefined
  let eventsAllowed = true
  let requestsAllowed = true

  const busy = () => tickets.filter(({ state }) => state === "called" || state === "live").length
  const waiting = () => tickets.filter(({ state }) => state === "waiting")
  const placeOf = (ticket: Ticket) => ({
    position: waiting().indexOf(ticket) + 1,
    queueLength: waiting().length,
    estimatedWaitSeconds: 45 * (waiting().indexOf(ticket) + 1),
  })
  const push = (ticket: Ticket, event: object) => ticket.events?.send(JSON.stringify(event))
  const pushState = (ticket: Ticket) => {
    if (ticket.state === "waiting") push(ticket, { type: "position", ...placeOf(ticket) })
    if (ticket.state === "called") push(ticket, { type: "start_call", startBefore: iso(ticket.startBefore) })
    if (ticket.state === "missed")
      push(ticket, { type: "ended", reason: "missed", message: "You did not start in time." })
  }

  const advance = () => {
    for (const ticket of waiting().slice(0, Math.max(0, options.slots - busy()))) {
      const window = options.startWindowMillis ?? 30_000
      ticket.state = "called"
      ticket.startBefore = Date.now() + window
      ticket.timer = setTimeout(() => {
        if (ticket.state === "called") finish(ticket, "missed")
      }, window)
      pushState(ticket)
    }
    for (const ticket of waiting()) pushState(ticket)
  }

  const finish = (ticket: Ticket, state: State) => {
    clearTimeout(ticket.timer)
    ticket.state = state
    pushState(ticket)
    advance()
  }

  const sessionOf = (ticket: Ticket, host: string) => ({
    webSocketUrl: `ws://${host}/session/${ticket.id}`,
    sessionId: `session-${ticket.id}`,
  })

  const request = async (message: IncomingMessage, response: ServerResponse, host: string) => {
    const refused = refusal
    refusal = undefined
    if (refused !== undefined) return problem(response, refused.status, refused.problem, refused.headers)
    const body: unknown = JSON.parse(await read(message))
    const known = tickets.find(({ id }) => isRecord(body) && body.uniqueRequestId === id)
    const ticket = known !== undefined && !["ended", "left", "missed"].includes(known.state) ? known : newTicket()
    if (ticket !== known) {
      ticket.state = busy() < options.slots && waiting().length === 0 ? "live" : "waiting"
      tickets.push(ticket)
      advance()
    }
    const uniqueRequestId = ticket.id
    if (ticket.state === "live") {
      return json(response, 200, { status: "started", uniqueRequestId, ...sessionOf(ticket, host) })
    }
    const { position, estimatedWaitSeconds } = placeOf(ticket)
    const eventsUrl = `/api/session/${uniqueRequestId}/events`
    json(response, 202, { status: "queued", uniqueRequestId, queuePosition: position, estimatedWaitSeconds, eventsUrl })
  }

  const start = (ticket: Ticket, response: ServerResponse, host: string) => {
    const refused = startRefusal
    startRefusal = undefined
    if (refused !== undefined) return problem(response, refused.status, refused.problem)
    if (ticket.state === "waiting") {
      return problem(response, 409, { code: "not_your_turn", message: "It is not your turn yet." })
    }
    if (ticket.state !== "called") return problem(response, 410, { code: "ticket_over", message: "It is over." })
    clearTimeout(ticket.timer)
    ticket.state = "live"
    json(response, 200, sessionOf(ticket, host))
  }

  const route = async (message: IncomingMessage, response: ServerResponse) => {
    const path = new URL(message.url ?? "/", "http://gate").pathname
    if (!path.startsWith("/api/")) return serve(options.page, path, response)
    if (!requestsAllowed) return message.socket.destroy()
    const host = message.headers.host ?? ""
    if (path === "/api/session/request") return request(message, response, host)
    const [, , , id, action] = path.split("/")
    const ticket = tickets.find((one) => one.id === id)
    if (ticket === undefined) return problem(response, 404, { code: "ticket_unknown", message: "No such ticket." })
    if (message.method === "POST" && action === "start") return start(ticket, response, host)
    if (message.method === "DELETE") {
      if (ticket.state === "waiting" || ticket.state === "called") finish(ticket, "left")
      return response.writeHead(204).end()
    }
    const { position, ...place } = placeOf(ticket)
    return json(response, 200, {
      uniqueRequestId: ticket.id,
      state: ticket.state,
      ...(ticket.state === "waiting" ? { queuePosition: position, ...place } : {}),
      ...(ticket.state === "called" ? { startBefore: iso(ticket.startBefore) } : {}),
    })
  }

  const attach = (ticket: Ticket, socket: WebSocket) => {
    ticket.events = socket
    socket.on("close", () => {
      if (ticket.events === socket) ticket.events = undefined
    })
    pushState(ticket)
  }

  const talk = (ticket: Ticket, socket: WebSocket) => {
    ticket.socket = socket
    socket.send(JSON.stringify({ type: "greeting", text: "Hello. I repeat what you say." }))
    socket.on("message", (data: Buffer, binary) => {
      if (!binary) return
      ticket.frames.push(data.length)
      setTimeout(() => {
        if (socket.readyState !== socket.OPEN) return
        ticket.echoed += data.length
        socket.send(data)
      }, ECHO_DELAY_MILLIS)
    })
    socket.on("close", () => finish(ticket, "ended"))
  }

  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer((message, response) => {
    route(message, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  server.on("upgrade", (message, socket, head) => {
    const path = new URL(message.url ?? "/", "http://gate").pathname
    const ticket = tickets.find(({ id }) => path === `/api/session/${id}/events` || path === `/session/${id}`)
    const events = path.endsWith("/events")
    const allowed = events ? eventsAllowed : ticket?.state === "live" && ticket.socket === undefined
    if (ticket === undefined || !allowed) {
      socket.destroy()
      return
    }
    sockets.handleUpgrade(message, socket, head, (opened) => (events ? attach : talk)(ticket, opened))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")

  return {
    url: `http://127.0.0.1:${address.port}/`,
    tickets: () => tickets,
    occupy: () => {
      const calls = Array.from({ length: options.slots - busy() }, newTicket)
      for (const call of calls) call.state = "live"
      tickets.push(...calls)
      return () => {
        const call = calls.pop()
        if (call !== undefined) finish(call, "ended")
      }
    },
    refuseNext: (status, answer, headers = {}) => {
      refusal = { status, problem: answer, headers }
    },
    refuseNextStart: (status, answer) => {
      startRefusal = { status, problem: answer }
    },
    allowEvents: (allowed) => {
      eventsAllowed = allowed
      if (!allowed) for (const { events } of tickets) events?.terminate()
    },
    allowRequests: (allowed) => {
      requestsAllowed = allowed
    },
    stop: async () => {
      for (const ticket of tickets) clearTimeout(ticket.timer)
      for (const socket of sockets.clients) socket.terminate()
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

const newTicket = (): Ticket => ({
  id: randomBytes(18).toString("base64url"),
  state: "waiting",
  startBefore: 0,
  events: undefined,
  timer: undefined,
  frames: [],
  echoed: 0,
  socket: undefined,
})

const iso = (millis: number): string => new Date(millis).toISOString()

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const read = async (message: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

const json = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const problem = (
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response
    .writeHead(status, { "content-type": "application/problem+json", ...headers })
    .end(JSON.stringify({ status, ...body }))
}

const serve = async (page: string, path: string, response: ServerResponse): Promise<void> => {
  const file = join(page, normalize(path === "/" ? "/index.html" : path))
  const content = await readFile(file).catch(() => undefined)
  if (content === undefined) {
    response.writeHead(404).end()
    return
  }
  const headers = {
    "content-type": TYPES[extname(file)] ?? "application/octet-stream",
    "content-security-policy": "default-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
  }
  response.writeHead(200, headers).end(content)
}
