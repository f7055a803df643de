/**
 * The JSON Schema of the settings file, for editors: names, values, defaults and descriptions. Nothing is required in it, since the
 * environment may have what the file has not; null is absent.
 */
import { Schema, SchemaAST } from "effect"
import { SettingsFile } from "../Settings.ts"
import { annotationsOf, type Field, fieldsOf, plainWords } from "./table.ts"

const wordsOf = (ast: SchemaAST.AST, inherits: boolean) => {
  const { description, fallback, otherwise, own, required } = annotationsOf(ast)
  const inherited = inherits && !own
  const absent = inherited ? "that of VoiceAiPlatform" : required ? "required, here or in the environment" : otherwise
  return {
    description: plainWords(absent === undefined ? description : `${description}. When absent: ${absent}`),
    ...(fallback === undefined || inherited ? {} : { default: fallback }),
  }
}

const hasUndefined = (ast: SchemaAST.AST): boolean => SchemaAST.isUnion(ast) && ast.types.some(SchemaAST.isUndefined)

/** What a file may hold for a setting, without what becomes of it. */
const writtenOf = (ast: SchemaAST.AST): Schema.Top => {
  const [further] = SchemaAST.isObjects(ast) ? ast.indexSignatures : []
  if (further !== undefined) {
    return Schema.Record(Schema.make<Schema.Record.Key>(further.parameter), groupOf(fieldsOf(further.type) ?? [], true))
  }
  const written = Schema.make<Schema.Top>(SchemaAST.toEncoded(ast))
  // undefined is null in JSON
  return hasUndefined(written.ast) ? written : Schema.NullOr(written)
}

const groupOf = (fields: ReadonlyArray<Field>, inherits: boolean): Schema.Struct<Schema.Struct.Fields> =>
  Schema.Struct(
    Object.fromEntries(
      fields.map(([name, ast]) => {
        const group = fieldsOf(ast)
        const value = group === undefined ? writtenOf(ast).annotate(wordsOf(ast, inherits)) : groupOf(group, inherits)
        return [name, Schema.optionalKey(value)]
      }),
    ),
  )

/** In draft 2020-12, as `voicegate settings --schema` prints it. */
export const jsonSchema = (): Readonly<Record<string, unknown>> => {
  const { fields } = groupOf(fieldsOf(SettingsFile.ast) ?? [], false)
  const { definitions, schema } = Schema.toJsonSchemaDocument(
    // an editor is told where this schema is
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
