/** Decodes the groups of the schema from the flat list and collects problems, so that all are reported together. */
import { Option, Result, Schema, type SchemaAST, SchemaIssue } from "effect"
import type { SettingProblem } from "../problems.ts"
import { makeMask } from "../showing/masking.ts"
import { fieldsOf, plainText, settingAt } from "../showing/table.ts"
import { type Flat, type Given, isEmptyList } from "../sources/flat.ts"
import type { Group, GroupRead, Reader } from "./reader.ts"

/** The schema's own message about what it expects; empty when it has none. */
const ownMessage = (issue: SchemaIssue.Issue): string =>
  issue._tag === "InvalidValue" && typeof issue.annotations?.message === "string" ? issue.annotations.message : ""

/** Lists where values are invalid, with the schema's own messages. */
const toFailures = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: ownMessage,
  checkHook: ({ issue }) => ownMessage(issue),
})

/** The items of a list in order, or a single value. */
type Values = Given | ReadonlyArray<Given>

const textOf = (values: Values | undefined): string | ReadonlyArray<string> | undefined =>
  values === undefined || "text" in values ? values?.text : values.map(({ text }) => text)

/** How the items of a list are written, for somebody who has written them as one text. */
const apart = (path: string): string =>
  `; the items are written apart: in the environment as ${path.replaceAll(".", "__")}__0 and so on, in the file as a list in brackets`

export const makeReader = (flat: Flat, problems: Array<SettingProblem>): Reader => {
  const shown = makeMask(flat)
  const refused = new Set<Given>()
  /** problems of inherited settings, with the path from which they are inherited */
  const inherited: Array<{ readonly from: string; readonly problem: SettingProblem }> = []

  const display = (given: Given, path: string): string => {
    const text = shown(given, path)
    return text === undefined ? `a value that is not shown, ${given.where}` : `${JSON.stringify(text)} ${given.where}`
  }

  const lists = new Map<string, Array<Given>>()
  for (const [key, given] of flat) {
    if (isEmptyList(given)) continue
    const [, path] = /^(.*)\.\d+$/.exec(key) ?? []
    if (path !== undefined) lists.set(path, [...(lists.get(path) ?? []), given])
  }
  const indexOf = ({ path }: Given): number => Number(path.at(-1))
  const items = (path: string): ReadonlyArray<Given> =>
    (lists.get(path.toLowerCase()) ?? []).toSorted((a, b) => indexOf(a) - indexOf(b))

  /** A value that is not an item; an empty list counts as absent. */
  const singleAt = (path: string): Given | undefined => {
    const given = flat.get(path.toLowerCase())
    return given !== undefined && isEmptyList(given) ? undefined : given
  }

  const has = (path: string): boolean => singleAt(path) !== undefined || items(path).length > 0

  const valuesAt = (path: string): Values | undefined => {
    const single = singleAt(path)
    if (single !== undefined) return refused.has(single) ? undefined : single
    const list = settingAt(path)?.list === true ? items(path).filter((given) => !refused.has(given)) : []
    return list.length === 0 ? undefined : list
  }

  const group = <A extends B, B>({ base, draft, inheritFrom, own = [], schema }: Group<A, B>): GroupRead<A, B> => {
    const inherits = (name: string): boolean => inheritFrom !== undefined && !own.includes(name)
    const valuesOf = (name: string): Values | undefined =>
      valuesAt(base + name) ?? (inherits(name) ? valuesAt(`${inheritFrom}${name}`) : undefined)
    const texts = (ast: SchemaAST.AST, prefix: string): object => {
      // without a prototype: a property that somebody added to every object is not a setting
      const given: Record<string, unknown> = Object.create(null)
      for (const [name, field] of fieldsOf(ast) ?? []) {
        const value = fieldsOf(field) ? texts(field, `${prefix}${name}.`) : textOf(valuesOf(prefix + name))
        if (value !== undefined) given[name] = value
      }
      return given
    }

    const decoded = Schema.decodeUnknownResult(schema, { errors: "all" })(texts(schema.ast, ""))
    if (Result.isSuccess(decoded)) return { valid: decoded.success, draft: decoded.success }

    const failures = toFailures(decoded.failure.issue).issues.map(({ message, path = [] }) => ({
      message,
      name: path.filter((key) => typeof key === "string").join("."),
      index: Number(path.at(-1)),
    }))
    const wrong = new Map<Given, SettingProblem>()
    for (const { index, message, name } of [
      ...failures.filter((failure) => own.includes(failure.name)),
      ...failures.filter((failure) => !own.includes(failure.name)),
    ]) {
      const setting = settingAt(base + name)
      const values = valuesOf(name)
      const given = values === undefined || "text" in values ? values : values[index]
      if (given === undefined) {
        // a list for a setting that is not one is an unknown name
        if (has(base + name)) continue
        const problem = { path: base + name, expected: plainText(setting?.description ?? ""), found: "nothing" }
        // most often the other group reports it
        if (inherits(name)) inherited.push({ from: `${inheritFrom}${name}`, problem })
        else problems.push(problem)
        continue
      }
      const at = base + (given === values ? name : `${name}.${given.path.at(-1)}`)
      const isJoined = given === values && setting?.list === true && /[,[]/.test(given.text)
      const expected = (message === "" ? (setting?.expected ?? "") : message) + (isJoined ? apart(base + name) : "")
      wrong.set(given, { path: at, expected, found: display(given, base + name) })
    }
    for (const [given, problem] of wrong) {
      refused.add(given)
      problems.push(problem)
    }
    const draftValues = Schema.decodeUnknownOption(draft)(texts(schema.ast, ""))
    return { valid: undefined, draft: Option.getOrUndefined(draftValues) }
  }

  return {
    problems,
    warnings: [],
    has,
    group,
    reportInherited: () => {
      for (const { from, problem } of inherited) {
        if (!has(from) && !problems.some(({ path }) => path === from)) problems.push(problem)
      }
    },
    reportMissing: (path, expected) => problems.push({ path, expected, found: "nothing" }),
    reportInvalid: (path, expected) => {
      const given = flat.get(path.toLowerCase())
      problems.push({ path, expected, ...(given === undefined ? {} : { found: display(given, path) }) })
    },
  }
}
