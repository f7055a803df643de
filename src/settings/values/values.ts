/**
 * Schemas of settings' values, decoded from a file or the environment. Each has an annotation `expected`, which completes
 * "expected …"; further annotations are under `voicegate`.
 */
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

/** Annotations of a value or a setting besides Effect's own. */
export interface Notes {
  /** the value is never shown */
  readonly secret?: boolean
  /** one value or several, each as `expected` */
  readonly list?: boolean
  /** it must be set; there is no default */
  readonly required?: boolean
  /** the default, as written in a file */
  readonly fallback?: unknown
  /** a description of the default when it is not a single value */
  readonly defaultText?: string
  /** the placeholder of a required setting in the example file; it is no valid value */
  readonly example?: string
  /** it is not inherited by further campaigns */
  readonly own?: boolean
  /** gates on one store must have the same value */
  readonly shared?: boolean
}

declare module "effect/Schema" {
  namespace Annotations {
    interface Annotations {
      readonly voicegate?: Notes | undefined
    }
  }
}

/** A value that is written as a single text. */
export type Text<A> = Schema.Codec<A, string>

export const pattern = (regExp: RegExp) => Schema.String.check(Schema.isPattern(regExp))

/** Decodes a text with `parse`, which returns undefined for an invalid text. */
export const parsed = <A>(
  expected: string,
  to: Schema.Codec<A>,
  parse: (text: string) => A | undefined,
  from: Text<string> = Schema.String,
): Text<A> =>
  from.pipe(
    Schema.decodeTo(
      to,
      SchemaTransformation.transformEffect<A, string>({
        decode: (text) => {
          const value = parse(text)
          return value === undefined ? Effect.fail(new SchemaIssue.InvalidValue()) : Effect.succeed(value)
        },
        encode: (value) => Effect.succeed(String(value)),
      }),
    ),
    Schema.annotate({ expected }),
  )

/** A text that `fits`. The JSON Schema lists only `words`, although other spellings of them fit too. */
const spelled = (words: ReadonlyArray<string>, fits: (text: string) => boolean): Text<string> =>
  Schema.String.check(Schema.makeFilter(fits, { toJsonSchema: () => ({ enum: [...words] }) }))

const word = <const L extends ReadonlyArray<string>>(
  expected: string,
  words: L,
  find: (text: string) => L[number] | undefined,
): Text<L[number]> =>
  parsed(
    expected,
    Schema.Literals(words),
    find,
    spelled(words, (text) => find(text) !== undefined),
  )

/** A JSON number, or digits, as in the environment. */
const numeric = (expected: string, to: Schema.Codec<number>, digits: RegExp): Schema.Codec<number, number | string> =>
  Schema.Union([to, pattern(digits)]).pipe(
    Schema.decodeTo(
      to,
      SchemaTransformation.transform<number, number | string>({ decode: Number, encode: (value) => value }),
    ),
    Schema.annotate({ expected }),
  )

export const wholeNumber = (minimum: number, maximum: number) =>
  numeric(
    `a whole number from ${minimum} to ${maximum}`,
    Schema.Int.check(Schema.isBetween({ minimum, maximum })),
    /^\d{1,15}$/u,
  )

/** Up to 1, with at most four decimal places. */
export const fraction = (minimum: number) =>
  numeric(
    `a number from ${minimum} to 1, such as 0.25`,
    Schema.Finite.check(Schema.isBetween({ minimum, maximum: 1 })),
    /^(?:[01]|[01]?\.\d{1,4})$/u,
  )

/** With at most `places` decimal places. */
export const decimal = (minimum: number, maximum: number, places: number) =>
  numeric(
    `a number above 0 and up to ${maximum}, with at most ${places} decimal places`,
    Schema.Finite.check(
      Schema.isBetween({ minimum, maximum }),
      Schema.makeFilter((value: number) => Number(value.toFixed(places)) === value),
    ),
    new RegExp(`^\\d{1,9}(?:\\.\\d{1,${places}})?$`, "u"),
  )

const TRUE = ["true", "1", "yes", "on"]
const FALSE = ["false", "0", "no", "off"]

const flagOf = (text: string): boolean | undefined => {
  const lower = text.toLowerCase()
  return TRUE.includes(lower) || (FALSE.includes(lower) ? false : undefined)
}

export const flag: Schema.Codec<boolean, boolean | string> = Schema.Union([
  Schema.Boolean,
  parsed(
    "true or false",
    Schema.Boolean,
    flagOf,
    spelled([...TRUE, ...FALSE], (text) => flagOf(text) !== undefined),
  ),
]).annotate({ expected: "true or false" })

export const oneOf = <const L extends ReadonlyArray<string>>(words: L): Text<L[number]> =>
  word(words.join(" or "), words, (text) => words.find((each) => each === text.toLowerCase()))

const letters = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")

/** One of several domains, with or without the top-level domain. */
export const domain = <const L extends ReadonlyArray<string>>(domains: L): Text<L[number]> =>
  word(`one of ${domains.join(", ")}`, domains, (text) =>
    domains.find((name) => [name, name.replace(/\.[a-z]+$/, "")].some((form) => letters(form) === letters(text))),
  )

/** Control characters and invisible ones, such as a zero-width space that was copied with an id. */
export const text: Text<string> = pattern(/^[^\p{Cc}\p{Cf}]{1,4096}$/u).annotate({
  expected: "a text without invisible characters",
})

const isJson = (given: string): boolean => {
  try {
    JSON.parse(given)
    return true
  } catch {
    return false
  }
}

/** JSON, written as a text. */
export const jsonText: Text<string> = Schema.String.check(
  Schema.isMaxLength(4096),
  Schema.makeFilter(isJson, { expected: "JSON in a string" }),
).annotate({ expected: "JSON in a string of at most 4096 characters" })

/** It becomes part of a path or a store key, so it has no slash or space. */
export const identifier: Text<string> = pattern(/^[^\s/\\\p{Cc}\p{Cf}]{1,256}$/u).annotate({
  expected: "an id without spaces, slashes and invisible characters",
})

/** A part of a room's name, which every server of rooms accepts. */
export const roomNamePart: Text<string> = pattern(/^[A-Za-z0-9_-]{1,64}$/).annotate({
  expected: "English letters, digits, - and _, at most 64",
})

/** A value's annotations with further notes, for a schema derived from it. */
export const withNotes = (value: Schema.Top, notes: Notes) => {
  const { expected, voicegate } = Schema.resolveAnnotations(value) ?? {}
  return { expected, voicegate: { ...voicegate, ...notes } }
}

export const unique = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(items)]

/** A list, or its single item; duplicates are removed. */
export const list = <A, E extends number | string>(
  item: Schema.Codec<A, E>,
): Schema.Codec<ReadonlyArray<A>, E | ReadonlyArray<E>> => {
  const text = Schema.toEncoded(item)
  return Schema.Union([text, Schema.Array(text)]).pipe(
    Schema.decodeTo(
      Schema.Array(item),
      SchemaTransformation.transform<ReadonlyArray<E>, E | ReadonlyArray<E>>({
        decode: (given) => (typeof given === "object" ? given : [given]),
        encode: (items) => items,
      }),
    ),
    Schema.decodeTo(
      Schema.Array(Schema.toType(item)),
      SchemaTransformation.transform({ decode: unique, encode: unique }),
    ),
    Schema.annotate(withNotes(item, { list: true })),
  )
}
