/**
 * The JSON Schema of the settings file, for editors: names, values, defaults and descriptions. Nothing is required, since the
 * environment may contain what the file lacks; null means absent.
 */
import { Schema, SchemaAST } from "effect"
import { SettingsFile } from "../Settings.ts"
import { annotationsOf, type Field, fieldsOf, itemFieldsOf, plainText } from "./table.ts"

const textsFor = (ast: SchemaAST.AST, inherits: boolean) => {
  const { description, fallback, defaultText: otherwise, own, required } = annotationsOf(ast)
  const inherited = inherits && !own
  const absent = inherited ? "that of VoiceAiPlatform" : required ? "required, here or in the environment" : otherwise
  return {
    description: plainText(absent === undefined ? description : `${description}. When absent: ${absent}`),
    ...(fallback === undefined || inherited ? {} : { default: fallback }),
  }
}

const hasUndefined = (ast: SchemaAST.AST): boolean => SchemaAST.isUnion(ast) && ast.types.some(SchemaAST.isUndefined)

/** The schema of a setting's value in a file, before decoding. */
const encodedOf = (ast: SchemaAST.AST): Schema.Top => {
  const [namedGroup] = SchemaAST.isObjects(ast) ? ast.indexSignatures : []
  if (namedGroup !== undefined) {
    return Schema.Record(
      Schema.make<Schema.Record.Key>(namedGroup.parameter),
      groupOf(fieldsOf(namedGroup.type) ?? [], true),
    )
  }
  const item = itemFieldsOf(ast)
  if (item !== undefined) return Schema.NullOr(Schema.Array(groupOf(item, false)))
  const encoded = Schema.make<Schema.Top>(SchemaAST.toEncoded(ast))
  // JSON has no undefined: null means absent
  return hasUndefined(encoded.ast) ? encoded : Schema.NullOr(encoded)
}

const groupOf = (fields: ReadonlyArray<Field>, inherits: boolean): Schema.Struct<Schema.Struct.Fields> =>
  Schema.Struct(
    Object.fromEntries(
      fields.map(([name, ast]) => {
        const group = fieldsOf(ast)
        const value = group === undefined ? encodedOf(ast).annotate(textsFor(ast, inherits)) : groupOf(group, inherits)
        return [name, Schema.optionalKey(value)]
      }),
    ),
  )

/** The schema in draft 2020-12, as printed by `voicegate settings --schema`. */
export const jsonSchema = (): Readonly<Record<string, unknown>> => {
  const { fields } = groupOf(fieldsOf(SettingsFile.ast) ?? [], false)
  const { definitions, schema } = Schema.toJsonSchemaDocument(
    // lets a file tell an editor where this schema is
    Schema.Struct({ $schema: Schema.optionalKey(Schema.String), ...fields }),
    { onExcessProperty: "error" },
  )
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Settings of voicegate",
    ...schema,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  }
}
