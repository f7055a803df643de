/** Requests as a plain client sends them, one connection each unless asked otherwise, with nothing added or followed. */
import { type Agent, type IncomingHttpHeaders, request } from "node:http"
import { readWireDocument, type WireDocument } from "./wire-document.ts"

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** the body as JSON; an empty object if it is not JSON */
  readonly json: Readonly<Record<string, unknown>>
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>
  /** a string is sent as it is, anything else as JSON */
  readonly body?: unknown
  /** the body's length is not announced */
  readonly chunked?: boolean
  /** keeps connections; one of its own for this request when absent */
  readonly agent?: Agent
}

const parse = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** The documents of gates that run, by their origin. */
const documents = new Map<string, WireDocument>()
/** The documents of this build, by the path below which a gate serves: other settings change nothing in it, and making it takes time. */
const known = new Map<string, WireDocument>()

/** From now on `ask` judges every answer of this gate by the `/openapi.json` that this build serves. */
export const judgeByItsDocument = async (url: string): Promise<void> => {
  const { origin, pathname } = new URL(url)
  const document = known.get(pathname) ?? (await documentOf(url))
  if (document === undefined) return
  known.set(pathname, document)
  documents.set(origin, document)
}

/** Undefined for a gate that serves none (`Server.Docs`). */
const documentOf = async (url: string): Promise<WireDocument | undefined> => {
  const { status, text } = await ask("GET", `${url}/openapi.json`)
  return status === 200 ? readWireDocument(text) : undefined
}

/** Throws if an answer does not match the gate's OpenAPI document. */
const judge = (method: string, url: string, answer: Answer): void => {
  const { origin, pathname } = new URL(url)
  const objection = documents.get(origin)?.objection({ method, path: pathname, ...answer })
  if (objection === undefined) return
  throw new Error(
    `${method} ${pathname} answers ${answer.status}, not as /openapi.json says: ${objection}\n${answer.text}`,
  )
}

/** Throws if an event of a gate's push channel does not match its OpenAPI document. */
export const judgeEvent = (url: string, event: unknown): void => {
  const objection = documents.get(new URL(url).origin)?.eventObjection(event)
  if (objection === undefined) return
  throw new Error(`an event is not as /openapi.json says: ${objection}\n${JSON.stringify(event)}`)
}

/** Sends one request and reads the whole answer; rejects when the connection breaks. */
export const ask = (
  method: string,
  url: string,
  { agent, body, chunked = false, headers = {} }: Ask = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
    const sent = request(
      url,
      {
        method,
        agent: agent ?? false,
        headers: {
          ...(text === undefined ? {} : { "content-type": "application/json" }),
          ...(text === undefined || chunked ? {} : { "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", reject)
        response.on("end", () => {
          const answered = Buffer.concat(chunks).toString()
          const answer: Answer = {
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: answered,
            json: parse(answered),
          }
          try {
            judge(method, url, answer)
            resolve(answer)
          } catch (error) {
            reject(error)
          }
        })
      },
    )
    sent.on("error", reject)
    sent.end(text)
  })

/** A string of the answer's body, if it is there. */
export const field = ({ json }: Answer, name: string): string | undefined => {
  const value = json[name]
  return typeof value === "string" ? value : undefined
}

/** A string of the answer's body, which must be there. */
export const textOf = (answer: Answer, name: string): string => {
  const value = field(answer, name)
  if (value === undefined) throw new Error(`no ${name} in ${answer.status} ${answer.text}`)
  return value
}

/** The `field` of every problem that a 400 names. */
export const namedFields = ({ json }: Answer): ReadonlyArray<string> =>
  Array.isArray(json.errors)
    ? json.errors.map((issue: unknown) =>
        typeof issue === "object" && issue !== null && "field" in issue ? String(issue.field) : "",
      )
    : []
