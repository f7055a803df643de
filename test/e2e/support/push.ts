/** A waiting caller's connection to the gate: a WebSocket, or Server-Sent Events. */
import { once } from "node:events"
import { get } from "node:http"
import { WebSocket } from "ws"
import { judgeEvent } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"

export type PushedEvent = Readonly<Record<string, unknown>> & { readonly type: string }

export interface Listener {
  /** all events so far, oldest first */
  readonly events: ReadonlyArray<PushedEvent>
  /** waits for an event of this type with these values */
  readonly sees: (type: string, values?: Readonly<Record<string, unknown>>) => Promise<PushedEvent>
  readonly count: (type: string) => number
  readonly closed: () => boolean
  readonly dispose: () => Promise<void>
}

/** Judges all events by the document of the gate that sent them. */
const judged = ({ url }: { readonly url: string }, events: ReadonlyArray<PushedEvent>): void => {
  for (const event of events) judgeEvent(url, event)
}

const listening = (events: ReadonlyArray<PushedEvent>): Pick<Listener, "events" | "sees" | "count"> => ({
  events,
  count: (type) => events.filter((event) => event.type === type).length,
  sees: async (type, values = {}) => {
    let found: PushedEvent | undefined
    await eventually(`${type} ${JSON.stringify(values)}`, () => {
      found = events.find(
        (event) => event.type === type && Object.entries(values).every(([name, value]) => event[name] === value),
      )
      if (found === undefined) throw new Error(`seen: ${JSON.stringify(events)}`)
      return true
    })
    if (found === undefined) throw new Error("unreachable")
    return found
  },
})

export interface Socket extends Listener {
  readonly send: (message: unknown) => void
  /** the code of RFC 6455 §7.4 with which it was closed */
  readonly closeCode: () => number | undefined
  readonly whenClosed: Promise<void>
}

/** Opens the ticket's WebSocket; rejects when the gate refuses. */
export const openSocket = async (
  gate: { readonly url: string },
  ticket: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Socket> => {
  const socket = new WebSocket(`${gate.url.replace(/^http/, "ws")}/api/session/${ticket}/events`, { headers })
  const events: Array<PushedEvent> = []
  let closeCode: number | undefined
  socket.on("message", (data) => events.push(JSON.parse(String(data))))
  const whenClosed = new Promise<void>((resolve) => {
    socket.on("close", (code) => {
      closeCode = code
      resolve()
    })
  })
  await once(socket, "open")
  socket.on("error", () => {})
  return {
    ...listening(events),
    send: (message) => socket.send(JSON.stringify(message)),
    closed: () => socket.readyState === WebSocket.CLOSED,
    closeCode: () => closeCode,
    whenClosed,
    dispose: async () => {
      socket.terminate()
      judged(gate, events)
    },
  }
}

/** Opens the ticket's Server-Sent Events; rejects when the gate refuses. */
export const openEvents = (gate: { readonly url: string }, ticket: string): Promise<Listener> =>
  new Promise((resolve, reject) => {
    const events: Array<PushedEvent> = []
    const request = get(`${gate.url}/api/session/${ticket}/events`, { agent: false }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`HTTP ${response.statusCode}`))
      let closed = false
      let text = ""
      response.on("close", () => {
        closed = true
      })
      response.on("error", () => {})
      response.on("data", (chunk: Buffer) => {
        const blocks = (text + chunk.toString()).split("\n\n")
        text = blocks.pop() ?? ""
        for (const block of blocks) {
          const data = /^data: (.*)$/m.exec(block)?.[1]
          if (data !== undefined) events.push(JSON.parse(data))
        }
      })
      resolve({
        ...listening(events),
        closed: () => closed,
        dispose: async () => {
          request.destroy()
          judged(gate, events)
        },
      })
    })
    request.on("error", reject)
  })
