/** Headers that a request has more than once. Of those that it may have once Node keeps the first in silence, so the raw list tells. */
import type { IncomingMessage } from "node:http"

/** Repeated headers are joined by commas. */
export const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}

/** Headers of which a request may have one: two hosts, types or keys have no meaning, and each reader would choose its own. */
const SINGLE = ["authorization", "content-type", "host", "origin"] as const
export type SingleHeader = (typeof SINGLE)[number]

const LENGTHS: ReadonlySet<number> = new Set(SINGLE.map(({ length }) => length))

/**
 * The header that was sent more than once, of those that a request may have once.
 *
 * @param rawHeaders names and values in turn, as Node lists them
 */
export const repeatedHeader = (rawHeaders: ReadonlyArray<string>): SingleHeader | undefined => {
  let seen: Array<SingleHeader> | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name === undefined || !LENGTHS.has(name.length)) continue
    const lower = name.toLowerCase()
    const found = SINGLE.find((each) => each === lower)
    if (found === undefined) continue
    if (seen?.includes(found) === true) return found
    seen = seen === undefined ? [found] : [...seen, found]
  }
  return undefined
}
