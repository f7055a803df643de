/** Writes an answer to node's response, or to the raw socket of an upgrade that is refused. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { drainBody } from "../../serving/compact-body.ts"
import { type Answer, refusals } from "./answer.ts"

/** Headers as a flat list of alternating names and values, which node writes fastest. */
export type RawHeaders = ReadonlyArray<string>

export const rawHeaders = (headers: Readonly<Record<string, string>>): RawHeaders => Object.entries(headers).flat()

export const NO_HEADERS: RawHeaders = []

/**
 * Writes an answer, unless one was already written, and discards what is unread of the request's body. `id` is sent as `X-Request-Id` unless that
 * header is set.
 */
export const write = (response: ServerResponse, answer: Answer, more: RawHeaders = NO_HEADERS, id = ""): void => {
  if (response.headersSent || response.destroyed) return
  const { body, headers, status } = answer
  const all = ["cache-control", "no-store", "x-content-type-options", "nosniff", ...more]
  for (const name in headers) all.push(name, headers[name] ?? "")
  if (id !== "" && !response.hasHeader("x-request-id")) all.push("x-request-id", id)
  const bytes = Buffer.byteLength(body)
  if (status !== 204) all.push("content-length", String(bytes))
  response.writeHead(status, all)
  // of ASCII both encodings are the same, and node writes this one faster
  response.end(body, bytes === body.length ? "latin1" : "utf8")
  drainBody(response.req)
}

/**
 * Whether the client has disconnected, so that no answer reaches it. Only a close that node has noticed counts: a client that closes
 * after the answer was written is assumed to have read it.
 */
export const isDisconnected = (request: IncomingMessage, response: ServerResponse): boolean =>
  response.destroyed || request.socket?.writable === false

/** Refuses an upgrade with an HTTP answer on the raw socket, and closes the socket, which the client could otherwise keep open. */
const writeRaw = (socket: Duplex, answer: Answer): void => {
  const headers = { ...answer.headers, "content-length": String(Buffer.byteLength(answer.body)), connection: "close" }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.once("finish", () => socket.destroy())
  socket.end(`HTTP/1.1 ${answer.status} Refused\r\n${lines.join("")}\r\n${answer.body}`)
}

/** Refuses an upgrade that no listener handles; its socket would otherwise stay open. */
export const refuseUpgrade = (socket: Duplex, answer: Answer = refusals.upgradeRequired): void => {
  socket.on("error", () => socket.destroy())
  writeRaw(socket, answer)
}
