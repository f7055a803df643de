/** Validates every answer of a running gate against the gate's own `/openapi.json`. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { type Answered, readWireDocument, type WireDocument } from "../../harness/wire-document.ts"
import { type Reply, rawCall } from "../../support/gate-server.ts"
import { REQUEST, token, WEBHOOK } from "../support.ts"

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export const ticketOf = ({ body }: Pick<Reply, "body">): string => String(body.uniqueRequestId)

export const codeOf = ({
  body,
  status,
}: {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}): ReadonlyArray<unknown> => [status, body.code]

export const makeOpenApiCheck = () => {
  /** the kinds of answers in the document that were seen */
  const seen = new Set<string>()
  const documents: Array<WireDocument> = []

  /** Asks the gate at this port, and judges every answer by the gate's own document. */
  const check = Effect.fnUntraced(function* (port: number, host = "gate") {
    const { text } = yield* rawCall(port, { path: "/openapi.json", headers: { host } })
    const document = readWireDocument(text)
    documents.push(document)
    const judge = <A extends { readonly status: number; readonly headers: Answered["headers"]; readonly text: string }>(
      method: string,
      path: string,
      reply: A,
    ): A => {
      const answered = { method, path, ...reply }
      assert.isUndefined(document.objection(answered), `${method} ${path} ${reply.status} ${reply.text}`)
      seen.add(document.kindOf(answered) ?? "")
      return reply
    }
    const ask = (method: string, path: string, { body, headers = {} }: Sent = {}) => {
      const sent = body === undefined ? {} : { "content-type": "application/json" }
      const bytes = typeof body === "string" || body === undefined ? body : JSON.stringify(body)
      return Effect.map(rawCall(port, { method, path, headers: { host, ...sent, ...headers } }, bytes), (reply) =>
        judge(method, path, reply),
      )
    }
    const request = (body: unknown = {}, headers = {}) => ask("POST", REQUEST, { body, headers })
    const start = (ticket: string) => ask("POST", `/api/session/${ticket}/start`)
    const relay = (ticket: string, token: string, body = "v=0\r\n") =>
      ask("POST", `/api/session/${ticket}/relay`, {
        body,
        headers: { "content-type": "application/sdp", authorization: `Bearer ${token}` },
      })
    const hangUp = (n: number) => ask("POST", WEBHOOK, { body: { WebSessionId: `web-${n}` }, headers: token })
    /** A ticket whose turn it is: what stood before it has ended. */
    const called = Effect.fnUntraced(function* () {
      yield* request()
      const ticket = ticketOf(yield* request())
      yield* hangUp(1)
      return ticket
    })
    return { document, judge, ask, request, start, relay, hangUp, called }
  })

  return { check, seen, documents }
}

export type OpenApiCheck = ReturnType<typeof makeOpenApiCheck>

/** Asks a gate whose answers are judged. */
export type Ask = Effect.Success<ReturnType<OpenApiCheck["check"]>>["ask"]
