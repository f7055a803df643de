/** Checks the objects that a host gives, before anything calls them. */
import { unknownFields } from "../../lib/unknown-field.ts"

type Kind = "function" | "string" | "boolean"

/** The members of an object: their kinds, and which it must have. */
export interface Members<T> {
  readonly required: { readonly [K in keyof T as undefined extends T[K] ? never : K]: Kind }
  readonly optional: { readonly [K in keyof T as undefined extends T[K] ? K : never]-?: Kind }
}

/** Whether an object was written as `{ … }`. An instance of a class has members of its own, such as its client. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Throws a `TypeError` with a line for each missing or wrong member of what the host gives at `path`, and for each unknown one of a plain
 * object.
 */
export const checkMembers = <T extends object>(path: string, given: T, { optional, required }: Members<T>): void => {
  const value: unknown = given
  if (typeof value !== "object" || value === null) throw new TypeError(`${path}: expected an object`)
  const kinds = new Map<string, Kind>([...Object.entries<Kind>(required), ...Object.entries<Kind>(optional)])
  const found = new Map<string, unknown>([...kinds.keys()].map((name) => [name, Reflect.get(value, name)]))
  const wrong = [...kinds].filter(([name, kind]) => {
    const member = found.get(name)
    return member === undefined ? Object.hasOwn(required, name) : typeof member !== kind
  })
  const problems = [
    ...(isPlain(value) ? unknownFields(value, [...kinds.keys()]) : []).map(
      ({ field, message }) => `${path}.${field}: ${message}`,
    ),
    ...wrong.map(([name, kind]) => `${path}.${name}: expected a ${kind}`),
  ]
  if (problems.length > 0) throw new TypeError(problems.join("\n"))
}
