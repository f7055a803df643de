/** Every setting as a row, read from the annotations of the schema: for `docs/configuration.md`, `--help` and the checks of names. */
import { type Schema, SchemaAST } from "effect"
import { SettingsFile } from "../Settings.ts"

/** One setting, or all of further campaigns. */
export interface SettingRow {
  /** as an operator writes it: `Security.RateLimitHourly` */
  readonly path: string
  /** the default, in words where it is not one value; `required` where there is none */
  readonly default: string
  /** one line; code in backticks, as in the next */
  readonly description: string
  /** what only `docs/configuration.md` says */
  readonly documentation: string | undefined
  /** completes "expected …" */
  readonly expected: string
  readonly secret: boolean
  readonly list: boolean
}

/** Without the marks of code. */
export const plainWords = (markdown: string): string => markdown.replaceAll("`", "")

/** A setting or a group, by its name in its group. */
export type Field = readonly [name: string, ast: SchemaAST.AST]

/** The settings of a group, and the groups in it; undefined where `ast` is a setting. */
export const fieldsOf = (ast: SchemaAST.AST): ReadonlyArray<Field> | undefined =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.length > 0
    ? ast.propertySignatures.map(({ name, type }) => [String(name), type] as const)
    : undefined

/** What a setting is annotated with. */
export const annotationsOf = (ast: SchemaAST.AST) => {
  const {
    description = "",
    documentation,
    expected = "",
    voicegate,
  }: Schema.Annotations.Key<unknown> = ast.context?.annotations ?? {}
  return { description, documentation, expected, ...voicegate }
}

const rowsOf = (ast: SchemaAST.AST, base: string): ReadonlyArray<SettingRow> =>
  (fieldsOf(ast) ?? []).flatMap(([name, field]) => {
    if (fieldsOf(field) !== undefined) return rowsOf(field, `${base}${name}.`)
    const words = annotationsOf(field)
    const { description, documentation, expected, fallback, list = false, otherwise, required, secret = false } = words
    return {
      // a record of campaigns
      path: base + (SchemaAST.isObjects(field) ? `${name}.{name}.*` : name),
      default: required ? "required" : (otherwise ?? String(fallback)),
      description,
      documentation,
      expected,
      secret,
      list,
    }
  })

/** All settings in the order of the tables in `docs/configuration.md`. */
export const settingRows: ReadonlyArray<SettingRow> = rowsOf(SettingsFile.ast, "")

const byPath = new Map(settingRows.map((row) => [row.path.toLowerCase(), row] as const))

/** The path of the default campaign's setting for one of a named campaign, else the path itself; in lower case. */
export const generalPath = (path: string): string =>
  path.toLowerCase().replace(/^(voiceaiplatform)\.campaigns\.[^.]+\./, "$1.")

/** The setting at a path, without regard to case, whichever campaign it is of. */
export const settingAt = (path: string): SettingRow | undefined => byPath.get(generalPath(path))
