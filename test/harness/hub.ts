/** A connection of the existing widget: SignalR's JSON protocol as the stock client speaks it, without its own reconnects. */
import { once } from "node:events"
import { WebSocket } from "ws"
import { ask, field, textOf } from "./http.ts"
import { eventually } from "./process.ts"

const SEPARATOR = "\u001e"
const CLOSE = 7

/** What the hub invoked: `SessionReady` or `SessionFailed`. */
export interface Invoked {
  readonly target: string
  readonly argument: Readonly<Record<string, unknown>>
}

export interface HubConnection {
  readonly invoked: ReadonlyArray<Invoked>
  /** what stands for the page where cookies do not come; the stock client sends it with each later negotiation */
  readonly accessToken: string
  readonly register: (ticket: string) => void
  readonly sees: (target: string) => Promise<Invoked>
  /** the hub has said that it closes, and that the client may come back */
  readonly sentElsewhere: () => boolean
  readonly closed: () => boolean
  readonly dispose: () => Promise<void>
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? { ...value } : {})

/** Negotiates, as the page with this token if there is one, and opens the connection. */
export const openHub = async (
  gate: { readonly url: string },
  token = "",
  headers: Readonly<Record<string, string>> = {},
): Promise<HubConnection> => {
  const negotiated = await ask("POST", `${gate.url}/sessionHub/negotiate?negotiateVersion=1`, {
    headers: token === "" ? headers : { ...headers, authorization: `Bearer ${token}` },
  })
  const id = textOf(negotiated, "connectionToken")
  const socket = new WebSocket(`${gate.url.replace(/^http/, "ws")}/sessionHub?id=${id}`, { headers })
  const invoked: Array<Invoked> = []
  let elsewhere = false
  let shaken = false
  socket.on("message", (data) => {
    for (const record of String(data).split(SEPARATOR).filter(Boolean)) {
      const message = fieldsOf(JSON.parse(record))
      if (message.type === undefined) shaken = true
      if (message.type === CLOSE) elsewhere = message.allowReconnect === true
      if (typeof message.target === "string") {
        const [argument] = Array.isArray(message.arguments) ? message.arguments : []
        invoked.push({ target: message.target, argument: fieldsOf(argument) })
      }
    }
  })
  await once(socket, "open")
  socket.on("error", () => {})
  const send = (record: unknown): void => socket.send(JSON.stringify(record) + SEPARATOR)
  send({ protocol: "json", version: 1 })
  await eventually("the hub's handshake", () => shaken)
  return {
    invoked,
    accessToken: field(negotiated, "accessToken") ?? token,
    register: (ticket) => send({ type: 1, invocationId: "0", target: "Register", arguments: [ticket] }),
    sees: async (target) => {
      let found: Invoked | undefined
      await eventually(target, () => {
        found = invoked.find((each) => each.target === target)
        if (found === undefined) throw new Error(`seen: ${JSON.stringify(invoked)}`)
        return true
      })
      if (found === undefined) throw new Error("unreachable")
      return found
    },
    sentElsewhere: () => elsewhere,
    closed: () => socket.readyState === WebSocket.CLOSED,
    dispose: async () => socket.terminate(),
  }
}
