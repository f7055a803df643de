/**
 * Thousands of waiting connections at minimal cost: raw sockets that have made a WebSocket handshake and check only the type of
 * received events.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { createConnection, type Socket } from "node:net"
import { fileURLToPath } from "node:url"

export interface Crowd {
  /** opens more connections to these paths, a hundred at a time */
  readonly gather: (paths: ReadonlyArray<string>) => Promise<void>
  /** runs an action and returns when the first and the last of `count` connections received a text that contains this (`steadyNow`) */
  readonly heard: (
    count: number,
    part: string,
    after: () => Promise<void>,
  ) => Promise<{ readonly first: number; readonly last: number }>
  readonly close: () => void
}

/** Monotonic time (ms), the same in all processes of a machine. */
export const steadyNow = (): number => Number(process.hrtime.bigint()) / 1e6

const TEXT = 0x81
const PING = 0x89
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])
const HEAD_END = "\r\n\r\n"
const KEY = "dGhlIHNhbXBsZSBub25jZQ=="

/** A different caller's address for each number. */
export const callerOf = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

/** Calls back with each frame of a server: its first byte and its payload of less than 64 KB. */
const frames = (onFrame: (kind: number, payload: Buffer) => void): ((chunk: Buffer) => void) => {
  let data: Buffer = Buffer.alloc(0)
  return (chunk) => {
    data = data.length === 0 ? chunk : Buffer.concat([data, chunk])
    while (data.length >= 2) {
      const short = data.readUInt8(1)
      const head = short < 126 ? 2 : 4
      const length = short < 126 ? short : data.length < head ? Number.POSITIVE_INFINITY : data.readUInt16BE(2)
      if (data.length < head + length) return
      onFrame(data.readUInt8(0), data.subarray(head, head + length))
      data = data.subarray(head + length)
    }
  }
}

/** Opens a WebSocket, which answers pings. */
export const connect = async (
  url: URL,
  path: string,
  caller: string,
  onText: (text: string) => void,
): Promise<Socket> => {
  const socket = createConnection({ host: url.hostname, port: Number(url.port) })
  socket.setNoDelay(true)
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\nX-Forwarded-For: ${caller}\r\n\r\n`,
  )
  const [first]: Array<unknown> = await once(socket, "data")
  const text = Buffer.isBuffer(first) ? first.toString("latin1") : ""
  if (!text.startsWith("HTTP/1.1 101")) throw new Error(`not upgraded: ${text}`)
  const read = frames((kind, payload) => {
    if (kind === PING) socket.write(PONG)
    else if (kind === TEXT) onText(payload.toString("latin1"))
  })
  if (Buffer.isBuffer(first)) read(first.subarray(first.indexOf(HEAD_END) + HEAD_END.length))
  socket.on("data", read)
  socket.on("error", () => {})
  return socket
}

const AT_ONCE = 100

type Order =
  | { readonly gather: ReadonlyArray<string> }
  | { readonly listen: { readonly count: number; readonly part: string } }
type Report = "ready" | { readonly first: number; readonly last: number }

/** Runs in the child process and follows the parent's commands. */
const obey = (url: URL, report: (report: Report) => void): ((order: Order) => Promise<void>) => {
  let size = 0
  let onText: (text: string) => void = () => {}
  const join = (path: string, index: number): Promise<Socket> =>
    connect(url, path, callerOf(index), (text) => onText(text))
  return async (order) => {
    if ("gather" in order) {
      for (let from = 0; from < order.gather.length; from += AT_ONCE) {
        const batch = order.gather.slice(from, from + AT_ONCE)
        await Promise.all(batch.map((path, i) => join(path, size + i)))
        size += batch.length
      }
      return report("ready")
    }
    const { count, part } = order.listen
    let receivers = 0
    let first = 0
    onText = (text) => {
      if (!text.includes(part)) return
      const at = steadyNow()
      if (receivers++ === 0) first = at
      if (receivers === count) report({ first, last: at })
    }
    report("ready")
  }
}

const here = fileURLToPath(import.meta.url)

/** An empty crowd for this server, in a separate process because of the limit of open files per process. */
export const makeCrowd = (url: string): Crowd => {
  const child = fork(here, [url])
  const reports: Array<Report> = []
  let wake: () => void = () => {}
  child.on("message", (report: Report) => {
    reports.push(report)
    wake()
  })
  child.on("exit", () => wake())
  const next = async (): Promise<Report> => {
    for (;;) {
      const report = reports.shift()
      if (report !== undefined) return report
      if (child.exitCode !== null) throw new Error("the crowd's process has exited")
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  const order = async (order: Order): Promise<void> => {
    child.send(order)
    await next()
  }
  return {
    gather: (paths) => order({ gather: paths }),
    heard: async (count, part, after) => {
      await order({ listen: { count, part } })
      const done = after()
      const report = await next()
      await done
      if (report === "ready") throw new Error("unexpected answer of the crowd's process")
      return report
    },
    close: () => {
      child.kill()
    },
  }
}

if (process.argv[1] === here) {
  const act = obey(new URL(process.argv[2] ?? ""), (report) => {
    process.send?.(report)
  })
  process.on("message", (order: Order) => {
    act(order).catch((error: unknown) => {
      console.error(error)
      process.exit(1)
    })
  })
}
