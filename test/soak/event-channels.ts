/** The channels on which a caller gets events of a ticket: WebSocket, Server-Sent Events, polling, and the SignalR hub. */

import { get } from "node:http"
import { HttpTransportType, HubConnectionBuilder, LogLevel } from "@microsoft/signalr"
import { WebSocket } from "ws"
import { endedEvent } from "../../src/protocol/events.ts"
import { ask } from "../harness/http.ts"
import type { Transport } from "./plan.ts"

/** An event of the gate, or `closed` with the known details. */
export type GateEvent = Readonly<Record<string, unknown>> & { readonly type: string }
export type OnEvent = (event: GateEvent) => void

export interface EventChannel {
  /** sends a message on the channel itself, if it supports that */
  readonly send: ((type: "start" | "leave") => void) | undefined
  /** disconnects without leaving */
  readonly cut: () => void
}

type Headers = Readonly<Record<string, string>>
type Open = (url: string, ticket: string, headers: Headers, onEvent: OnEvent) => Promise<EventChannel>

const POLL_MILLIS = 2_000

const socket: Open = (url, ticket, headers, onEvent) =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(`${url.replace(/^http/, "ws")}/api/session/${ticket}/events`, {
      headers,
      perMessageDeflate: false,
    })
    ws.on("message", (data) => onEvent(JSON.parse(String(data))))
    ws.on("error", reject)
    ws.on("open", () => {
      // a refused connection also closes; its error is already reported
      ws.on("close", (code) => onEvent({ type: "closed", code }))
      resolve({
        send: (type) => {
          if (ws.readyState === WebSocket.OPEN) ws.send(JSON.stringify({ type }))
        },
        cut: () => ws.terminate(),
      })
    })
  })

const events: Open = (url, ticket, headers, onEvent) =>
  new Promise((resolve, reject) => {
    const request = get(`${url}/api/session/${ticket}/events`, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`events: HTTP ${response.statusCode}`))
      let text = ""
      response.on("data", (chunk: Buffer) => {
        const blocks = (text + chunk.toString()).split("\n\n")
        text = blocks.pop() ?? ""
        for (const block of blocks) {
          const data = /^data: (.*)$/m.exec(block)?.[1]
          if (data !== undefined) onEvent(JSON.parse(data))
        }
      })
      response.on("error", () => {})
      response.on("close", () => onEvent({ type: "closed", code: 0 }))
      resolve({ send: undefined, cut: () => request.destroy() })
    })
    request.on("error", reject)
  })

const TERMINAL = new Set(["ended", "left", "abandoned", "missed", "failed", "reclaimed", "removed", "stopped"])

/** The event that corresponds to a polled state. */
const eventFor = (status: number, body: Readonly<Record<string, unknown>>): GateEvent | undefined => {
  if (status !== 200) return { type: "ended", reason: `HTTP ${status}` }
  const state = String(body.state)
  if (state === "called") return { type: "start_call", startBefore: body.startBefore }
  if (state === "live") return { type: "session" }
  return TERMINAL.has(state) ? { type: "ended", reason: state } : undefined
}

const poll: Open = async (url, ticket, headers, onEvent) => {
  let open = true
  let timer: NodeJS.Timeout | undefined
  const poll = async (): Promise<void> => {
    try {
      const { json, status } = await ask("GET", `${url}/api/session/${ticket}`, { headers })
      if (!open) return
      const event = eventFor(status, json)
      if (event !== undefined) onEvent(event)
    } catch (error) {
      if (open) onEvent({ type: "closed", code: String(error) })
    }
    if (open) timer = setTimeout(poll, POLL_MILLIS)
  }
  await poll()
  return {
    send: undefined,
    cut: () => {
      open = false
      clearTimeout(timer)
    },
  }
}

/** The standard client, which registers the ticket and is notified when the gate has started its call. */
const hub: Open = async (url, ticket, headers, onEvent) => {
  const connection = new HubConnectionBuilder()
    .withUrl(`${url}/sessionHub`, { headers: { ...headers }, transport: HttpTransportType.WebSockets })
    .configureLogging(LogLevel.None)
    .build()
  connection.on("SessionReady", () => onEvent({ type: "session" }))
  // it has only a message; that for a caller who has left may arrive before the answer to the request to leave
  connection.on("SessionFailed", ({ message }: { message: string }) =>
    onEvent({ type: "ended", reason: message === endedEvent("left").message ? "left" : "hub", message }),
  )
  connection.onclose((error) => onEvent({ type: "closed", code: String(error) }))
  await connection.start()
  await connection.invoke("Register", ticket)
  return { send: undefined, cut: () => void connection.stop().catch(() => {}) }
}

export const openChannel: Readonly<Record<Transport, Open>> = { socket, events, poll, hub }
