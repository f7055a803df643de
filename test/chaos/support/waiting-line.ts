/** Very many waiting callers, each with a WebSocket that reconnects by itself, as cheap as possible. */
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import type { Chance } from "../../harness/chance.ts"
import { ask, field, textOf } from "../../harness/http.ts"

export interface Waiter {
  readonly ticket: string
  readonly headers: Readonly<Record<string, string>>
  socket: WebSocket | undefined
  /** the last position it received, and when it received the first one on the current connection */
  position: number
  toldAt: number | undefined
  called: boolean
  /** how many attempts it needed to reconnect */
  tries: number
  over: string | undefined
}

/** Maximum concurrent runs of `work`. */
export const atOnce = async <A>(
  all: ReadonlyArray<A>,
  limit: number,
  work: (one: A) => Promise<void>,
): Promise<void> => {
  const rest = all.values()
  await Promise.all(
    Array.from({ length: limit }, async () => {
      for (const one of rest) await work(one)
    }),
  )
}

/** Lets this many join at this address, in order of their positions. */
export const join = async (url: string, count: number): Promise<ReadonlyArray<Waiter>> => {
  const line: Array<Waiter> = []
  const names = Array.from({ length: count }, (_, n) => n)
  await atOnce(names, 50, async (n) => {
    const headers = { "x-forwarded-for": `10.0.${Math.floor(n / 250)}.${(n % 250) + 1}` }
    const answer = await ask("POST", `${url}/api/session/request`, { headers, body: {} })
    if (answer.status !== 202) throw new Error(`a request was answered ${answer.status} ${answer.text}`)
    const ticket = textOf(answer, "uniqueRequestId")
    const position = Number(answer.json.queuePosition)
    line.push({
      ticket,
      headers,
      position,
      socket: undefined,
      toldAt: undefined,
      called: false,
      tries: 0,
      over: undefined,
    })
  })
  return line.toSorted((a, b) => a.position - b.position)
}

/** Keeps a waiter connected to the address that `entrance` returns, until `stopped`. */
export const keep = (waiter: Waiter, entrance: () => string, chance: Chance, stopped: () => boolean): void => {
  const connect = (): void => {
    if (stopped() || waiter.over !== undefined) return
    const url = `${entrance().replace(/^http/, "ws")}/api/session/${waiter.ticket}/events`
    const socket = new WebSocket(url, { headers: waiter.headers, perMessageDeflate: false })
    waiter.socket = socket
    waiter.tries++
    socket.on("message", (data) => {
      const event: Readonly<Record<string, unknown>> = JSON.parse(String(data))
      if (event.type === "position") waiter.position = Number(event.position)
      if (event.type === "start_call") waiter.called = true
      if (event.type === "ended") waiter.over = String(event.reason)
      waiter.toldAt ??= performance.now()
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      waiter.toldAt = undefined
      void sleep(chance.between(20, 200)).then(connect)
    })
  }
  connect()
}

/** All give up their places. */
export const leave = (line: ReadonlyArray<Waiter>, url: string): Promise<void> =>
  atOnce(line, 50, async ({ headers, ticket }) => {
    const answer = await ask("DELETE", `${url}/api/session/${ticket}`, { headers })
    if (answer.status !== 204) throw new Error(`leaving was answered ${answer.status} ${field(answer, "code")}`)
  })
