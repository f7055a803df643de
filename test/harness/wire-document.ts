/** Validates answers against the gate's `/openapi.json`; anything that it does not describe is an error. */

import { Ajv2020 } from "ajv/dist/2020.js"
import { Schema } from "effect"

/** An answer as received; header names in lower case. */
export interface Answered {
  readonly method: string
  /** with or without a query */
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

export interface WireDocument {
  /**
   * What the document does not describe about this answer; undefined if it describes all of it, or does not contain the
   * path.
   */
  readonly objection: (answered: Answered) => string | undefined
  /** The same for a push event. */
  readonly eventObjection: (event: unknown) => string | undefined
  /** Every kind of answer: method, path, status, and the code of a problem. */
  readonly kinds: ReadonlySet<string>
  /** The kind of an answer. */
  readonly kindOf: (answered: Answered) => string | undefined
}

const Response = Schema.Struct({
  content: Schema.optionalKey(Schema.Record(Schema.String, Schema.Struct({ schema: Schema.Unknown }))),
  headers: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Struct({ required: Schema.optionalKey(Schema.Boolean) })),
  ),
})
const Operation = Schema.Struct({ responses: Schema.Record(Schema.String, Response) })
const decodeDocument = Schema.decodeUnknownSync(
  Schema.Struct({
    paths: Schema.Record(Schema.String, Schema.Record(Schema.String, Operation)),
    components: Schema.Struct({ schemas: Schema.Record(Schema.String, Schema.Unknown) }),
  }),
)
const decodeProblem = Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))

/** Headers that HTTP and CORS add to any answer; the document's description mentions the latter. */
const AMBIENT = /^(connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|access-control-.*)$/

const pointer = (...parts: ReadonlyArray<string>): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("")

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The complete records of a stream of Server-Sent Events, each as an object of its fields. */
const records = (text: string): ReadonlyArray<Readonly<Record<string, string>>> =>
  text
    .split("\n\n")
    .slice(0, -1)
    .map((block) => block.split("\n").filter((line) => !line.startsWith(":")))
    .filter((lines) => lines.length > 0)
    .map((lines) => Object.fromEntries(lines.map((line) => /^(\w+): (.*)$/.exec(line)?.slice(1) ?? [line, ""])))

/** The codes that a schema of problems lists. */
const codesIn = (schema: unknown, components: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const codes = (value: unknown): ReadonlyArray<string> => {
    if (typeof value !== "object" || value === null) return []
    if ("$ref" in value) return codes(components[String(value.$ref).split("/").at(-1) ?? ""])
    if ("anyOf" in value && Array.isArray(value.anyOf)) return value.anyOf.flatMap(codes)
    const properties = "properties" in value ? Object(value.properties) : {}
    return enumOf(properties.code)
  }
  const enumOf = (value: unknown): ReadonlyArray<string> => {
    if (typeof value !== "object" || value === null) return []
    if ("anyOf" in value && Array.isArray(value.anyOf)) return value.anyOf.flatMap(enumOf)
    return "enum" in value && Array.isArray(value.enum) ? value.enum.map(String) : []
  }
  return codes(schema)
}

/** Parses a document; throws when it is invalid. */
export const readWireDocument = (text: string): WireDocument => {
  const { components, paths } = decodeDocument(parse(text))
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  ajv.addSchema(JSON.parse(text), "wire:")
  const known = new Map<string, ReturnType<Ajv2020["compile"]>>()
  /** Why the schema at this place of the document rejects a value. */
  const mismatch = (place: string, value: unknown): string | undefined => {
    const validate = known.get(place) ?? ajv.compile({ $ref: `wire:#${place}` })
    known.set(place, validate)
    return validate(value) ? undefined : ajv.errorsText(validate.errors)
  }

  const templates = Object.entries(paths).map(([template, operations]) => ({
    template,
    operations,
    matches: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }))
  const find = ({ method, path }: Answered) => {
    const [plain = ""] = path.split("?", 1)
    const found = templates.find(({ matches }) => matches.test(plain))
    const name = (method === "HEAD" ? "GET" : method).toLowerCase()
    return found === undefined ? undefined : { ...found, name, operation: found.operations[name] }
  }

  const objection = (answered: Answered): string | undefined => {
    const { headers, method, status, text: body } = answered
    const found = find(answered)
    if (found === undefined || (method === "OPTIONS" && status === 204)) return undefined
    const { name, operation, template } = found
    if (operation === undefined) {
      if (status !== 405) return status < 400 ? `${status} of a method that is not documented` : undefined
      return method === "HEAD" ? undefined : mismatch(pointer("components", "schemas", "MethodNotAllowed"), parse(body))
    }
    const response = operation.responses[String(status)]
    if (response === undefined) return `the status ${status} is not documented`
    const place = ["paths", template, name, "responses", String(status)]
    const documented = response.headers ?? {}
    for (const [header, value] of Object.entries(headers)) {
      if (value === undefined || AMBIENT.test(header)) continue
      if (!(header in documented)) return `the header ${header} is not documented`
      const wrong = mismatch(pointer(...place, "headers", header, "schema"), value)
      if (wrong !== undefined) return `the header ${header}: ${wrong}`
    }
    const missing = Object.entries(documented).find(
      ([header, { required }]) => required && headers[header] === undefined,
    )
    if (missing !== undefined) return `the header ${missing[0]} is missing`
    if (method === "HEAD") return body === "" ? undefined : "a body"
    if (response.content === undefined) return body === "" ? undefined : "a body is not documented"
    const [type = ""] = String(headers["content-type"]).split(";", 1)
    if (!(type in response.content)) return `the content type ${type} is not documented`
    const at = pointer(...place, "content", type, "schema")
    if (type !== "text/event-stream") return mismatch(at, /json$/.test(type) ? parse(body) : body)
    const event = pointer("components", "schemas", "PushEvent")
    return records(body)
      .map((record) => mismatch(at, record) ?? mismatch(event, parse(record.data ?? "")))
      .find((wrong) => wrong !== undefined)
  }

  const kind = (name: string, template: string, status: string, code?: string): string =>
    [name.toUpperCase(), template, status, ...(code === undefined ? [] : [code])].join(" ")
  const kinds = templates.flatMap(({ operations, template }) =>
    Object.entries(operations).flatMap(([name, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content = {} }]) => {
        const problem = content["application/problem+json"]
        return problem === undefined
          ? [kind(name, template, status)]
          : codesIn(problem.schema, components.schemas).map((code) => kind(name, template, status, code))
      }),
    ),
  )
  return {
    objection,
    eventObjection: (event) => mismatch(pointer("components", "schemas", "PushEvent"), event),
    kinds: new Set(kinds),
    kindOf: (answered) => {
      const found = find(answered)
      if (found?.operation === undefined) return undefined
      const problem = decodeProblem(parse(answered.text))
      return kind(
        found.name,
        found.template,
        String(answered.status),
        problem._tag === "Some" ? problem.value.code : undefined,
      )
    },
  }
}
