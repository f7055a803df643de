/**
 * Thousands of waiting connections, as cheap as they can be: raw sockets that have made a WebSocket handshake, and look only
 * at the type of what they are told.
 */
import { once } from "node:events"
import { createConnection, type Socket } from "node:net"

/** A frame of up to 125 bytes; what is longer has more bytes before it, which matter to nobody here. */
export type Heard = (index: number, text: string, at: number) => void

export interface Crowd {
  /** is told all that comes from now on */
  listen: (heard: Heard) => void
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

/** Connects to these paths, so many at a time. */
export const gather = async (url: string, paths: ReadonlyArray<string>, atOnce = 100): Promise<Crowd> => {
  const base = new URL(url)
  const sockets: Array<Socket> = []
  let heard: Heard = () => {}
  for (let from = 0; from < paths.length; from += atOnce) {
    const opened = await Promise.all(
      paths
        .slice(from, from + atOnce)
        .map((path, i) =>
          connect(base, path, callerOf(from + i), (chunk) =>
            heard(from + i, chunk.toString("latin1"), performance.now()),
          ),
        ),
    )
    sockets.push(...opened)
  }
  return {
    listen: (to) => {
      heard = to
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}
