/** The oracle: properties that every answer and every line of output must have. */
import type { Case } from "./cases.ts"
import type { Credentials } from "./known.ts"
import type { Response } from "./reader.ts"

/** 5xx that `src/docs/wire.md` lists, by their codes; the local platform has none. */
const MEANT: Readonly<Record<number, ReadonlyArray<string>>> = {
  502: ["platform_rejected"],
  503: ["queue_full", "draining", "platform_unavailable", "store_unavailable", "not_ready"],
}
/** The longest refusal, in bytes. */
const LONGEST_REFUSAL = 16_384
const STACK = /\n\s+at .+:\d+:\d+/
const INJECTED = /\r\nset-cookie: a=b/

export const codeOf = (body: string): string => /"code":"([^"]*)"/.exec(body)?.[1] ?? ""

/** The violation in an answer; undefined if there is none. */
export const wrongAnswer = (
  { method, to }: Pick<Case, "method" | "to">,
  { body, head, status }: Response,
  { secrets }: Credentials,
): string | undefined => {
  const text = body.length < 100_000 ? body.toString() : ""
  // the answer to a HEAD has no body to tell its code
  const meant = MEANT[status]?.some((code) => code === codeOf(text) || method === "HEAD") === true
  if (status >= 500 && !(to === "gate" && meant)) return `status ${status}`
  if (INJECTED.test(head)) return "a header was injected"
  if (status >= 400 && body.length > LONGEST_REFUSAL) return `a refusal of ${body.length} bytes`
  if (STACK.test(text)) return "a stack"
  if (secrets.some((secret) => text.includes(secret) || head.includes(secret.toLowerCase()))) return "a secret"
  if (/\r\ncontent-type: application\/[a-z+]*json/.test(head) && status !== 304 && text !== "" && !isJson(text)) {
    return "JSON that is none"
  }
  return undefined
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A request's line, and any other: what is said, and what beside it. */
const ENTRY = /^time,level,message,id,method,path,status,outcome,address,millis(,campaign)?(,ticket)?,pid$/
/** How many requests had no line of their own. */
const COUNT = /^\{"time":"[^"]+","level":"info","message":"(?:refusals|requests) left out","count":\d+,"pid":\d+\}$/
const SAID = /^time,level,message(,annotations)?(,spans)?(,cause)?,pid$/
/** The output of node's inspector. */
const PROSE = /^Debugger |^For help, see: |^\s*$/
const BAD =
  /A request failed|unhandled|uncaught|heap out of memory|MaxListenersExceeded|DeprecationWarning|\bat .+:\d+:\d+/i

/** The violation in a line of output; undefined if there is none. */
export const wrongLine = (line: string, { secrets }: Pick<Credentials, "secrets">): string | undefined => {
  if (secrets.some((secret) => line.includes(secret))) return "a secret was written"
  if (line.startsWith("{")) {
    try {
      const names = Object.keys(JSON.parse(line)).join()
      if (ENTRY.test(names) || COUNT.test(line)) return undefined
      if (!SAID.test(names)) return "a line of the log was forged"
      return BAD.test(line) ? "a defect was logged" : undefined
    } catch {
      return "a line of the log is no JSON"
    }
  }
  if (BAD.test(line)) return "a defect was logged"
  return PROSE.test(line) ? undefined : "a line of another kind"
}
