/**
 * How a problem document (RFC 9457) is declared: status, codes, and additional members and headers. The OpenAPI document is generated
 * from these declarations, and `make` creates the answers.
 */
import { Schema } from "effect"
import { FieldIssue } from "./refusals.ts"

type Fields = Schema.Struct.Fields

/** One problem with its values, as sent to a caller. */
export interface ProblemDetails<Code extends string = string, Members = object> {
  readonly status: number
  readonly code: Code
  readonly detail: string
  readonly members: Members
  readonly headers: Readonly<Record<string, string>>
}

/** What every problem document says, whatever its code. */
export interface ProblemBody<Code extends string = string> {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: Code
  /** the same as `detail`, under the name that the existing widget reads */
  readonly message: string
}

export interface Problem<Code extends string = string> {
  readonly status: number
  readonly codes: ReadonlyArray<Code>
  /** for the OpenAPI document, if the code does not explain itself */
  readonly remark: string
  readonly headers: Fields
  readonly body: Schema.Codec<ProblemBody<Code>, unknown>
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
}

export const problemBody = <Code extends string>(
  status: number,
  code: Code,
  detail: string,
  members: object = {},
): ProblemBody<Code> => ({
  type: `urn:voicegate:problem:${code}`,
  title: TITLES[status] ?? "Error",
  status,
  detail,
  code,
  message: detail,
  ...members,
})

const bodyOf = <const Code extends string, Members extends Fields>(
  identifier: string,
  status: number,
  codes: ReadonlyArray<Code>,
  members: Members,
) =>
  Schema.Struct({
    type: Schema.Literals(codes.map((code) => `urn:voicegate:problem:${code}`)).annotate({
      description: "The kind of problem, as a URI (RFC 9457).",
    }),
    title: Schema.String.annotate({ description: "The kind of problem, for people." }),
    status: Schema.Literal(status).annotate({ description: "The HTTP status." }),
    detail: Schema.String.annotate({ description: "What happened, for people." }),
    code: Schema.Literals(codes).annotate({ description: "Stable; for programs." }),
    message: Schema.String.annotate({ description: "The same as detail." }),
    ...members,
  }).annotate({ identifier })

export const problem = <const Code extends string, Members extends Fields, Headers extends Fields>(
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
  make: <const Given extends Code>(
    code: Given,
    detail: string,
    given: Schema.Struct.Type<Members>,
    sent: Readonly<Record<keyof Headers & string, string>>,
  ): ProblemDetails<Given, Schema.Struct.Type<Members>> => ({ status, code, detail, members: given, headers: sent }),
})

/** A problem without additional members or headers. */
export const plain = <const Code extends string>(identifier: string, status: number, code: Code, remark = "") => {
  const { make, ...declared } = problem(identifier, status, [code], { members: {}, headers: {}, remark })
  return { ...declared, make: (detail: string) => make(code, detail, {}, {}) }
}

export const seconds = Schema.Int.annotate({ description: "When to try again, in seconds." })
export const retryHeader = {
  "retry-after": Schema.String.check(Schema.isPattern(/^\d+$/)).annotate({ description: "In seconds." }),
}

/** A problem with a retry delay, in a header and a member. */
export const retried = <const Code extends string>(identifier: string, status: number, code: Code, remark = "") => {
  const members = { retryAfterSeconds: seconds }
  const { make, ...declared } = problem(identifier, status, [code], { members, headers: retryHeader, remark })
  return {
    ...declared,
    make: (detail: string, retryAfterSeconds: number) =>
      make(code, detail, { retryAfterSeconds }, { "retry-after": String(retryAfterSeconds) }),
  }
}

/**
 * A problem with status 401, with the way to authenticate (RFC 9110, 11.6.1). Browsers prompt their users only for schemes that they know.
 */
export const unauthenticated = <const Code extends string>(
  identifier: string,
  code: Code,
  challenge: string,
  remark = "",
) => {
  const headers = { "www-authenticate": Schema.String.annotate({ description: `\`${challenge}\`.` }) }
  const { make, ...declared } = problem(identifier, 401, [code], { members: {}, headers, remark })
  return { ...declared, make: (detail: string) => make(code, detail, {}, { "www-authenticate": challenge }) }
}

export const wrongFields = {
  members: { errors: Schema.Array(FieldIssue).annotate({ description: "Every field that is wrong." }) },
  headers: {},
}

/** The problems of HTTP itself. Those of the gate's errors are in `http/answers/failures.ts`. Each endpoint lists its own. */
export const problems = {
  invalidWebhook: problem("InvalidWebhook", 400, ["invalid_request"], wrongFields),
  invalidOffer: problem("InvalidOffer", 400, ["invalid_request"], wrongFields),
  unknownCampaign: problem("UnknownCampaign", 400, ["unknown_campaign"], wrongFields),
  invalidReport: problem("InvalidReport", 400, ["invalid_request"], wrongFields),
  malformedJson: plain("MalformedJson", 400, "malformed_json"),
  repeatedHeader: plain(
    "RepeatedHeader",
    400,
    "repeated_header",
    "a header that a request may have once was sent twice",
  ),
  noClientAddress: plain("NoClientAddress", 400, "no_client_address"),
  webhookUnauthorized: unauthenticated(
    "WebhookUnauthorized",
    "webhook_unauthorized",
    'Webhook realm="voicegate webhooks"',
    "the token or signature of the webhook is missing or wrong",
  ),
  originNotAllowed: plain("OriginNotAllowed", 403, "origin_not_allowed"),
  notFound: plain("NotFound", 404, "not_found"),
  methodNotAllowed: problem("MethodNotAllowed", 405, ["method_not_allowed"], {
    members: {},
    headers: { allow: Schema.String.annotate({ description: "The methods that the path accepts." }) },
  }),
  bodyTooLarge: plain("BodyTooLarge", 413, "body_too_large"),
  unsupportedMediaType: plain("UnsupportedMediaType", 415, "unsupported_media_type"),
  hostNotAllowed: plain("HostNotAllowed", 421, "host_not_allowed", "`Host` is not a name of this gate"),
  askedTooOften: retried("AskedTooOften", 429, "rate_limited", "too many requests from this address"),
  internalError: plain("InternalError", 500, "internal_error"),
  bodyAlreadyRead: plain("BodyAlreadyRead", 500, "body_already_read", "the gate is mounted behind a body parser"),
  storeUnavailable: retried("StoreUnavailable", 503, "store_unavailable"),
  notReady: problem("NotReady", 503, ["not_ready"], { members: {}, headers: retryHeader }),
  gateClosed: problem("GateClosed", 503, ["gate_closed"], {
    members: {},
    headers: retryHeader,
    remark: "the host has closed the gate",
  }),
}
