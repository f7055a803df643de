/**
 * A settings file with every setting: its default, null when it has none, or a placeholder when it is required. The file is valid once the
 * placeholders are replaced.
 */
import type { SchemaAST } from "effect"
import { SettingsFile } from "../Settings.ts"
import { annotationsOf, fieldsOf } from "./table.ts"

/** Whoever knows the webhook token can end calls: so each example gets a new one. */
const GENERATED = "Security.WebhookApiToken"

const exampleOf = (path: string, ast: SchemaAST.AST, webhookToken: string): unknown => {
  const { example, fallback } = annotationsOf(ast)
  return path === GENERATED ? webhookToken : (example ?? fallback ?? null)
}

const groupOf = (ast: SchemaAST.AST, base: string, webhookToken: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    (fieldsOf(ast) ?? []).map(([name, field]) => {
      const path = base + name
      const isGroup = fieldsOf(field) !== undefined
      return [name, isGroup ? groupOf(field, `${path}.`, webhookToken) : exampleOf(path, field, webhookToken)]
    }),
  )

/** The example refers to a file `settings.schema.json` beside it, which `voicegate settings --schema` prints. */
export const exampleSettings = (webhookToken: string): Readonly<Record<string, unknown>> => ({
  $schema: "./settings.schema.json",
  ...groupOf(SettingsFile.ast, "", webhookToken),
})
