/** Requests as bytes, without validation, also those that a library would refuse to send. */

export type Header = readonly [name: string, value: string]

/** Header values go out as Latin-1, one byte a character, as the server reads them; the body as UTF-8. */
export const http = (method: string, target: string, headers: ReadonlyArray<Header>, body?: string): Buffer => {
  const content = body === undefined ? undefined : Buffer.from(body)
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  const length = content === undefined ? "" : `content-length: ${content.length}\r\n`
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\nhost: gate.example\r\n${length}${lines}\r\n`, "latin1")
  return content === undefined ? head : Buffer.concat([head, content])
}

/** A valid WebSocket upgrade, with overrides. */
export const upgrade = (target: string, changed: Readonly<Record<string, string | undefined>> = {}): Buffer => {
  const headers: Record<string, string | undefined> = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    ...changed,
  }
  const sent = Object.entries(headers).flatMap(
    ([name, value]): ReadonlyArray<Header> => (value === undefined ? [] : [[name, value]]),
  )
  return http("GET", target, sent)
}
