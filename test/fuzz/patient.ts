/**
 * Slow clients that hold connections. Each connects, sends its data and never closes: the test measures how long
 * the server allows that.
 */
import { createConnection } from "node:net"
import { frame } from "./frames.ts"
import { upgrade } from "./wire.ts"

export interface Patient {
  readonly name: string
  /** milliseconds until the server closed; undefined while it has not */
  readonly lasted: () => number | undefined
  readonly dispose: () => void
}

const HEAD = "POST /api/session/request HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"

/** The data that each sends first, and then repeatedly. */
const SHAPES: Readonly<Record<string, { readonly first: Buffer | string; readonly again?: Buffer | string }>> = {
  silence: { first: "" },
  "headers, a letter a second": { first: `${HEAD}x-slow: `, again: "a" },
  "a header a second": { first: HEAD, again: "x: y\r\n" },
  "a body, a letter a second": { first: `${HEAD}content-length: 1000\r\n\r\n`, again: "x" },
  "a chunk a second": { first: `${HEAD}transfer-encoding: chunked\r\n\r\n`, again: "1\r\nx\r\n" },
  "an upgrade where there is none": { first: upgrade("/nothing"), again: "x" },
  "an upgrade with a wrong key": { first: upgrade("/sessionHub", { "sec-websocket-key": "x" }), again: "x" },
  "an upgrade to no ticket": { first: upgrade(`/api/session/${"A".repeat(26)}/events`), again: "x" },
  "an upgrade from a foreign page": { first: upgrade("/sessionHub", { origin: "https://evil.example" }), again: "x" },
  "a hub's upgrade, then silence": { first: upgrade("/sessionHub") },
  "a frame that never ends": {
    first: Buffer.concat([upgrade("/sessionHub"), frame({ opcode: 1, claims: 9_000n })]),
    again: "x",
  },
}

export const SHAPE_NAMES = Object.keys(SHAPES)

/** Opens one; it reads what comes, and its half stays open when the server ends the other. */
export const openPatient = (port: number, name: string, everyMillis = 1_000): Patient => {
  const { again, first } = SHAPES[name] ?? { first: "" }
  const began = performance.now()
  let lasted: number | undefined
  const socket = createConnection({ host: "127.0.0.1", port, allowHalfOpen: true })
  const timer = setInterval(() => {
    if (again !== undefined && socket.writable) socket.write(again)
  }, everyMillis)
  const over = (): void => {
    clearInterval(timer)
    lasted ??= performance.now() - began
  }
  // who says no more has no other way to notice
  if (again === undefined) socket.on("end", over)
  socket.on("error", over)
  socket.on("close", over)
  socket.resume()
  socket.write(first)
  return {
    name,
    lasted: () => lasted,
    dispose: () => {
      clearInterval(timer)
      socket.destroy()
    },
  }
}
