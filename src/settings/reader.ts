/**
 * Reads single settings out of the flat list and notes what is wrong on the way, so that reading goes on and all problems
 * come out together.
 */
import { Option, Schema } from "effect"
import type { Flat, Given } from "./flat.ts"
import type { Kind } from "./kinds.ts"
import type { SettingProblem } from "./problems.ts"
import { CAMPAIGN_SETTINGS, SETTINGS } from "./table.ts"

export interface Reader {
  readonly problems: Array<SettingProblem>
  readonly warnings: Array<string>
  /** whether anything is given at the path, as a value or as a list */
  readonly has: (path: string) => boolean
  /** The value at the path; undefined when there is none or it is wrong, which is a problem then. */
  readonly one: <A>(kind: Kind<A>, path: string) => A | undefined
  /** The items at the path, or the one value that stands for a list; wrong items are problems and left out. */
  readonly many: <A>(kind: Kind<A>, path: string) => ReadonlyArray<A>
  /** Notes that something is missing. */
  readonly missing: (path: string, expected: string) => void
  /** Notes a problem of the value at the path that concerns more than the value itself. */
  readonly wrong: (path: string, expected: string, kind: Kind<unknown>) => void
}

const isSecret = new Set(
  [...Object.entries(SETTINGS), ...Object.entries(CAMPAIGN_SETTINGS)]
    .filter(([, setting]) => setting.kind.secret)
    .map(([path]) => path.toLowerCase()),
)

/** The text, and what in it may be the secret itself: the key after `Token`, the password in a connection string. */
const withParts = (text: string): ReadonlyArray<string> => [
  text,
  ...text.split(/[\s:@,=/?&]+/).filter((part) => part.length >= 6),
]

/** Every text that must not appear in a message, in whatever field it was pasted by mistake. */
const secretTexts = (flat: Flat): ReadonlyArray<string> =>
  [...flat].flatMap(([key, { text }]) => {
    const path = key.replace(/\.\d+$/, "")
    return isSecret.has(path) || isSecret.has(path.slice(path.lastIndexOf(".") + 1)) ? withParts(text) : []
  })

/** User, password and query of a URL are nobody's business. */
const withoutCredentials = (text: string): string =>
  text
    .replace(/\/\/[^/]*@/g, "//***@")
    .replace(/\?.*/s, "?***")
    .slice(0, 200)

export const makeReader = (flat: Flat, problems: Array<SettingProblem>): Reader => {
  const secrets = secretTexts(flat)

  const shown = ({ text, where }: Given, secret: boolean): string =>
    secret || secrets.some((each) => text.includes(each) || (text.length >= 8 && each.includes(text)))
      ? `a value that is not shown, ${where}`
      : `${JSON.stringify(withoutCredentials(text))} ${where}`

  const decode = <A>(kind: Kind<A>, given: Given, path: string): Option.Option<A> => {
    const value = Schema.decodeOption(kind.schema)(given.text)
    if (Option.isNone(value)) {
      problems.push({ path, expected: kind.expected, found: shown(given, kind.secret) })
    }
    return value
  }

  const items = (path: string): ReadonlyArray<readonly [string, Given]> => {
    const prefix = `${path.toLowerCase()}.`
    return [...flat]
      .filter(([key]) => key.startsWith(prefix) && /^\d+$/.test(key.slice(prefix.length)))
      .map(([key, given]) => [key.slice(prefix.length), given] as const)
      .sort(([a], [b]) => Number(a) - Number(b))
  }

  return {
    problems,
    warnings: [],
    has: (path) => flat.has(path.toLowerCase()) || items(path).length > 0,
    one: (kind, path) => {
      const given = flat.get(path.toLowerCase())
      return given === undefined ? undefined : Option.getOrUndefined(decode(kind, given, path))
    },
    many: (kind, path) => {
      const single = flat.get(path.toLowerCase())
      const all = single === undefined ? items(path) : [["", single] as const]
      return all.flatMap(([index, given]) =>
        Option.toArray(decode(kind, given, index === "" ? path : `${path}.${index}`)),
      )
    },
    missing: (path, expected) => problems.push({ path, expected, found: "nothing" }),
    wrong: (path, expected, kind) => {
      const given = flat.get(path.toLowerCase())
      problems.push({ path, expected, ...(given === undefined ? {} : { found: shown(given, kind.secret) }) })
    },
  }
}
