/** How the gate's answers stand in the OpenAPI document: one schema and one set of headers for each status of an endpoint. */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { type Problem, problems } from "./problems.ts"

type Fields = Schema.Struct.Fields

/** What answers have, except those to an upgrade that is refused. */
const usual = {
  "x-request-id": Schema.optionalKey(
    Schema.String.annotate({ description: "The request's own where it is plain and short, else one of the gate's." }),
  ),
  "cache-control": Schema.optionalKey(Schema.Literal("no-store")),
  "x-content-type-options": Schema.optionalKey(Schema.Literal("nosniff")),
}

/** A success of this status. */
export const succeeds = <S extends Schema.Top>(status: number, schema: S, headers: Fields = {}) =>
  HttpApiSchema.WithHeaders(schema.pipe(HttpApiSchema.status(status)), { ...usual, ...headers })

/** What any request may be answered, whatever it asks for. */
const anywhere: ReadonlyArray<Problem> = [problems.hostNotAllowed, problems.gateClosed]

/** The headers of several problems that share a status: required where all of them have it. */
const sharedHeaders = (some: ReadonlyArray<Problem>): Fields =>
  Object.fromEntries(
    some
      .flatMap(({ headers }) => Object.entries(headers))
      .map(([name, field]) => [name, some.every(({ headers }) => name in headers) ? field : Schema.optionalKey(field)]),
  )

const describe = ({ codes, remark }: Problem): string =>
  [codes.map((code) => `\`${code}\``).join(", "), remark].filter((text) => text !== "").join(": ")

/** The problems of an endpoint, and those of any. */
export const refusals = (...own: ReadonlyArray<Problem>) => {
  const all = [...own, ...anywhere]
  return [...new Set(all.map(({ status }) => status))]
    .sort((a, b) => a - b)
    .map((status) => {
      const some = all.filter((problem) => problem.status === status)
      const body = Schema.Union(some.map((problem) => problem.body)).pipe(
        HttpApiSchema.asJson({ contentType: "application/problem+json" }),
        HttpApiSchema.status(status),
      )
      return HttpApiSchema.WithHeaders(body, { ...usual, ...sharedHeaders(some) }).annotate({
        description: some.map(describe).join("; "),
      })
    })
}
