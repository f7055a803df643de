/** Malformed or ambiguous requests, which a proxy in front may parse differently (request smuggling). */

import type { Chance } from "../harness/chance.ts"
import { spoilText } from "./mutate.ts"
import { http } from "./wire.ts"

const POST = "POST /api/session/request HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\n"
/** If the server ever parses this as a separate request, its access log shows it. */
export const SMUGGLED = "/smuggled"
const HIDDEN = `GET ${SMUGGLED} HTTP/1.1\r\nHost: gate.example\r\n\r\n`
const CHUNK = `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`

/** Framings that two parsers could read as different requests; each must be refused or read in the safe way. */
export const SMUGGLING: Readonly<Record<string, string>> = {
  "content-length and chunked": `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNK}`,
  "chunked and content-length": `${POST}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n${HIDDEN}`,
  "two lengths": `${POST}Content-Length: 0\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
  "two lengths in one": `${POST}Content-Length: 0, ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
  "a negative length": `${POST}Content-Length: -1\r\n\r\n${HIDDEN}`,
  "a length with a sign": `${POST}Content-Length: +0\r\n\r\n${HIDDEN}`,
  "a length in hex": `${POST}Content-Length: 0x00\r\n\r\n${HIDDEN}`,
  "a length beyond 64 bits": `${POST}Content-Length: 18446744073709551616\r\n\r\n${HIDDEN}`,
  "chunked twice": `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${HIDDEN}`,
  "chunked before gzip": `${POST}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n${HIDDEN}`,
  "chunked misspelt": `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  "chunked behind a tab": `${POST}Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n\r\n${CHUNK}`,
  "a space before the colon": `${POST}Transfer-Encoding : chunked\r\nContent-Length: 4\r\n\r\n${CHUNK}`,
  "a folded header": `${POST}Transfer-Encoding:\r\n chunked\r\nContent-Length: 4\r\n\r\n${CHUNK}`,
  "bare line feeds": `${POST.replaceAll("\r\n", "\n")}Content-Length: 0\n\n${HIDDEN.replaceAll("\r\n", "\n")}`,
  "a bare carriage return": `${POST}X: a\rContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNK}`,
  "a chunk's size beyond 64 bits": `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${HIDDEN}`,
  "a negative chunk": `${POST}Transfer-Encoding: chunked\r\n\r\n-1\r\n${HIDDEN}`,
  "a chunk without its end": `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n${HIDDEN}`,
  "a chunk's size behind a space": `${POST}Transfer-Encoding: chunked\r\n\r\n 0\r\n\r\n${HIDDEN}`,
  "a null in a name": `${POST}Content\0-Length: 0\r\n\r\n${HIDDEN}`,
  "a line without colon": `${POST}Content-Length\r\n\r\n${HIDDEN}`,
}

const random = (chance: Chance, most: number): Buffer =>
  Buffer.from(Array.from({ length: chance.between(1, most) }, () => chance.below(256)))

const shapes = Object.values(SMUGGLING)
const [firstShape = "", ...furtherShapes] = shapes

const bytesOf = (chance: Chance): Buffer | string => {
  switch (chance.below(14)) {
    case 0:
      return random(chance, 400)
    case 1:
      return Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), random(chance, 300)])
    case 2:
      return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0"
    case 3:
      return spoilText(
        chance,
        http("POST", "/api/session/request", [["content-type", "application/json"]], "{}").toString(),
      )
    case 4:
      return `GET / HTTP/${chance.pick("0.9", "1.0", "1.2", "2.0", "9.9", "1.", "")}\r\nhost: x\r\n\r\n`
    case 5:
      return `GET /${"a".repeat(chance.pick(2_000, 8_000, 17_000, 70_000))} HTTP/1.1\r\nhost: x\r\n\r\n`
    case 6:
      return `GET / HTTP/1.1\r\nhost: x\r\nx: ${"a".repeat(chance.pick(8_000, 17_000, 70_000))}\r\n\r\n`
    case 7:
      return `GET / HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(chance.pick(500, 1_900, 2_500, 9_000))}\r\n`
    case 8:
      return `${POST}Content-Length: ${chance.between(3, 70_000)}\r\n\r\n{}`
    case 9:
      return `${POST}Content-Length: 1\r\n\r\n{}`
    case 10:
      return `${POST}Transfer-Encoding: chunked\r\n\r\n${random(chance, 60).toString("latin1")}`
    case 11:
      return `${chance.pick("CONNECT evil.example:80", "GET http://evil.example/", "GET *", "OPTIONS *", "GET", "\r\n\r\nGET /", "get /")} HTTP/1.1\r\nhost: x\r\n\r\n`
    default:
      return chance.pick(firstShape, ...furtherShapes)
  }
}

export const broken = (chance: Chance): { readonly to: "gate" | "platform"; readonly bytes: Buffer } => {
  const to = chance.pick("gate", "gate", "gate", "platform")
  const bytes = bytesOf(chance)
  return { to, bytes: typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes }
}
