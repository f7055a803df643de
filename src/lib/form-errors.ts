/** Describes which fields of a request are invalid and what was expected, without repeating the values. */
import { SchemaAST, SchemaIssue } from "effect"
import type { HttpApiError } from "effect/http-api"
import { closestMatch } from "leven"
import { plainExpectation } from "./plain-expectation.ts"

/** Limit of fields in a message, so that a hostile body does not cause a long answer. */
const MAX_FIELDS = 10
/** A field name is cut to this length in a message, and longer names get no suggestion. */
const MAX_NAME = 64
/** How many letters a misspelt name may differ by. */
const MAX_DISTANCE = 2

const nameOf = (part: unknown): string => {
  const name = String(typeof part === "object" && part !== null && "key" in part ? part.key : part)
  const clean = name.slice(0, MAX_NAME).replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd")
  return name.length > MAX_NAME ? `${clean}…` : clean
}

/** Suggests the field that was probably meant, or lists all fields. */
const suggestion = (name: string, { ast }: SchemaIssue.UnexpectedKey): string => {
  const fields = SchemaAST.isObjects(ast) ? ast.propertySignatures.map((field) => String(field.name)) : []
  const lower = fields.map((field) => field.toLowerCase())
  const near =
    name.length > MAX_NAME ? undefined : closestMatch(name.toLowerCase(), lower, { maxDistance: MAX_DISTANCE })
  if (near !== undefined) return `, did you mean ${fields[lower.indexOf(near)]}?`
  return fields.length === 0 ? "" : `; the fields here are ${fields.join(", ")}`
}

interface Issue {
  readonly isUnknown: boolean
  readonly text: string
}

const issuesOf = (error: HttpApiError.HttpApiSchemaError): ReadonlyArray<Issue> => {
  const unexpected: Array<SchemaIssue.UnexpectedKey> = []
  const format = SchemaIssue.makeFormatterStandardSchemaV1({
    leafHook: (issue) =>
      issue._tag === "UnexpectedKey" ? `${unexpected.push(issue) - 1}` : SchemaIssue.defaultLeafHook(issue),
  })
  return format(error.cause.issue).issues.map(({ message, path = [] }) => {
    const field = path.map(nameOf).join(".") || error.kind.toLowerCase()
    const unknown = unexpected[Number(message)]
    if (unknown !== undefined) {
      return { isUnknown: true, text: `${field}: unknown field${suggestion(nameOf(path.at(-1)), unknown)}` }
    }
    const isUnknown = message === "Expected never"
    return { isUnknown, text: `${field}: ${isUnknown ? "unknown field" : plainExpectation(message)}` }
  })
}

const textOf = (issues: ReadonlyArray<Issue>): string =>
  issues
    .slice(0, MAX_FIELDS)
    .map(({ text }) => text)
    .join("; ")

/** Such as `name: Expected string; scope.businessIds: Missing key`. */
export const fieldsOf = (error: HttpApiError.HttpApiSchemaError): string => textOf(issuesOf(error))

/** Such as `campain: unknown field, did you mean campaign?`; empty if only known fields are wrong. */
export const unknownFieldsOf = (error: HttpApiError.HttpApiSchemaError): string =>
  textOf(issuesOf(error).filter(({ isUnknown }) => isUnknown))
