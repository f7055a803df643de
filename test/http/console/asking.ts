/** Asks a gate's console over HTTP, as its page does, and the gate as a caller does. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { View } from "../../../src/operator/shapes.ts"
import { type GateUnderTest, type Options, startGate, TOKEN } from "./support.ts"

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const Problem = Schema.Struct({ status: Schema.Int, code: Schema.String, message: Schema.String })
export const problemOf = ({ text }: Answered) => Schema.decodeUnknownSync(Problem)(JSON.parse(text))
export const viewOf = ({ text }: Answered) => Schema.decodeUnknownSync(View)(JSON.parse(text))
const Done = Schema.Struct({ result: Schema.String, ticket: Schema.String })
const AuditLog = Schema.Struct({
  total: Schema.Int,
  lines: Schema.Array(Schema.Struct({ who: Schema.String, action: Schema.String, result: Schema.String })),
})

export const ask = (url: string, init: RequestInit = {}): Effect.Effect<Answered> =>
  Effect.promise(async () => {
    const response = await fetch(url, { redirect: "manual", ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

export const withToken = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } })

export const operating = ({ url }: Pick<GateUnderTest, "url">, token = TOKEN) => {
  const get = (path: string) => ask(`${url}/console/api/${path}`, withToken(token))
  const post = (body: unknown) =>
    ask(`${url}/console/api/actions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
  return {
    get,
    post,
    view: (query = "") => Effect.map(get(`view${query}`), viewOf),
    auditLog: Effect.map(get("audit-log"), ({ text }) => Schema.decodeUnknownSync(AuditLog)(JSON.parse(text))),
    act: (action: unknown) =>
      Effect.map(post({ action }), ({ status, text }) => {
        assert.strictEqual(status, 200, text)
        return Schema.decodeUnknownSync(Done)(JSON.parse(text))
      }),
  }
}

export const gateTest = (
  name: string,
  options: Options,
  body: (gate: GateUnderTest) => Effect.Effect<void, unknown, Scope.Scope>,
) => it.effect(name, () => Effect.flatMap(startGate(options), body))

export const request = (gate: GateUnderTest) =>
  ask(`${gate.url}/api/session/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
const Ticket = Schema.Struct({ uniqueRequestId: Schema.String })
export const ticketOf = ({ text }: Answered): string =>
  Schema.decodeUnknownSync(Ticket)(JSON.parse(text)).uniqueRequestId
export const stateOf = (gate: GateUnderTest, ticket: string) =>
  Effect.map(
    ask(`${gate.url}/api/session/${ticket}`),
    ({ text }) => Schema.decodeUnknownSync(Schema.Struct({ state: Schema.String }))(JSON.parse(text)).state,
  )
