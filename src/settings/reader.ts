/**
 * Decodes the groups of the schema out of the flat list and notes what is wrong on the way, so that reading goes on and all problems
 * come out together.
 */
import { Option, Result, Schema, type SchemaAST, SchemaIssue } from "effect"
import type { Flat, Given } from "./flat.ts"
import type { SettingProblem } from "./problems.ts"
import { fieldsOf, plainWords, settingAt, settingRows } from "./table.ts"

export interface Reader {
  readonly problems: Array<SettingProblem>
  readonly warnings: Array<string>
  /** whether anything is given at the path, as a value or as a list, right or wrong */
  readonly has: (path: string) => boolean
  /** Decodes the settings below a path and notes every problem of single values; what is wrong then counts as absent. */
  readonly group: <A extends B, B>(group: Group<A, B>) => GroupRead<A, B>
  /** Notes that something is missing. */
  readonly missing: (path: string, expected: string) => void
  /** Notes a problem of the value at the path that concerns more than the value itself. */
  readonly wrong: (path: string, expected: string) => void
}

export interface Group<A, B> {
  /** the path of the group with its last dot; empty for the whole */
  readonly base: string
  readonly schema: Schema.Decoder<A>
  /** the same where nothing, or nothing that rules need, is required */
  readonly draft: Schema.Decoder<B>
  /** the path, with its last dot, of the group from which it takes what it is not given */
  readonly inheritFrom?: string | undefined
  /** by name, what is never inherited; problems of it come first */
  readonly own?: ReadonlyArray<string>
}

export interface GroupRead<A, B> {
  /** undefined where there is any problem */
  readonly valid: A | undefined
  /** all that fits, for rules that concern more than one setting; undefined where that is not enough for the draft */
  readonly draft: B | undefined
}

/** The text, and what in it may be the secret itself: the key after `Token`, the password in a connection string. */
const withParts = (text: string): ReadonlyArray<string> => [
  text,
  ...text.split(/[\s:@,=/?&]+/).filter((part) => part.length >= 6),
]

const secretNames = new Set(
  settingRows.filter(({ secret }) => secret).map(({ path }) => path.slice(path.lastIndexOf(".") + 1).toLowerCase()),
)

/** Every text that must not appear in a message, in whatever field it was pasted by mistake. */
const secretTexts = (flat: Flat): ReadonlyArray<string> =>
  [...flat].flatMap(([key, { text }]) => {
    const path = key.replace(/\.\d+$/, "")
    return secretNames.has(path.slice(path.lastIndexOf(".") + 1)) ? withParts(text) : []
  })

/** User, password and query of a URL are nobody's business. */
const withoutCredentials = (text: string): string =>
  text
    .replace(/\/\/[^/]*@/g, "//***@")
    .replace(/\?.*/s, "?***")
    .slice(0, 200)

/** The words of a schema that says itself what it expects; else empty. */
const ownWords = (issue: SchemaIssue.Issue): string =>
  issue._tag === "InvalidValue" && typeof issue.annotations?.message === "string" ? issue.annotations.message : ""

/** Where a value does not fit, with the schema's own words. */
const toFailures = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: ownWords,
  checkHook: ({ issue }) => ownWords(issue),
})

/** The items of a list in their order, or the one value that stands for it. */
type Values = Given | ReadonlyArray<Given>

const textOf = (values: Values | undefined): string | ReadonlyArray<string> | undefined =>
  values === undefined || "text" in values ? values?.text : values.map(({ text }) => text)

export const makeReader = (flat: Flat, problems: Array<SettingProblem>): Reader => {
  const secrets = secretTexts(flat)
  const refused = new Set<Given>()

  const shown = ({ text, where }: Given, path: string): string =>
    settingAt(path)?.secret === true ||
    secrets.some((each) => text.includes(each) || (text.length >= 8 && each.includes(text)))
      ? `a value that is not shown, ${where}`
      : `${JSON.stringify(withoutCredentials(text))} ${where}`

  const lists = new Map<string, Array<Given>>()
  for (const [key, given] of flat) {
    const [, path] = /^(.*)\.\d+$/.exec(key) ?? []
    if (path !== undefined) lists.set(path, [...(lists.get(path) ?? []), given])
  }
  const indexOf = ({ path }: Given): number => Number(path.at(-1))
  const items = (path: string): ReadonlyArray<Given> =>
    (lists.get(path.toLowerCase()) ?? []).toSorted((a, b) => indexOf(a) - indexOf(b))

  const has = (path: string): boolean => flat.has(path.toLowerCase()) || items(path).length > 0

  const valuesAt = (path: string): Values | undefined => {
    const single = flat.get(path.toLowerCase())
    if (single !== undefined) return refused.has(single) ? undefined : single
    const list = settingAt(path)?.list === true ? items(path).filter((given) => !refused.has(given)) : []
    return list.length === 0 ? undefined : list
  }

  const group = <A extends B, B>({ base, draft, inheritFrom, own = [], schema }: Group<A, B>): GroupRead<A, B> => {
    const inherits = (name: string): boolean => inheritFrom !== undefined && !own.includes(name)
    const valuesOf = (name: string): Values | undefined =>
      valuesAt(base + name) ?? (inherits(name) ? valuesAt(`${inheritFrom}${name}`) : undefined)
    const texts = (ast: SchemaAST.AST, prefix: string): object => {
      // without a prototype: what somebody put on every object is no setting
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
        // an inherited one is missed by the other group; a list of what is none is a problem of names
        if (!inherits(name) && !has(base + name))
          problems.push({ path: base + name, expected: plainWords(setting?.description ?? ""), found: "nothing" })
        continue
      }
      const at = base + (given === values ? name : `${name}.${given.path.at(-1)}`)
      const expected = message === "" ? (setting?.expected ?? "") : message
      wrong.set(given, { path: at, expected, found: shown(given, base + name) })
    }
    for (const [given, problem] of wrong) {
      refused.add(given)
      problems.push(problem)
    }
    const rest = Schema.decodeUnknownOption(draft)(texts(schema.ast, ""))
    return { valid: undefined, draft: Option.getOrUndefined(rest) }
  }

  return {
    problems,
    warnings: [],
    has,
    group,
    missing: (path, expected) => problems.push({ path, expected, found: "nothing" }),
    wrong: (path, expected) => {
      const given = flat.get(path.toLowerCase())
      problems.push({ path, expected, ...(given === undefined ? {} : { found: shown(given, path) }) })
    },
  }
}
