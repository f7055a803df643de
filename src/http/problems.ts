/**
 * Every problem that the gate answers with, declared once: its status, its codes, and the members and headers that it has beside
 * those of all problem documents (RFC 9457). The OpenAPI document is made of these declarations, and `tell` makes the answers.
 */
import { Schema } from "effect"
import { Blocked, FieldIssue, InvalidRequest, NotYourTurn, RateLimited, TicketOver } from "../Session.ts"

type Fields = Schema.Struct.Fields

/** One problem as it is told to a caller. Its members and headers are those that the problem declares. */
export interface Told<Code extends string = string, Members = object> {
  readonly status: number
  readonly code: Code
  readonly detail: string
  readonly members: Members
  readonly headers: Readonly<Record<string, string>>
}

export interface Problem<Code extends string = string> {
  readonly status: number
  readonly codes: ReadonlyArray<Code>
  /** for the document, where the code does not say it */
  readonly remark: string
  readonly headers: Fields
  readonly body: Schema.Codec<unknown, unknown>
}

/** What every problem document has. `message` repeats `detail` under the name that the existing widget reads. */
const bodyOf = <const Code extends string, Members extends Fields>(
  identifier: string,
  status: number,
  codes: ReadonlyArray<Code>,
  members: Members,
) =>
  Schema.Struct({
    type: Schema.Literals(codes.map((code) => `urn:voicegate:problem:${code}`)),
    title: Schema.String,
    status: Schema.Literal(status),
    detail: Schema.String,
    code: Schema.Literals(codes).annotate({ description: "Stable; for programs." }),
    message: Schema.String.annotate({ description: "The same as detail." }),
    ...members,
  }).annotate({ identifier })

const problem = <const Code extends string, Members extends Fields, Headers extends Fields>(
  identifier: string,
  status: number,
  codes: ReadonlyArray<Code>,
  { headers, members, remark = "" }: { readonly members: Members; readonly headers: Headers; readonly remark?: string },
) => ({
  status,
  codes,
  remark,
  headers,
  body: bodyOf(identifier, status, codes, members),
  tell: <const Given extends Code>(
    code: Given,
    detail: string,
    given: Schema.Struct.Type<Members>,
    sent: Readonly<Record<keyof Headers & string, string>>,
  ): Told<Given, Schema.Struct.Type<Members>> => ({ status, code, detail, members: given, headers: sent }),
})

/** A problem that has nothing beside its code. */
const plain = <const Code extends string>(identifier: string, status: number, code: Code, remark = "") => {
  const { tell, ...declared } = problem(identifier, status, [code], { members: {}, headers: {}, remark })
  return { ...declared, tell: (detail: string) => tell(code, detail, {}, {}) }
}

const seconds = Schema.Int.annotate({ description: "When to try again, in seconds." })
const retryHeader = {
  "retry-after": Schema.String.check(Schema.isPattern(/^\d+$/)).annotate({ description: "In seconds." }),
}

/** A problem that says when to try again, in a header and in a member. */
const retried = <const Code extends string>(identifier: string, status: number, code: Code, remark = "") => {
  const members = { retryAfterSeconds: seconds }
  const { tell, ...declared } = problem(identifier, status, [code], { members, headers: retryHeader, remark })
  return {
    ...declared,
    tell: (detail: string, retryAfterSeconds: number) =>
      tell(code, detail, { retryAfterSeconds }, { "retry-after": String(retryAfterSeconds) }),
  }
}

const wrongFields = {
  members: { errors: Schema.Array(FieldIssue).annotate({ description: "Every field that is wrong." }) },
  headers: {},
}

/** All of them. Those of an endpoint are listed in `Api.ts`, and what each error of the gate is in `failures.ts`. */
export const problems = {
  invalidRequest: problem("InvalidRequest", 400, InvalidRequest.fields.code.literals, wrongFields),
  invalidWebhook: problem("InvalidWebhook", 400, ["invalid_request"], wrongFields),
  malformedJson: plain("MalformedJson", 400, "malformed_json"),
  noClientAddress: plain("NoClientAddress", 400, "no_client_address"),
  webhookUnauthorized: plain("WebhookUnauthorized", 401, "webhook_unauthorized"),
  blocked: problem("Blocked", 403, ["blocked"], { members: { reason: Blocked.fields.reason }, headers: {} }),
  originNotAllowed: plain("OriginNotAllowed", 403, "origin_not_allowed"),
  ticketUnknown: plain("TicketUnknown", 404, "ticket_unknown"),
  notFound: plain("NotFound", 404, "not_found"),
  methodNotAllowed: problem("MethodNotAllowed", 405, ["method_not_allowed"], {
    members: {},
    headers: { allow: Schema.String },
  }),
  notYourTurn: problem("NotYourTurn", 409, NotYourTurn.fields.code.literals, {
    members: { queuePosition: NotYourTurn.fields.queuePosition },
    headers: {},
    remark: "after `agent_busy` and `agent_unavailable` the ticket is at its own place, and is called again",
  }),
  ticketOver: problem("TicketOver", 410, ["ticket_over"], { members: { state: TicketOver.fields.state }, headers: {} }),
  bodyTooLarge: plain("BodyTooLarge", 413, "body_too_large"),
  unsupportedMediaType: plain("UnsupportedMediaType", 415, "unsupported_media_type"),
  hostNotAllowed: plain("HostNotAllowed", 421, "host_not_allowed", "`Host` is no name of this gate"),
  requestRefused: plain("RequestRefused", 422, "request_refused", "the platform does not accept what the request says"),
  rateLimited: problem("RateLimited", 429, ["rate_limited"], {
    members: { retryAfterSeconds: seconds, limit: RateLimited.fields.limit },
    headers: {
      ...retryHeader,
      "ratelimit-policy": Schema.String.annotate({ description: "Every budget of the caller." }),
      ratelimit: Schema.String.annotate({ description: "The budget that is used up." }),
    },
    remark: "the caller's budgets are used up; with `limit`, `RateLimit-Policy` and `RateLimit`",
  }),
  askedTooOften: retried("AskedTooOften", 429, "rate_limited", "this address asks too often"),
  tooManyConnections: retried("TooManyConnections", 429, "too_many_connections"),
  internalError: plain("InternalError", 500, "internal_error"),
  bodyAlreadyRead: plain("BodyAlreadyRead", 500, "body_already_read", "of a gate that is mounted behind a body parser"),
  platformRejected: retried("PlatformRejected", 502, "platform_rejected"),
  queueFull: retried("QueueFull", 503, "queue_full"),
  draining: retried("Draining", 503, "draining"),
  platformUnavailable: retried("PlatformUnavailable", 503, "platform_unavailable"),
  storeUnavailable: retried("StoreUnavailable", 503, "store_unavailable"),
  notReady: problem("NotReady", 503, ["not_ready"], { members: {}, headers: retryHeader }),
  gateClosed: problem("GateClosed", 503, ["gate_closed"], {
    members: {},
    headers: retryHeader,
    remark: "of a gate that its host has closed",
  }),
}
