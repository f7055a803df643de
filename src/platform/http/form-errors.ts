/** Says which fields of a request are wrong and what was expected, without repeating what was sent. */
import { SchemaIssue } from "effect"
import type { HttpApiError } from "effect/http-api"

/** The most fields named at once: a hostile body must not make a long answer. */
const MAX_FIELDS = 10

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const nameOf = (part: unknown): string =>
  String(typeof part === "object" && part !== null && "key" in part ? part.key : part)

/** Such as `name: Expected string; scope.businessIds: Missing key`. */
export const fieldsOf = (error: HttpApiError.HttpApiSchemaError): string => {
  const { issues } = format(error.cause.issue)
  return issues
    .slice(0, MAX_FIELDS)
    .map(({ message, path }) => {
      const field = (path ?? []).map(nameOf).join(".")
      return `${field === "" ? error.kind.toLowerCase() : field}: ${message}`
    })
    .join("; ")
}
