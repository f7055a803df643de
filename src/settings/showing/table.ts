/** Every setting as a row, from the annotations of the schema: for `docs/configuration.md`, `--help` and the checks of names. */
import { type Schema, SchemaAST } from "effect"
import { SettingsFile } from "../Settings.ts"

/** One setting, or all settings of further campaigns. */
export interface SettingRow {
  /** such as `Security.RateLimitHourly` */
  readonly path: string
  /** the default, or a description when it is not a single value; `required` when there is none */
  readonly default: string
  /** whether the default is a value, not a description of what applies while the setting is not set */
  readonly hasDefaultValue: boolean
  /** one line; code in backticks */
  readonly description: string
  /** further sentences for `docs/configuration.md`; code in backticks */
  readonly documentation: string | undefined
  /** completes "expected …" */
  readonly expected: string
  readonly secret: boolean
  readonly list: boolean
  /** what stands in the example file where the operator must fill in a value */
  readonly placeholder: string | undefined
}

/** Removes the backticks of code spans. */
export const plainText = (markdown: string): string => markdown.replaceAll("`", "")

/** A setting or a group, with its name in the parent group. */
export type Field = readonly [name: string, ast: SchemaAST.AST]

/** The settings and groups in a group; undefined when `ast` is a setting. */
export const fieldsOf = (ast: SchemaAST.AST): ReadonlyArray<Field> | undefined =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.length > 0
    ? ast.propertySignatures.map(({ name, type }) => [String(name), type] as const)
    : undefined

export const annotationsOf = (ast: SchemaAST.AST) => {
  const {
    description = "",
    documentation,
    expected = "",
    voicegate,
  }: Schema.Annotations.Key<unknown> = ast.context?.annotations ?? {}
  return { description, documentation, expected, ...voicegate }
}

/** The settings of each item of a list of groups; undefined for anything else. */
export const itemFieldsOf = (ast: SchemaAST.AST): ReadonlyArray<Field> | undefined => {
  const [item] = SchemaAST.isArrays(ast) ? ast.rest : []
  return item === undefined ? undefined : fieldsOf(item)
}

const rowsOf = (ast: SchemaAST.AST, base: string): ReadonlyArray<SettingRow> =>
  (fieldsOf(ast) ?? []).flatMap(([name, field]) => {
    if (fieldsOf(field) !== undefined) return rowsOf(field, `${base}${name}.`)
    const [item] = SchemaAST.isArrays(field) ? field.rest : []
    if (item !== undefined && fieldsOf(item) !== undefined) return rowsOf(item, `${base}${name}.{n}.`)
    const annotations = annotationsOf(field)
    const {
      description,
      documentation,
      example,
      expected,
      fallback,
      list = false,
      defaultText: otherwise,
      required,
      secret = false,
    } = annotations
    return {
      // a record of campaigns
      path: base + (SchemaAST.isObjects(field) ? `${name}.{name}.*` : name),
      default: required ? "required" : (otherwise ?? String(fallback)),
      hasDefaultValue: required !== true && otherwise === undefined,
      description,
      documentation,
      expected,
      secret,
      list,
      placeholder: example,
    }
  })

/** All settings in the order of the tables in `docs/configuration.md`. */
export const settingRows: ReadonlyArray<SettingRow> = rowsOf(SettingsFile.ast, "")

const byPath = new Map(settingRows.map((row) => [row.path.toLowerCase(), row] as const))

/** The path in lower case; for a named campaign's setting, the path of the default campaign's; for an item of a list of groups, of any item. */
export const generalPath = (path: string): string =>
  path
    .toLowerCase()
    .replace(/^(voiceaiplatform)\.campaigns\.[^.]+\./, "$1.")
    .replace(/\.(budgets)\.\d+\./, ".$1.{n}.")

/** The setting at a path, case-insensitive, of any campaign. */
export const settingAt = (path: string): SettingRow | undefined => byPath.get(generalPath(path))

/** Whether a value at a path is a setting or an item of a list; a name that nobody knows may be a misspelt secret's. */
export const isKnown = (path: string): boolean =>
  settingAt(path) !== undefined || settingAt(path.replace(/\.\d+$/, ""))?.list === true

/** Environment variables in these groups belong to the gate; an unknown name there is a mistake. */
const ROOTS = Object.keys(SettingsFile.fields).map((name) => name.toLowerCase())

export const isGateVariable = ([root = ""]: ReadonlyArray<string>): boolean => ROOTS.includes(root.toLowerCase())
