/**
 * Declares the answers of an endpoint: one schema and one set of headers for each status. The OpenAPI document, the types of the handlers
 * and what is sent follow from it.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { type Problem, type ProblemBody, type ProblemDetails, problemBody, problems } from "./problems.ts"

type Fields = Schema.Struct.Fields

/** Headers of every answer except a refused upgrade. */
const commonHeaders = {
  "x-request-id": Schema.optionalKey(
    Schema.String.annotate({ description: "The request's own id if it is valid, else a generated one." }),
  ),
  "cache-control": Schema.optionalKey(
    Schema.Literal("no-store").annotate({ description: "The answer is not cached." }),
  ),
  "x-content-type-options": Schema.optionalKey(
    Schema.Literal("nosniff").annotate({ description: "The type is as given." }),
  ),
}

export const succeeds = <S extends Schema.Top>(status: number, schema: S, headers: Fields = {}) =>
  HttpApiSchema.WithHeaders(schema.pipe(HttpApiSchema.status(status)), { ...commonHeaders, ...headers })

/** The value of a success. Node's server writes the headers that all answers have. */
export const succeeded = <A>(body: A, headers: Readonly<Record<string, string>> = {}) =>
  HttpApiSchema.withHeaders({ body, headers })

/** Problems that any endpoint may answer with. */
const commonProblems: ReadonlyArray<Problem> = [problems.repeatedHeader, problems.hostNotAllowed, problems.gateClosed]

/** The headers of several problems with one status; a header is required if all of them have it. */
const sharedHeaders = (some: ReadonlyArray<Problem>): Fields =>
  Object.fromEntries(
    some
      .flatMap(({ headers }) => Object.entries(headers))
      .map(([name, field]) => [name, some.every(({ headers }) => name in headers) ? field : Schema.optionalKey(field)]),
  )

const describe = ({ codes, remark }: Problem): string =>
  [codes.map((code) => `\`${code}\``).join(", "), remark].filter((text) => text !== "").join(": ")

/** A refusal as a handler fails with it. */
export type Refused<Code extends string = string> = HttpApiSchema.withHeaders<
  ProblemBody<Code>,
  Readonly<Record<string, string>>
>

/** Refuses with a problem, whose code the endpoint declares. */
export const refusal = <Code extends string>({
  code,
  detail,
  headers,
  members,
  status,
}: ProblemDetails<Code>): Refused<Code> =>
  HttpApiSchema.withHeaders({ body: problemBody(status, code, detail, members), headers })

/** The problems of an endpoint, and those common to all, by status. */
export const refusals = <P extends ReadonlyArray<Problem>>(...own: P) => {
  type Code = P[number]["codes"][number]
  const all: ReadonlyArray<Problem> = [...own, ...commonProblems]
  const body = (some: ReadonlyArray<Problem>): Schema.Codec<ProblemBody<Code>, unknown> =>
    Schema.Union(some.map((problem) => problem.body))
  return [...new Set(all.map(({ status }) => status))]
    .sort((a, b) => a - b)
    .map((status) => {
      const some = all.filter((problem) => problem.status === status)
      return HttpApiSchema.WithHeaders(
        body(some).pipe(
          HttpApiSchema.asJson({ contentType: "application/problem+json" }),
          HttpApiSchema.status(status),
        ),
        Schema.Struct({ ...commonHeaders, ...sharedHeaders(some) }),
      ).annotate({
        description: some.map(describe).join("; "),
      })
    })
}
