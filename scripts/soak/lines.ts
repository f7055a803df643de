/** The ways in which a caller hears of a place in the queue: WebSocket, Server-Sent Events, polling, and the hub of SignalR. */
import { get } from "node:http"
import { HttpTransportType, HubConnectionBuilder, LogLevel } from "@microsoft/signalr"
import { WebSocket } from "ws"
import { endedEvent } from "../../src/PushChannel.ts"
import { ask } from "../../test/e2e/support/http.ts"
import type { Transport } from "./plan.ts"

/** An event of the gate, or `closed` with what is known of it. */
export type Said = Readonly<Record<string, unknown>> & { readonly type: string }
export type Hear = (said: Said) => void

export interface Line {
  /** asks over the line itself, where that is possible */
  readonly send: ((type: "start" | "leave") => void) | undefined
  /** gone without a word */
  readonly cut: () => void
}

type Headers = Readonly<Record<string, string>>
type Open = (url: string, ticket: string, headers: Headers, hear: Hear) => Promise<Line>

const POLL_MILLIS = 2_000

const socket: Open = (url, ticket, headers, hear) =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(`${url.replace(/^http/, "ws")}/api/session/${ticket}/events`, {
      headers,
      perMessageDeflate: false,
    })
    ws.on("message", (data) => hear(JSON.parse(String(data))))
    ws.on("error", reject)
    ws.on("open", () => {
      // a refused one closes as well, which its error has told
      ws.on("close", (code) => hear({ type: "closed", code }))
      resolve({
        send: (type) => {
          if (ws.readyState === WebSocket.OPEN) ws.send(JSON.stringify({ type }))
        },
        cut: () => ws.terminate(),
      })
    })
  })

const events: Open = (url, ticket, headers, hear) =>
  new Promise((resolve, reject) => {
    const request = get(`${url}/api/session/${ticket}/events`, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`events: HTTP ${response.statusCode}`))
      let text = ""
      response.on("data", (chunk: Buffer) => {
        const blocks = (text + chunk.toString()).split("\n\n")
        text = blocks.pop() ?? ""
        for (const block of blocks) {
          const data = /^data: (.*)$/m.exec(block)?.[1]
          if (data !== undefined) hear(JSON.parse(data))
        }
      })
      response.on("error", () => {})
      response.on("close", () => hear({ type: "closed", code: 0 }))
      resolve({ send: undefined, cut: () => request.destroy() })
    })
    request.on("error", reject)
  })

const TERMINAL = new Set(["ended", "left", "abandoned", "missed", "failed", "reclaimed", "removed"])

/** A poller's own view of a state as an event. */
const saidOf = (status: number, body: Readonly<Record<string, unknown>>): Said | undefined => {
  if (status !== 200) return { type: "ended", reason: `HTTP ${status}` }
  const state = String(body.state)
  if (state === "called") return { type: "start_call", startBefore: body.startBefore }
  if (state === "live") return { type: "session" }
  return TERMINAL.has(state) ? { type: "ended", reason: state } : undefined
}

const poll: Open = async (url, ticket, headers, hear) => {
  let open = true
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    try {
      const { json, status } = await ask("GET", `${url}/api/session/${ticket}`, { headers })
      if (!open) return
      const said = saidOf(status, json)
      if (said !== undefined) hear(said)
    } catch (error) {
      if (open) hear({ type: "closed", code: String(error) })
    }
    if (open) timer = setTimeout(look, POLL_MILLIS)
  }
  await look()
  return {
    send: undefined,
    cut: () => {
      open = false
      clearTimeout(timer)
    },
  }
}

/** The stock client, which registers the ticket and is told when the gate has started it. */
const hub: Open = async (url, ticket, headers, hear) => {
  const connection = new HubConnectionBuilder()
    .withUrl(`${url}/sessionHub`, { headers: { ...headers }, transport: HttpTransportType.WebSockets })
    .configureLogging(LogLevel.None)
    .build()
  connection.on("SessionReady", () => hear({ type: "session" }))
  // it has words alone; those for one who has left may come before the answer to the leaving
  connection.on("SessionFailed", ({ message }: { message: string }) =>
    hear({ type: "ended", reason: message === endedEvent("left").message ? "left" : "hub", message }),
  )
  connection.onclose((error) => hear({ type: "closed", code: String(error) }))
  await connection.start()
  await connection.invoke("Register", ticket)
  return { send: undefined, cut: () => void connection.stop().catch(() => {}) }
}

export const openLine: Readonly<Record<Transport, Open>> = { socket, events, poll, hub }
