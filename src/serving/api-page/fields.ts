/** A JSON Schema as HTML: its type in words, and a table of its fields. A reference is a link to the schema's own section. */
import { Schema } from "effect"
import { code, escaped, inline, slug } from "./markup.ts"

/** What is shown of a JSON Schema; other keywords are ignored. */
export interface Node {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Node>
  readonly oneOf?: ReadonlyArray<Node>
  readonly allOf?: ReadonlyArray<Node>
  readonly items?: Node
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: Node | boolean
  readonly contentSchema?: Node
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly pattern?: string
}

const node = Schema.suspend((): Schema.Codec<Node> => Node)
const nodes = Schema.optionalKey(Schema.Array(node))
const text = Schema.optionalKey(Schema.String)
const number = Schema.optionalKey(Schema.Finite)

const Node: Schema.Codec<Node> = Schema.Struct({
  $ref: text,
  type: text,
  description: text,
  enum: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  anyOf: nodes,
  oneOf: nodes,
  allOf: nodes,
  items: Schema.optionalKey(node),
  properties: Schema.optionalKey(Schema.Record(Schema.String, node)),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
  additionalProperties: Schema.optionalKey(Schema.Union([Schema.Boolean, node])),
  contentSchema: Schema.optionalKey(node),
  minLength: number,
  maxLength: number,
  minimum: number,
  maximum: number,
  minItems: number,
  maxItems: number,
  maxProperties: number,
  pattern: text,
})

export const readNode = Schema.decodeUnknownSync(Node)

const REFERENCE = "#/components/schemas/"

/** `1 to 256 characters`; empty without limits. Limits of every safe integer are none. */
const between = (least: number | undefined, most: number | undefined, of: string): string => {
  const from = least === undefined || least <= Number.MIN_SAFE_INTEGER ? undefined : least
  const to = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most
  if (from !== undefined && to !== undefined) return `${from} to ${to}${of}`
  if (from !== undefined) return `at least ${from}${of}`
  return to === undefined ? "" : `at most ${to}${of}`
}

const limitsOf = (given: Node): ReadonlyArray<string> =>
  [
    between(given.minLength, given.maxLength, " characters"),
    between(given.minimum, given.maximum, ""),
    between(given.minItems, given.maxItems, " items"),
    between(undefined, given.maxProperties, " entries"),
    given.pattern === undefined ? "" : `matches ${code(given.pattern)}`,
    ...(given.allOf ?? []).flatMap(limitsOf),
  ].filter((limit) => limit !== "")

const variantsOf = ({ anyOf, oneOf }: Node): ReadonlyArray<Node> => anyOf ?? oneOf ?? []

const bareTypeOf = (given: Node): string => {
  const { $ref, additionalProperties, contentSchema, enum: values, items, properties, type } = given
  if ($ref !== undefined) {
    const name = $ref.replace(REFERENCE, "")
    return `<a href="#schema-${slug(name)}">${escaped(name)}</a>`
  }
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(" or ")
  if (contentSchema !== undefined) return `JSON text of ${typeOf(contentSchema)}`
  const variants = variantsOf(given)
  if (variants.length > 0) return [...new Set(variants.map(typeOf))].join(" or ")
  if (type === "array") return `list of ${items === undefined ? "anything" : typeOf(items)}`
  if (type === "object" && properties === undefined && typeof additionalProperties === "object") {
    return `map from string to ${typeOf(additionalProperties)}`
  }
  return escaped(type ?? "anything")
}

/** The type of a value with its limits, in words. */
export const typeOf = (given: Node): string => [bareTypeOf(given), ...limitsOf(given)].join(", ")

interface Field {
  readonly name: string
  readonly required: boolean
  readonly node: Node
}

/** The fields of an object, and those of the objects in them by a dotted name. */
const fieldsOf = ({ properties = {}, required = [] }: Node, path = ""): ReadonlyArray<Field> =>
  Object.entries(properties).flatMap(([name, field]) => [
    { name: `${path}${name}`, required: required.includes(name), node: field },
    ...[field, ...variantsOf(field)].flatMap((inner) => fieldsOf(inner, `${path}${name}.`)),
    ...(field.items === undefined ? [] : fieldsOf(field.items, `${path}${name}[].`)),
  ])

export const row = ({ name, node: given, required }: Field): string =>
  `<tr><th scope="row">${code(name)}${required ? "" : ' <span class="optional">optional</span>'}</th>
<td>${typeOf(given)}</td><td>${inline(given.description ?? "")}</td></tr>`

/** A table of fields; `label` names it for screen readers. */
export const table = (label: string, rows: ReadonlyArray<string>): string =>
  rows.length === 0
    ? ""
    : `<table aria-label="${escaped(label)}"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table>`

/** The fields of a value: a table, or one for each variant. Empty for a value without fields, or with a section of its own. */
export const describeFields = (label: string, given: Node): string =>
  given.properties === undefined
    ? variantsOf(given)
        .map((variant) => describeFields(label, variant))
        .join("\n")
    : table(label, fieldsOf(given).map(row))
