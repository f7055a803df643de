/**
 * Thousands of waiting connections, as cheap as they can be: raw sockets that have made a WebSocket handshake, and look only
 * at the type of what they are told.
 */
import { once } from "node:events"
import { createConnection, type Socket } from "node:net"

/** Is told what the n-th of the crowd hears. */
export type Heard = (index: number, text: string, at: number) => void

export interface Crowd {
  /** lets more come, to these paths, a hundred at a time */
  readonly gather: (paths: ReadonlyArray<string>) => Promise<void>
  /** is told all that comes from now on */
  readonly listen: (heard: Heard) => void
  readonly close: () => void
}

const PING = 0x89
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])
const KEY = "dGhlIHNhbXBsZSBub25jZQ=="

/** A caller's address, another for each. */
export const callerOf = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

const connect = async (url: URL, path: string, caller: string, onData: (chunk: Buffer) => void): Promise<Socket> => {
  const socket = createConnection({ host: url.hostname, port: Number(url.port) })
  socket.setNoDelay(true)
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\nX-Forwarded-For: ${caller}\r\n\r\n`,
  )
  const [first]: Array<unknown> = await once(socket, "data")
  const text = Buffer.isBuffer(first) ? first.toString("latin1") : ""
  if (!text.startsWith("HTTP/1.1 101")) throw new Error(`not upgraded: ${text}`)
  socket.on("data", (chunk: Buffer) => {
    if (chunk[0] === PING) socket.write(PONG)
    else onData(chunk)
  })
  socket.on("error", () => {})
  return socket
}

const AT_ONCE = 100

/** Nobody yet, at this server. */
export const makeCrowd = (url: string): Crowd => {
  const base = new URL(url)
  const sockets: Array<Socket> = []
  let heard: Heard = () => {}
  const join = (path: string, index: number): Promise<Socket> =>
    connect(base, path, callerOf(index), (chunk) => heard(index, chunk.toString("latin1"), performance.now()))
  return {
    gather: async (paths) => {
      for (let from = 0; from < paths.length; from += AT_ONCE) {
        const first = sockets.length
        const batch = paths.slice(from, from + AT_ONCE)
        sockets.push(...(await Promise.all(batch.map((path, i) => join(path, first + i)))))
      }
    },
    listen: (to) => {
      heard = to
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}
