/**
 * A settings file with every setting in it: its default, null where it has none, and a placeholder where it is required. It is valid
 * as it is.
 */
import type { SchemaAST } from "effect"
import { SettingsFile } from "../Settings.ts"
import { annotationsOf, fieldsOf } from "./table.ts"

/** One proof of webhooks is required, and whoever knew it could end calls: so it is a new one each time. */
const PROOF = "Security.WebhookApiToken"

const exampleOf = (path: string, ast: SchemaAST.AST, webhookToken: string): unknown => {
  const { example, fallback } = annotationsOf(ast)
  return path === PROOF ? webhookToken : (example ?? fallback ?? null)
}

const groupOf = (ast: SchemaAST.AST, base: string, webhookToken: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    (fieldsOf(ast) ?? []).map(([name, field]) => {
      const path = base + name
      const isGroup = fieldsOf(field) !== undefined
      return [name, isGroup ? groupOf(field, `${path}.`, webhookToken) : exampleOf(path, field, webhookToken)]
    }),
  )

/** Names the file that `voicegate settings --schema` is meant to be written to. */
export const exampleSettings = (webhookToken: string): Readonly<Record<string, unknown>> => ({
  $schema: "./settings.schema.json",
  ...groupOf(SettingsFile.ast, "", webhookToken),
})
