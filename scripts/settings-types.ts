/**
 * The published type of the settings, written from their JSON Schema: each setting with its description as hover text, unions as their
 * words, numbers as numbers. It replaces what the compiler makes of `src/embedded/settings.ts`, which has no text and the types of a
 * settings file, where the environment may write a number as text.
 */

type Schema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const partsOf = (value: unknown): ReadonlyArray<Schema> => (Array.isArray(value) ? value.filter(isSchema) : [])

const HEAD = `/**
 * Settings of the gate, for hosts that write them in code. The check at \`createGate\` decides, and reports every problem at once, with its
 * path. Nothing is required by the type but \`VoiceAiPlatform\`, and undefined means absent, so that \`process.env.NAME\` can be passed
 * directly to a setting that is a text; a number is \`Number(process.env.NAME)\`.
 */
`

/** Comments cannot contain their own end. */
const comment = (text: string, indent: string): string => `${indent}/** ${text.replaceAll("*/", "* /")} */\n`

/** What a value may be in code. What a file or the environment may also have, null and numbers or flags as text, is left out. */
const typeOf = (schema: Schema, indent: string): string => {
  const { additionalProperties, allOf, anyOf, items, patternProperties, properties, type } = schema
  const members = partsOf(anyOf)
  if (members.length > 0) {
    const isTyped = members.some((member) => ["integer", "number", "boolean"].includes(String(member.type)))
    const meant = members.filter((member) => member.type !== "null" && !(isTyped && member.type === "string"))
    return [...new Set(meant.map((member) => typeOf(member, indent)))].join(" | ")
  }
  const words = [schema, ...partsOf(allOf)].flatMap((part) => (Array.isArray(part.enum) ? part.enum : []))
  if (words.length > 0) return words.map((word) => JSON.stringify(word)).join(" | ")
  if (type === "array") return `ReadonlyArray<${isSchema(items) ? typeOf(items, indent) : "unknown"}>`
  if (type === "integer" || type === "number") return "number"
  if (isSchema(properties)) return membersOf(properties, indent)
  const [named] = Object.values(isSchema(patternProperties) ? patternProperties : {}).filter(isSchema)
  const values = named ?? (isSchema(additionalProperties) ? additionalProperties : undefined)
  if (values !== undefined) return `{ readonly [name: string]: ${typeOf(values, indent)} | undefined }`
  return type === "boolean" || type === "string" ? type : "unknown"
}

const membersOf = (properties: Schema, indent: string, required: ReadonlyArray<string> = []): string => {
  const inner = `${indent}  `
  const members = Object.entries(properties).flatMap(([name, schema]) => {
    if (!isSchema(schema) || name.startsWith("$")) return []
    const { default: fallback, description } = schema
    // `createGate` does not read the environment
    const told = String(description).replace(" When absent: required, here or in the environment", " Required")
    const otherwise =
      fallback === undefined || told.includes("When absent: ") ? "" : `. Default: ${JSON.stringify(fallback)}`
    const text = typeof description === "string" ? comment(`${told}${otherwise}`, inner) : ""
    const type = typeOf(schema, inner)
    return required.includes(name)
      ? `${text}${inner}readonly ${name}: ${type}\n`
      : `${text}${inner}readonly ${name}?: ${type} | undefined\n`
  })
  return `{\n${members.join("")}${indent}}`
}

/** The text of `dist/embedded/settings.d.ts`. */
export const settingsTypes = (schema: Schema): string => {
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const platform = isSchema(properties.VoiceAiPlatform) ? properties.VoiceAiPlatform : {}
  const { Campaigns: _, ...campaign } = isSchema(platform.properties) ? platform.properties : {}
  return [
    HEAD,
    `export interface GateSettings ${membersOf(properties, "", ["VoiceAiPlatform"])}\n\n`,
    comment("The campaign below `VoiceAiPlatform`, or a further one, which inherits settings that it omits.", ""),
    `export interface CampaignSettings ${membersOf(campaign, "")}\n`,
  ].join("")
}
